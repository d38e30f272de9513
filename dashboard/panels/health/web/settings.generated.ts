// Made from the settings in Python by `python -m tools.generate_page`; change them there.
import { choice, text } from "../../../web/core/setting.ts";

export const settings = {
  show: choice("health.show", "all", ["all", "bad"]),
  filter: text("health.filter", ""),
  file: text("health.file", ""),
};
