// Made from the settings in Python by `python -m tools.generate_page`; change them there.
import { choice, flag, names, number } from "../../../web/core/setting.ts";

export const settings = {
  mode: choice("histograms.mode", "offset", ["offset", "overlay", "heatmap", "bands", "runs"]),
  axis: choice("histograms.axis", "step", ["step", "relative", "wall"]),
  bins: choice("histograms.bins", "even", ["written", "even"]),
  binCount: number("histograms.bin_count", 30, 1, 500),
  height: choice("histograms.height", "count", ["count", "density"]),
  log: flag("histograms.log", false),
  oneScale: flag("histograms.one_scale", true),
  first: names("histograms.first"),
  last: names("histograms.last"),
  step: names("histograms.step"),
  open: names("histograms.open"),
  closed: names("histograms.closed"),
  page: names("histograms.page"),
  wide: names("histograms.wide"),
  fold: choice("histograms.fold", "auto", ["auto", "open", "closed"]),
  sections: names("histograms.sections"),
  columns: choice("histograms.columns", "auto", ["auto", "1", "2", "3", "4", "5", "6"]),
};
