// Made from the settings in Python by `python -m tools.generate_page`; change them there.
import { choice, flag, names, number, text } from "../../../web/core/setting.ts";

export const settings = {
  smoothing: number("scalars.smoothing", 0.6, 0, 0.999),
  axis: choice("scalars.axis", "step", ["step", "relative", "wall", "metric"]),
  axisTag: text("scalars.axis_tag", ""),
  x: choice("scalars.x", "linear", ["linear", "log"]),
  y: choice("scalars.y", "linear", ["linear", "log"]),
  ignoreOutliers: flag("scalars.ignore_outliers", false),
  best: choice("scalars.best", "none", ["none", "min", "max"]),
  range: names("scalars.range"),
  marks: names("scalars.marks"),
  profiled: flag("scalars.profiled", true),
  height: names("scalars.height"),
  full: names("scalars.full"),
  pin: names("scalars.pin"),
  order: names("scalars.order"),
  chart: names("scalars.chart"),
  open: names("scalars.open"),
  closed: names("scalars.closed"),
  page: names("scalars.page"),
  wide: names("scalars.wide"),
};
