// Made from the settings in Python by `python -m tools.generate_page`; change them there.
import { number, text } from "../../../web/core/setting.ts";

export const settings = {
  view: text("profile.view", "overview"),
  trace: text("profile.trace", ""),
  by: text("profile.by", "name"),
  group: text("profile.group", "none"),
  row: text("profile.row", ""),
  device: text("profile.device", ""),
  tfprof: text("profile.tfprof", "scope"),
  ranks: text("profile.ranks", ""),
  before: text("profile.before", ""),
  changed: text("profile.changed", "operators"),
  per: text("profile.per", "step"),
  tflops: number("profile.tflops", 0, 0, 1e+06),
  gbps: number("profile.gbps", 0, 0, 1e+06),
};
