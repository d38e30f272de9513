// Made from the settings in Python by `python -m tools.generate_page`; change them there.
import { choice, names, text } from "../../../web/core/setting.ts";

export const settings = {
  trace: text("timeline.trace", ""),
  range: text("timeline.range", ""),
  area: text("timeline.area", ""),
  slice: text("timeline.slice", ""),
  search: text("timeline.search", ""),
  match: choice("timeline.match", "text", ["text", "regex", "name"]),
  color: choice("timeline.color", "name", ["name", "category", "step", "duration", "occupancy", "difference"]),
  compare: names("timeline.compare"),
  align: choice("timeline.align", "start", ["start", "step", "clock", "collectives"]),
  overlay: names("timeline.overlay"),
  lanes: text("timeline.lanes", ""),
};
