// Made from the settings in Python by `python -m tools.generate_page`; change them there.
import { choice, flag, names, number, text } from "../../../web/core/setting.ts";

export const settings = {
  show: choice("mesh.show", "logged", ["logged", "surface", "edges", "wireframe", "points"]),
  shading: choice("mesh.shading", "logged", ["logged", "smooth", "flat"]),
  color: choice("mesh.color", "logged", ["logged", "one", "x", "y", "z"]),
  size: number("mesh.size", 0, 0, 12),
  background: choice("mesh.background", "page", ["page", "white", "gray", "black"]),
  box: flag("mesh.box", true),
  up: choice("mesh.up", "y", ["y", "z"]),
  cameras: choice("mesh.cameras", "tag", ["all", "tag", "each"]),
  link: flag("mesh.link", false),
  step: names("mesh.step"),
  sample: names("mesh.sample"),
  camera: names("mesh.camera"),
  compare: text("mesh.compare", "off"),
  open: names("mesh.open"),
  closed: names("mesh.closed"),
  page: names("mesh.page"),
  wide: names("mesh.wide"),
  fold: choice("mesh.fold", "auto", ["auto", "open", "closed"]),
  sections: names("mesh.sections"),
  columns: choice("mesh.columns", "auto", ["auto", "1", "2", "3", "4", "5", "6"]),
};
