/** The box with what else is drawn: which labels, pictures, lines, how large points are, the grid. */
import * as parts from "./parts.js";
import { popover } from "../../../web/core/popover.js";

const LABELS = /** @type {[string, string, string][]} */ ([["some", "Some", "Those that there is room for"], ["selected", "Selected", "Of what is selected, and its neighbours"], ["all", "All", "As many as can be drawn"], ["none", "None", "No labels"]]);
const SCALES = { minimum: 0.4, maximum: 3, step: 0.1 };

/** @param {any} panel of projector_panel.js @param {HTMLElement} anchor */
export function open(panel, anchor) {
  const { make, segmented, select, check, field } = parts;
  const { state, dataset } = panel;
  const labels = segmented("Which labels are shown", LABELS, (/** @type {string} */ value) => {
    panel.setLabels(value);
    labels.show(value);
  });
  labels.show(state.labels);
  const pictures = check("Pictures instead of points", "The pictures that belong to the points", (/** @type {boolean} */ on) => panel.setSprites(on));
  pictures.show(state.sprites, !dataset.info.sprite);
  if (!dataset.info.sprite) pictures.title = "This embedding has no pictures: its configuration names no sprite.";
  const lines = select("Lines", (/** @type {string} */ value) => panel.setSequence(value || "-"), "Lines through points that follow each other");
  lines.show([["", "none"], ...dataset.columnInfos.filter((/** @type {any} */ column) => column.kind === "number" || column.categories !== null).map((/** @type {any} */ column) => [column.name, column.name])], panel.sequenceBy);
  const grid = check("Grid", "Lines at round numbers, in 2-D", (/** @type {boolean} */ on) => panel.setGrid(on));
  grid.show(state.grid);
  const perspective = check("Perspective", "What is near is larger, in 3-D", (/** @type {boolean} */ on) => panel.setPerspective(on));
  perspective.show(state.perspective);
  popover.show(anchor, "Display", [make("div", { className: "pj-display" },
    field("Labels", "Which labels are drawn; they never cover each other.", labels),
    field("Lines", "Lines through points that follow each other: by a column with the next row's number, or in the order of a column.", lines),
    pictures, scaleRow(panel), make("div", { className: "pj-row" }, grid, perspective))], { focus: labels.of(state.labels) });
}

/** @param {any} panel */
function scaleRow(panel) {
  const { make, field } = parts;
  const slider = /** @type {HTMLInputElement} */ (make("input", { type: "range", className: "slider-input", min: SCALES.minimum, max: SCALES.maximum, step: SCALES.step, "aria-label": "Size of points" }));
  slider.value = String(panel.state.points);
  const out = make("output", { className: "pj-value" }, slider.value);
  const set = (/** @type {number} */ value) => {
    out.textContent = slider.value = String(value);
    panel.setPointScale(value);
  };
  slider.addEventListener("input", () => set(Number(slider.value)));
  slider.addEventListener("dblclick", () => set(1));
  return field("Point size", "1 is as large as fits their number; double click takes it back.", slider, out);
}
