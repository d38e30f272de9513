/** The settings of the chosen projection, in the left column. */
import { counted } from "../../../web/core/numbers.ts";
import { SHOWN_COMPONENTS } from "./frames.ts";
import { type Knob, type KnobValue, METHODS, mostOf, typedValue } from "./knobs.ts";
import { field, fold, format, make, type Option, select, toggle } from "./widgets.ts";
import { readRows, writeRows } from "./rows.ts";
import { iconButton } from "../../../web/core/dom.ts";
import type { Dataset } from "./data.ts";
import type { ProjectorPanel } from "./panel.ts";
import type { AxesState } from "./settings.ts";

const SETTLE_MS = 250;
const LETTERS = ["X", "Y", "Z"];

export function methodParts(panel: ProjectorPanel, dataset: Dataset): Node[] {
  const { projection } = panel.state;
  if (projection === "pca") return componentParts(panel, dataset);
  if (projection === "custom") return axisParts(panel, dataset);
  const { knobs } = METHODS[projection];
  const rows = (folded: boolean) =>
    knobs.filter(({ more = false }) => more === folded).flatMap((knob) => [
      knobRow(panel, dataset, knob),
      ...(knob.name === "supervision" ? [superviseRow(panel, dataset)] : []),
    ]);
  const more = rows(true);
  return more.length ? [...rows(false), fold(`more-${projection}`, "More settings", false, ...more)] : rows(false);
}

function knobRow(panel: ProjectorPanel, dataset: Dataset, knob: Knob): HTMLElement {
  const { projection, methods } = panel.state;
  const { name, label, help, minimum, maximum, step } = knob;
  const value = methods[projection][name];
  let timer = 0;
  const set = (next: KnobValue) => {
    clearTimeout(timer);
    panel.setKnob(projection, name, next);
  };
  const setSoon = (next: KnobValue) => {
    clearTimeout(timer);
    timer = window.setTimeout(() => panel.setKnob(projection, name, next), SETTLE_MS);
  };
  if (knob.sort === "choice") {
    const chosen = select(label, set, help);
    chosen.show(knob.options ?? [], String(value));
    return field(label, help, chosen);
  }
  if (knob.sort === "range") {
    const range = { type: "range", min: minimum, max: mostOf(knob, dataset.count), step };
    const slider = make("input", { ...range, className: "slider-input", "aria-label": label });
    slider.value = String(value);
    const out = make("output", { className: "pj-value" }, value === null ? "auto" : String(value));
    slider.addEventListener("input", () => {
      out.textContent = slider.value;
      setSoon(Number(slider.value));
    });
    // On release, since the field may be rebuilt then.
    slider.addEventListener("change", () => set(Number(slider.value)));
    slider.addEventListener("dblclick", () => {
      slider.value = out.textContent = String(knob.value);
      set(knob.value);
    });
    return field(label, `${help} Double-click to reset to ${knob.value}.`, slider, out);
  }
  const input = make("input", {
    type: "number",
    className: "pj-input small",
    min: minimum,
    max: maximum,
    step: "any",
    placeholder: "auto",
    "aria-label": label,
  });
  input.value = String(value ?? "");
  input.addEventListener("change", () => {
    const next = typedValue(knob, input.value);
    input.value = String(next ?? "");
    set(next);
  });
  return field(label, help, input);
}

function superviseRow(panel: ProjectorPanel, { columnInfos }: Dataset): HTMLElement {
  const help = "Points with equal values in this column are pulled together.";
  const chosen = select("Supervision column", (name) => panel.setSupervise(name), help);
  const few = columnInfos.filter(({ categories, kind }) => categories !== null || kind === "number");
  chosen.show([["", "same as color"], ...few.map(({ name }): Option => [name, name])], panel.state.supervise);
  return field("… by column", help, chosen);
}

// ---- principal components

