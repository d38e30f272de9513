/** The box with what else is drawn: which labels, pictures, lines, how large points are, the grid. */
import * as parts from "./parts.ts";
import { popover } from "../../../web/core/popover.ts";

const LABELS = [
  ["some", "Some", "Those that there is room for"],
  ["selected", "Selected", "Of what is selected, and its neighbours"],
  ["all", "All", "As many as can be drawn"],
  ["none", "None", "No labels"],
] as [string, string, string][];
const SCALES = { minimum: 0.4, maximum: 3, step: 0.1 };

/** @param panel of projector_panel.js */
export function open(panel: any, anchor: HTMLElement) {
  const { make, segmented, select, check, field } = parts;
  const { state, dataset } = panel;
  const labels = segmented("Which labels are shown", LABELS, (value: string) => {
    panel.setLabels(value);
    labels.show(value);
  });
  labels.show(state.labels);
  const pictures = check(
    "Pictures instead of points",
    "The pictures that belong to the points",
    (on: boolean) => panel.setSprites(on),
  );
  pictures.show(state.sprites, !dataset.info.sprite);
  if (!dataset.info.sprite) pictures.title = "This embedding has no pictures: its configuration names no sprite.";
  const lines = select(
    "Lines",
    (value: string) => panel.setSequence(value || "-"),
    "Lines through points that follow each other",
  );
  lines.show([
    ["", "none"],
    ...dataset.columnInfos.filter((column: any) => column.kind === "number" || column.categories !== null).map((
      column: any,
    ) => [column.name, column.name]),
  ], panel.sequenceBy);
  const grid = check("Grid", "Lines at round numbers, in 2-D", (on: boolean) => panel.setGrid(on));
  grid.show(state.grid);
  const perspective = check("Perspective", "What is near is larger, in 3-D", (on: boolean) => panel.setPerspective(on));
  perspective.show(state.perspective);
  popover.show(anchor, "Display", [
    make(
      "div",
      { className: "pj-display" },
      field("Labels", "Which labels are drawn; they never cover each other.", labels),
      field(
        "Lines",
        "Lines through points that follow each other: by a column with the next row's number, or in the order of a column.",
        lines,
      ),
      pictures,
      scaleRow(panel),
      make("div", { className: "pj-row" }, grid, perspective),
    ),
  ], { focus: labels.of(state.labels) });
}

function scaleRow(panel: any) {
  const { make, field } = parts;
  const slider = make("input", {
    type: "range",
    className: "slider-input",
    min: SCALES.minimum,
    max: SCALES.maximum,
    step: SCALES.step,
    "aria-label": "Size of points",
  }) as HTMLInputElement;
  slider.value = String(panel.state.points);
  const out = make("output", { className: "pj-value" }, slider.value);
  const set = (value: number) => {
    out.textContent = slider.value = String(value);
    panel.setPointScale(value);
  };
  slider.addEventListener("input", () => set(Number(slider.value)));
  slider.addEventListener("dblclick", () => set(1));
  return field("Point size", "1 is as large as fits their number; double click takes it back.", slider, out);
}
