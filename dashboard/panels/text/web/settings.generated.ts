// Made from the settings in Python by `python -m tools.generate_page`; change them there.
import { choice, flag, names, text } from "../../../web/core/setting.ts";

export const settings = {
  format: choice("text.format", "markdown", ["markdown", "raw"]),
  shown: choice("text.shown", "list", ["list", "one"]),
  link: flag("text.link", false),
  wrap: flag("text.wrap", true),
  mono: flag("text.mono", false),
  find: text("text.find", ""),
  regex: flag("text.regex", false),
  step: names("text.step"),
  diff: names("text.diff"),
  layout: choice("text.layout", "side", ["side", "unified"]),
  unchanged: choice("text.unchanged", "near", ["near", "all"]),
  open: names("text.open"),
  closed: names("text.closed"),
  page: names("text.page"),
  wide: names("text.wide"),
  fold: choice("text.fold", "auto", ["auto", "open", "closed"]),
  sections: names("text.sections"),
  columns: choice("text.columns", "auto", ["auto", "1", "2", "3", "4", "5", "6"]),
};
