// Made from the settings in Python by `python -m tools.generate_page`; change them there.
import { choice, flag, names, text } from "../../../web/core/setting.ts";

export const settings = {
  id: text("graph.id", ""),
  function: text("graph.function", ""),
  costs: text("graph.costs", ""),
  compare: text("graph.compare", ""),
  expanded: names("graph.expanded"),
  aside: names("graph.aside"),
  back: names("graph.back"),
  node: text("graph.node", ""),
  color: choice("graph.color", "op", ["op", "structure", "device", "xla", "time", "memory", "parameters", "flops"]),
  search: text("graph.search", ""),
  regex: flag("graph.regex", false),
  view: text("graph.view", ""),
};
