// @ts-nocheck
/** The row above the cloud (colours, sizes, labels, what leaves the panel), and the tools that lie over it. */
import * as colours from "./colors.ts";
import * as display from "./display.ts";
import * as exports from "./exports.ts";
import * as parts from "./parts.ts";
import { popover } from "../../../web/core/popover.ts";
import { shortcuts } from "../../../web/page/shortcuts.ts";

const TOOLS = [["pointer", "Move", "Turn, move, and pick points (V)"], [
  "box",
  "Box",
  "Drag a box to select; Shift adds, Alt takes away (B)",
], ["lasso", "Lasso", "Draw around points to select; Shift adds, Alt takes away (L)"]] as [string, string, string][];

export class Tools {
  panel;
  tool = "pointer";
  colour;
  size;
  label;
  categorical;
  display;
  save;
  file;
  left;
  right;
  help;
  element;
  choice;
  fit;
  spin;
  strip;

  /** @param panel of projector_panel.js */
  constructor(panel: any) {
    const { make, select, toggle, button, segmented, iconButton } = parts;
    this.panel = panel;
    const tool = (name: string, title: string, action: (value: string) => void) => {
      const chosen = select(title, action, title);
      return { chosen, element: make("label", { className: "pj-by", title }, make("span", {}, name), chosen) };
    };
    this.colour = tool("Colour", "What points are coloured by", (value) => panel.setColour(value || "-"));
    this.size = tool("Size", "What points are sized by", (value) => panel.setSize(value));
    this.label = tool("Label", "What stands beside points, and in lists", (value) => panel.setLabel(value || "-"));
    this.categorical = toggle(
      "1 2 3",
      "Every different number has a colour of its own: categories instead of a scale",
      (on: boolean) => panel.setCategorical(on ? "on" : "off"),
      "small",
    );
    this.display = button(
      "Display",
      "Labels, pictures, lines, and how large points are",
      () => display.open(panel, this.display),
      "small",
    );
    this.display.setAttribute("aria-haspopup", "dialog");
    this.save = button(
      "Export",
      "Coordinates, metadata and pictures as files; a link to this view",
      () => panel.dataset && popover.menu(this.save, "Export", exports.entries(panel)),
      "small",
    );
    this.save.setAttribute("aria-haspopup", "menu");
    this.file = button(
      "Open",
      "Open an embedding from a file; it can also be dropped here",
      () => panel.drop.ask(),
      "small",
    );
    this.left = iconButton("sidebar", "Hide or show the projection's column", () => panel.flip("left"));
    this.right = iconButton("sidebar", "Hide or show the inspector", () => panel.flip("right"));
    this.help = button("?", "Keys and mouse (?)", () => shortcuts.sheet(), "small");
    this.element = make(
      "div",
      { className: "pj-tools" },
      this.colour.element,
      this.categorical,
      this.size.element,
      this.label.element,
      this.display,
      make("span", { className: "spacer" }),
      this.file,
      this.save,
      this.help,
    );
    this.choice = segmented(
      "Tool",
      TOOLS.map(([value, text, title]) => [value, text, title]),
      (value: string) => this.use(value),
    );
    this.fit = button("Fit", "Fit the selection, or everything (F)", () => panel.fitCloud(), "small");
    this.spin = toggle("Spin", "Turn slowly", (on: boolean) => panel.setSpin(on), "small");
    this.strip = make("div", { className: "pj-strip" }, this.choice, this.fit, this.spin);
    this.choice.show("pointer");
  }

  use(tool: string) {
    this.tool = this.tool === tool ? "pointer" : tool;
    this.choice.show(this.tool);
    this.applyTool();
  }

  applyTool() {
    this.panel.view?.setMode(this.panel.picture?.dimensions === 3 ? "orbit" : "pan", this.tool);
  }

  show() {
    const { panel } = this;
    if (!panel.frame) return;
    const { dataset, state, colouring } = panel;
    for (
      const one of [
        this.colour.element,
        this.size.element,
        this.label.element,
        this.categorical,
        this.display,
        this.save,
      ]
    ) one.hidden = !dataset;
    this.strip.hidden = !dataset;
    this.left.setAttribute("aria-pressed", String(!panel.frame.classList.contains("no-left")));
    this.right.setAttribute("aria-pressed", String(!panel.frame.classList.contains("no-right")));
    if (!dataset) return;
    const columns = dataset.columnInfos;
    const { TRUST } = colours;
    const said = (column: any) => column.name;
    const trust = panel.quality?.points || panel.colourBy.startsWith("@")
      ? Object.entries(TRUST).map(([name, [title]]) => [name, `Trust: ${title.toLowerCase()}`])
      : [];
    this.colour.chosen.show([
      ["", "one colour"],
      ...columns.map((
        column: any,
      ) => [
        column.name,
        column.kind === "text" && column.categories === null ? `${column.name} (too many values)` : said(column),
        column.kind === "text" && column.categories === null,
      ]),
      ...trust,
    ], panel.colourBy);
    const numbers = columns.filter((column: any) => column.kind === "number");
    this.size.element.hidden = !numbers.length;
    this.size.chosen.show([["", "equal"], ...numbers.map((column: any) => [column.name, column.name])], state.size);
    this.label.element.hidden = !columns.length;
    this.label.chosen.show([["", "none"], ...columns.map((column: any) => [column.name, column.name])], panel.labelBy);
    const numeric = dataset.infoOf(panel.colourBy)?.kind === "number";
    this.categorical.hidden = !numeric;
    this.categorical.show(colouring.sort === "categories");
    this.spin.hidden = panel.picture?.dimensions !== 3;
    this.spin.show(state.spin);
  }
}
