// Made from the settings in Python by `python -m tools.generate_page`; change them there.
import { choice, number, text } from "../../../web/core/setting.ts";

export const settings = {
  view: choice("profile.view", "overview", ["overview", "operators", "kernels", "memory", "input", "idle", "path", "roofline", "copies", "slices", "code", "ranks", "diff", "tfprof", "plugins"]),
  trace: text("profile.trace", ""),
  by: text("profile.by", "name"),
  group: choice("profile.group", "none", ["none", "stem", "category"]),
  row: text("profile.row", ""),
  device: text("profile.device", ""),
  tfprof: choice("profile.tfprof", "scope", ["scope", "graph", "op"]),
  ranks: text("profile.ranks", ""),
  onlyRanks: text("profile.only_ranks", ""),
  onlySteps: text("profile.only_steps", ""),
  ranksBy: text("profile.ranks_by", "rank"),
  before: text("profile.before", ""),
  changed: choice("profile.changed", "operators", ["steps", "operators", "kernels"]),
  per: choice("profile.per", "step", ["step", "call", "total"]),
  tflops: number("profile.tflops", 0, 0, 1e+06),
  gbps: number("profile.gbps", 0, 0, 1e+06),
};
