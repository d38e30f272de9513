// Made from the settings in Python by `python -m tools.generate_page`; change them there.
import { choice, text } from "../../../web/core/setting.ts";

export const settings = {
  names: text("live_tensors.names", ""),
  rate: choice("live_tensors.rate", "5", ["0", "1", "5", "10", "30"]),
  show: choice("live_tensors.show", "value", ["value", "variance"]),
  window: choice("live_tensors.window", "8", ["4", "8", "32"]),
  scale: choice("live_tensors.scale", "tensor", ["tensor", "section", "fixed"]),
  limits: text("live_tensors.limits", "-1:1"),
};
