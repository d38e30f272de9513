// Made from the settings in Python by `python -m tools.generate_page`; change them there.
import { choice, flag, names, number, text } from "../../web/core/setting.ts";

export const settingsOf = (panel: string) => ({
  smoothing: number(`${panel}.smoothing`, 0.6, 0, 0.999),
  axis: choice(`${panel}.axis`, "step", ["step", "relative", "wall", "metric"]),
  axisTag: text(`${panel}.axis_tag`, ""),
  x: choice(`${panel}.x`, "linear", ["linear", "log"]),
  y: choice(`${panel}.y`, "linear", ["linear", "log"]),
  ignoreOutliers: flag(`${panel}.ignore_outliers`, false),
  best: choice(`${panel}.best`, "none", ["none", "min", "max"]),
  legend: flag(`${panel}.legend`, true),
  card: names(`${panel}.card`),
  range: names(`${panel}.range`),
  zoom: text(`${panel}.zoom`, ""),
  marks: names(`${panel}.marks`),
  profiled: flag(`${panel}.profiled`, true),
  height: names(`${panel}.height`),
  full: names(`${panel}.full`),
  pin: names(`${panel}.pin`),
  order: names(`${panel}.order`),
  chart: names(`${panel}.chart`),
});
