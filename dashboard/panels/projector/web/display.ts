/** The box with the other display settings: labels, pictures, lines, point size, and the grid. */
import * as parts from "./widgets.ts";
import { make } from "../../../web/core/dom.ts";
import { popover } from "../../../web/core/popover.ts";
import type { Appearance } from "./appearance.ts";
import type { LabelMode } from "./labels.ts";
import { settings } from "./settings.generated.ts";

const LABELS: Record<LabelMode, [string, string]> = {
  some: ["Some", "As many as fit"],
  selected: ["Selected", "The selection and its neighbors"],
  all: ["All", "As many as can be drawn"],
  none: ["None", "No labels"],
};
const SCALES = { min: 0.4, max: 3, step: 0.1 };

/** The parts of the panel that this box uses. */
export interface DisplayPanel
  extends Pick<Appearance, "state" | "dataset" | "setLabels" | "setSprites" | "setSequence" | "sequenceBy"> {
  setGrid(on: boolean): void;
  setPerspective(on: boolean): void;
  setPointScale(scale: number): void;
}

export function open(panel: DisplayPanel, anchor: HTMLElement) {
  const { segmented, select, check, field } = parts;
  const { state, dataset } = panel;
  if (!dataset) return;
  const options = settings.labels.options.map((mode) => [mode, ...LABELS[mode]] as const);
  const labels = segmented("Which labels are shown", options, (value) => {
    panel.setLabels(value);
    labels.show(value);
  });
  labels.show(state.labels);
  const pictures = check(
    "Images instead of points",
    "The images of the points",
    (on: boolean) => panel.setSprites(on),
  );
  pictures.show(state.sprites, !dataset.info.sprite);
  if (!dataset.info.sprite) pictures.title = "This embedding has no images: its configuration names no sprite.";
  const lines = select(
    "Lines",
    (value: string) => panel.setSequence(value || "-"),
    "Lines through consecutive points",
  );
  const usable = dataset.columnInfos.filter(({ kind, categories }) => kind === "number" || categories !== null);
  lines.show([["", "none"], ...usable.map(({ name }): [string, string] => [name, name])], panel.sequenceBy);
  const grid = check("Grid", "Lines at round numbers, in 2-D", (on: boolean) => panel.setGrid(on));
  grid.show(state.grid);
  const perspective = check(
    "Perspective",
    "Nearer points are larger, in 3-D",
    (on: boolean) => panel.setPerspective(on),
  );
  perspective.show(state.perspective);
  popover.show(anchor, "Display", [
    make(
      "div",
      { className: "pj-display" },
      field("Labels", "Which labels are drawn; they never cover each other.", labels),
      field(
        "Lines",
        "Lines through consecutive points. The chosen column has the number of the next row, or values to sort by.",
        lines,
      ),
      pictures,
      scaleRow(panel),
      make("div", { className: "pj-row" }, grid, perspective),
    ),
  ], { focus: labels.of(state.labels) });
}

function scaleRow(panel: DisplayPanel) {
  const slider = make("input", {
    type: "range",
    className: "slider-input",
    ...SCALES,
    "aria-label": "Size of points",
    value: panel.state.points,
  });
  const out = make("output", { className: "pj-value" }, slider.value);
  const set = (value: number) => {
    out.textContent = slider.value = String(value);
    panel.setPointScale(value);
  };
  slider.addEventListener("input", () => set(Number(slider.value)));
  slider.addEventListener("dblclick", () => set(1));
  return parts.field(
    "Point size",
    "Relative to the automatic size, which depends on the number of points; double-click to reset.",
    slider,
    out,
  );
}
