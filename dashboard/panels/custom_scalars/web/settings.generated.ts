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
  legend: flag("custom_scalars.legend", true),
  card: names("custom_scalars.card"),
  range: names("custom_scalars.range"),
  zoom: text("custom_scalars.zoom", ""),
  marks: names("custom_scalars.marks"),
  profiled: flag("custom_scalars.profiled", true),
  height: names("custom_scalars.height"),
  full: names("custom_scalars.full"),
  open: names("custom_scalars.open"),
  closed: names("custom_scalars.closed"),
  page: names("custom_scalars.page"),
  wide: names("custom_scalars.wide"),
  fold: choice("custom_scalars.fold", "auto", ["auto", "open", "closed"]),
  sections: names("custom_scalars.sections"),
  columns: choice("custom_scalars.columns", "auto", ["auto", "1", "2", "3", "4", "5", "6"]),
};
