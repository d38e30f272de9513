// Made from the settings in Python by `python -m tools.generate_page`; change them there.
import { choice, flag, names, number, text } from "../../../web/core/setting.ts";

export const settings = {
  smoothing: number("custom_scalars.smoothing", 0.6, 0, 0.999),
  axis: choice("custom_scalars.axis", "step", ["step", "relative", "wall", "metric"]),
  axisTag: text("custom_scalars.axis_tag", ""),
  x: choice("custom_scalars.x", "linear", ["linear", "log"]),
  y: choice("custom_scalars.y", "linear", ["linear", "log"]),
  ignoreOutliers: flag("custom_scalars.ignore_outliers", false),
  best: choice("custom_scalars.best", "none", ["none", "min", "max"]),
  range: names("custom_scalars.range"),
  marks: names("custom_scalars.marks"),
  profiled: flag("custom_scalars.profiled", true),
  height: names("custom_scalars.height"),
  full: names("custom_scalars.full"),
  open: names("custom_scalars.open"),
  closed: names("custom_scalars.closed"),
  page: names("custom_scalars.page"),
  wide: names("custom_scalars.wide"),
};
