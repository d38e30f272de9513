// Made from the settings in Python by `python -m tools.generate_page`; change them there.
import { choice, flag, names } from "../../../web/core/setting.ts";

export const settings = {
  view: choice("pr_curves.view", "pr", ["pr", "roc", "steps"]),
  metric: choice("pr_curves.metric", "ap", ["ap", "auc", "f1"]),
  axis: choice("pr_curves.axis", "step", ["step", "relative", "wall"]),
  slider: choice("pr_curves.slider", "all", ["all", "run"]),
  iso: flag("pr_curves.iso", true),
  matrix: flag("pr_curves.matrix", true),
  step: names("pr_curves.step"),
  runStep: names("pr_curves.run_step"),
  threshold: names("pr_curves.threshold"),
  open: names("pr_curves.open"),
  closed: names("pr_curves.closed"),
  page: names("pr_curves.page"),
  wide: names("pr_curves.wide"),
  fold: choice("pr_curves.fold", "auto", ["auto", "open", "closed"]),
  sections: names("pr_curves.sections"),
  columns: choice("pr_curves.columns", "auto", ["auto", "1", "2", "3", "4", "5", "6"]),
};
