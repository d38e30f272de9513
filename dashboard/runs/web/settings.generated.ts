// Made from the settings in Python by `python -m tools.generate_page`; change them there.
import { choice, flag, names, text } from "../../web/core/setting.ts";

export const settings = {
  group: names("runs.group"),
  line: choice("runs.line", "mean", ["mean", "median", "min", "max"]),
  band: choice("runs.band", "std", ["none", "minmax", "std", "stderr", "ci95"]),
  members: flag("runs.members", false),
  align: choice("runs.align", "interpolate", ["interpolate", "bucket"]),
  color: text("runs.color", "auto"),
  columns: names("runs.columns"),
  sort: names("runs.sort"),
  pin: names("runs.pin"),
  select: names("runs.select"),
  fold: names("runs.fold"),
  folded: flag("runs.folded", false),
  open: names("runs.open"),
  name: names("runs.name"),
  paint: names("runs.paint"),
};
