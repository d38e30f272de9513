/** The row above the cloud (colors, sizes, labels, exports), and the tools that lie over it. */
import { TRUST } from "./colors.ts";
import { hint } from "./commands.ts";
import * as display from "./display.ts";
import * as exports from "./exports.ts";
import { button, type Option, segmented, select, toggle } from "./widgets.ts";
import { iconButton, make } from "../../../web/core/dom.ts";
import { popover } from "../../../web/core/popover.ts";
import { toggleKeysSheet } from "../../../web/page/keys_sheet.ts";
import type { ProjectorPanel } from "./panel.ts";
import type { Tool } from "./view_base.ts";

const TOOLS: [Tool, string, string][] = [
  ["pointer", "Move", hint("Rotate, pan and pick points", "pointer")],
  ["box", "Box", hint("Drag a box to select; Shift adds, Alt removes", "box")],
  ["lasso", "Lasso", hint("Draw around points to select; Shift adds, Alt removes", "lasso")],
];

/** A column selector, labeled with its purpose. */
function by(name: string, title: string, action: (value: string) => void) {
  const chosen = select(title, action);
  return { chosen, element: make("label", { className: "pj-by", title }, make("span", {}, name), chosen) };
}

/** Lists columns under their names. */
const named = (columns: readonly { name: string }[]): Option[] => columns.map(({ name }) => [name, name]);

export class Tools {
  readonly panel: ProjectorPanel;
  tool: Tool = "pointer";
  readonly color;
  readonly size;
  readonly label;
  readonly categorical;
  readonly display: HTMLButtonElement;
  readonly save: HTMLButtonElement;
  readonly left;
  readonly right;
  readonly element;
  readonly choice;
  readonly spin;
  readonly strip;

  constructor(panel: ProjectorPanel) {
    this.panel = panel;
    this.color = by("Color", "What points are colored by", (value) => void panel.setColor(value || "-"));
    this.size = by("Size", "What points are sized by", (value) => void panel.setSize(value));
    this.label = by("Label", "Labels of points and list entries", (value) => panel.setLabel(value || "-"));
    this.categorical = toggle(
      "1 2 3",
      "One color per number: categories instead of a scale",
      (on) => void panel.setCategorical(on ? "on" : "off"),
      "small",
    );
    this.display = button(
      "Display",
      "Labels, images, lines and point size",
      () => display.open(panel, this.display),
      "small",
    );
    this.display.setAttribute("aria-haspopup", "dialog");
    this.save = button(
      "Download",
      "Coordinates, metadata and images as files; a link to this view",
      () => panel.dataset && popover.menu(this.save, "Download", exports.entries(panel)),
      "small",
    );
    this.save.setAttribute("aria-haspopup", "menu");
    this.left = iconButton("sidebar", "Hide or show the projection sidebar", () => panel.flip("left"), 13);
    this.right = iconButton("sidebar", "Hide or show the inspector", () => panel.flip("right"), 13);
    this.element = make(
      "div",
      { className: "pj-tools" },
      this.color.element,
      this.categorical,
      this.size.element,
      this.label.element,
      this.display,
      make("span", { className: "spacer" }),
      button("Open", "Open an embedding from a file; it can also be dropped here", () => panel.drop.ask(), "small"),
      this.save,
      button("?", "Keyboard and mouse shortcuts (?)", () => toggleKeysSheet(), "small"),
    );
    this.choice = segmented("Tool", TOOLS, (value) => this.use(value));
    this.spin = toggle("Spin", "Rotate slowly", (on) => panel.setSpin(on), "small");
    this.strip = make(
      "div",
      { className: "pj-strip" },
      this.choice,
      button("Fit", hint("Fit the selection, or everything", "fit"), () => panel.fitCloud(), "small"),
      this.spin,
    );
    this.choice.show("pointer");
  }

  use(tool: Tool): void {
    this.tool = this.tool === tool ? "pointer" : tool;
    this.choice.show(this.tool);
    this.applyTool();
  }

  applyTool(): void {
    const { view, picture } = this.panel;
    view.setMode(picture?.dimensions === 3 ? "orbit" : "pan", this.tool);
  }

  show(): void {
    const { panel } = this;
    const { dataset, state, picture, quality } = panel;
    const { classList } = panel.frame;
    const needing = [this.color.element, this.size.element, this.label.element, this.categorical];
    for (const one of [...needing, this.display, this.save, this.strip]) one.hidden = !dataset;
    this.left.setAttribute("aria-pressed", String(!classList.contains("no-left")));
    this.right.setAttribute("aria-pressed", String(!classList.contains("no-right")));
    if (!dataset) return;
    const columns = dataset.columnInfos;
    const rated = (quality?.state === "done" && quality.points) || panel.colorBy.startsWith("@");
    this.color.chosen.show([
      ["", "one color"],
      ...columns.map(({ name, kind, categories }): Option => {
        const many = kind === "text" && categories === null;
        return [name, many ? `${name} (too many values)` : name, many];
      }),
      ...(rated ? Object.entries(TRUST).map(([name, [title]]): Option => [name, `Trust: ${title.toLowerCase()}`]) : []),
    ], panel.colorBy);
    const numbers = columns.filter(({ kind }) => kind === "number");
    this.size.element.hidden = !numbers.length;
    this.size.chosen.show([["", "equal"], ...named(numbers)], state.size);
    this.label.element.hidden = !columns.length;
    this.label.chosen.show([["", "none"], ...named(columns)], panel.labelBy);
    this.categorical.hidden = dataset.infoOf(panel.colorBy)?.kind !== "number";
    this.categorical.show(panel.coloring.sort === "categories");
    this.spin.hidden = picture?.dimensions !== 3;
    this.spin.show(state.spin);
  }
}
