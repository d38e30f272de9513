// Made from the settings in Python by `python -m tools.generate_page`; change them there.
import { choice, flag, text } from "../../../web/core/setting.ts";

export const settings = {
  id: text("debugger.id", ""),
  view: choice("debugger.view", "alerts", ["alerts", "map", "execution", "source", "compare"]),
  figure: choice("debugger.figure", "auto", ["auto", "size", "nan", "positive_infinity", "negative_infinity", "zeros", "negatives", "minimum", "maximum", "mean", "variance", "l2", "absolute_mean", "underflow", "overflow"]),
  order: choice("debugger.order", "run", ["run", "module", "name", "worst"]),
  search: text("debugger.search", ""),
  phase: text("debugger.phase", ""),
  operation: text("debugger.operation", ""),
  module: text("debugger.module", ""),
  device: text("debugger.device", ""),
  steps: text("debugger.steps", ""),
  bad: flag("debugger.bad", false),
  tensor: text("debugger.tensor", ""),
  at: text("debugger.at", ""),
  file: text("debugger.file", ""),
  line: text("debugger.line", ""),
  other: text("debugger.other", ""),
  tolerance: choice("debugger.tolerance", "0.001", ["0.001", "0", "0.00001", "0.0001", "0.01", "0.1"]),
};
