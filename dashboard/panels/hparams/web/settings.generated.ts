// Made from the settings in Python by `python -m tools.generate_page`; change them there.
import { choice, flag, names, text } from "../../../web/core/setting.ts";

export const settings = {
  folder: text("hparams.folder", ""),
  hparams: names("hparams.hparams"),
  metrics: names("hparams.metrics"),
  target: text("hparams.target", ""),
  better: choice("hparams.better", "auto", ["auto", "lower", "higher"]),
  value: choice("hparams.value", "last", ["last", "min", "max"]),
  rows: choice("hparams.rows", "auto", ["auto", "sessions", "avg", "median", "min", "max"]),
  status: names("hparams.status"),
  values: names("hparams.values"),
  without: names("hparams.without"),
  range: names("hparams.range"),
  chart: choice("hparams.chart", "parallel", ["parallel", "scatter", "importance", "none"]),
  color: text("hparams.color", ""),
  x: text("hparams.x", ""),
  y: text("hparams.y", ""),
  scale: names("hparams.scale"),
  order: names("hparams.order"),
  brush: names("hparams.brush"),
  heat: flag("hparams.heat", false),
  search: text("hparams.search", ""),
  sort: names("hparams.sort"),
  table: names("hparams.table"),
  controls: flag("hparams.controls", true),
  ranked: choice("hparams.ranked", "importance", ["importance", "correlation"]),
};