function componentParts(panel: ProjectorPanel, { info: { dimensions: most } }: Dataset): Node[] {
  const { components, dimensions } = panel.state;
  const { percent } = format;
  // There are no more directions than dimensions.
  const ratios = (panel.frame10?.components?.ratios ?? []).slice(0, most);
  const count = Math.min(panel.frame10?.dimensions ?? SHOWN_COMPONENTS, most);
  const options = Array.from({ length: count }, (_, at): Option => {
    const share = ratios[at] === undefined ? "" : `  ·  ${percent(ratios[at])}`;
    return [String(at), `Component ${at + 1}${share}`];
  });
  const axes = LETTERS.slice(0, Math.min(dimensions, count)).map((letter, axis) => {
    const help = `The component along ${letter}.`;
    const chosen = select(`Component along ${letter}`, (value) => panel.setComponent(axis, Number(value)), help);
    chosen.show(options, String(components[axis]));
    return Object.assign(field(letter, help, chosen), { className: "pj-field axis" });
  });
  if (!ratios.length) return axes;
  const shown = new Set(components.slice(0, dimensions));
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const largest = Math.max(...ratios, 1e-9);
  const bars = ratios.map((ratio, at) => {
    const fill = make("i");
    fill.style.height = `${Math.max((ratio / largest) * 100, 2)}%`;
    const bar = make(
      "button",
      {
        type: "button",
        className: `pj-bar${shown.has(at) ? " on" : ""}`,
        title: `Component ${at + 1}: ${percent(ratio)} of the variance. Click puts it along X.`,
        "aria-label": `Component ${at + 1}, ${percent(ratio)}`,
      },
      fill,
      make("span", {}, String(at + 1)),
    );
    bar.addEventListener("click", () => panel.setComponent(0, at));
    return bar;
  });
  return [
    ...axes,
    make("div", { className: "pj-bars", role: "group", "aria-label": "Explained variance" }, ...bars),
    make(
      "p",
      { className: "pj-note" },
      "This view shows ",
      make("b", {}, percent(sum([...shown].map((component) => ratios[component] ?? 0)))),
      ` of the variance; the ${ratios.length} components together, ${percent(sum(ratios))}.`,
    ),
  ];
}

// ---- custom axes

type End = Exclude<keyof AxesState, "in">;
const ENDS: [End, string][] = [["left", "Left"], ["right", "Right"], ["down", "Down"], ["up", "Up"]];
const AXES_HINT =
  "Define the left and right ends by a text search or the current selection. Without a vertical axis, the direction of greatest remaining variance is used.";

function axisParts(panel: ProjectorPanel, dataset: Dataset): Node[] {
  const column = select(
    "Column that is searched",
    (name) => panel.setAxes({ in: name }),
    "Where the texts are searched",
  );
  const columns = dataset.columnInfos.map(({ name }): Option => [name, name]);
  column.show([["", "all columns"], ...columns], panel.state.axes.in);
  return [
    field("Search in", "The column that the texts are searched in.", column),
    ...ENDS.map(([end, label]) => endRow(panel, dataset.count, end, label)),
    ...(panel.waiting === "axes" ? [make("p", { className: "pj-hint" }, AXES_HINT)] : []),
  ];
}

/** @param points the total */
function endRow(panel: ProjectorPanel, points: number, end: End, label: string): HTMLElement {
  const said = panel.state.axes[end];
  const sort = said.slice(0, said.indexOf(":"));
  const rest = said.slice(said.indexOf(":") + 1);
  const known = sort === "rows" ? counted(readRows(rest, points).length, "point") : null;
  const input = make("input", {
    type: "text",
    className: "pj-input small",
    spellcheck: false,
    autocomplete: "off",
    placeholder: "text",
    "aria-label": `What lies at the end: ${label}`,
    value: known ?? rest,
  });
  let regex = sort === "regex";
  const take = () => {
    const text = input.value;
    if (text !== known) panel.setAxes({ [end]: text ? `${regex ? "regex" : "text"}:${text}` : "" });
  };
  input.addEventListener("change", take);
  const pattern = toggle(".*", "Regular expression", (on) => {
    regex = on;
    pattern.show(on);
    if (known === null) take();
  }, "mono small");
  pattern.show(regex);
  const selected = iconButton("plus", "Use the selected points", () => {
    if (!panel.selection.length) return panel.notify("Select points first.", "info");
    const text = writeRows(panel.selection);
    if (text === null) panel.notify("Too many points for one end of an axis: search for them instead.");
    else panel.setAxes({ [end]: `rows:${text}` });
  }, 13);
  return make(
    "div",
    { className: "pj-field" },
    make("span", { className: "pj-field-name" }, label),
    input,
    pattern,
    selected,
  );
}
