// @ts-nocheck
/** The settings of the chosen projection, in the left column. */
import * as parts from "./parts.ts";
import { format } from "./parts.ts";
import * as settings from "./settings.ts";
import { METHODS } from "./settings.ts";
import { SHOWN_COMPONENTS } from "./projection_session.ts";

const SETTLE_MS = 250;
const LETTERS = ["X", "Y", "Z"];

/** @param panel of projector_panel.js */
export function methodParts(panel: any): Node[] {
  const { state } = panel;
  if (state.projection === "pca") return componentParts(panel);
  if (state.projection === "custom") return axisParts(panel);
  const { knobs } = METHODS[state.projection];
  const shown = knobs.filter((knob: any) => !knob.more).map((knob: any) => knobRow(panel, knob));
  const more = knobs.filter((knob: any) => knob.more).flatMap((
    knob: any,
  ) => [knobRow(panel, knob), ...(knob.name === "supervision" ? [superviseRow(panel)] : [])]);
  return more.length ? [...shown, parts.fold(`more-${state.projection}`, "More settings", false, ...more)] : shown;
}

function knobRow(panel: any, knob: any) {
  const { make, field } = parts;
  const { projection } = panel.state;
  const value = panel.state.methods[projection][knob.name];
  let timer = 0;
  const set = (next: any, soon: boolean = true) => {
    clearTimeout(timer);
    if (soon) timer = window.setTimeout(() => panel.setKnob(projection, knob.name, next), SETTLE_MS);
    else panel.setKnob(projection, knob.name, next);
  };
  if (knob.sort === "choice") {
    const chosen = parts.select(knob.label, (next: string) => set(next, false), knob.help);
    chosen.show(knob.options, value);
    return field(knob.label, knob.help, chosen);
  }
  const tell = (one: any) => (one === null ? "auto" : String(one));
  if (knob.sort === "range") {
    const most = panel.dataset && ["perplexity", "neighbours"].includes(knob.name)
      ? Math.max(
        Math.min(knob.maximum, Math.floor((panel.dataset.count - 1) / (knob.name === "perplexity" ? 3 : 1))),
        knob.minimum,
      )
      : knob.maximum;
    const slider = make("input", {
      type: "range",
      className: "slider-input",
      min: knob.minimum,
      max: most,
      step: knob.step,
      "aria-label": knob.label,
    }) as HTMLInputElement;
    slider.value = String(value);
    const out = make("output", { className: "pj-value" }, tell(value));
    slider.addEventListener("input", () => {
      out.textContent = slider.value;
      set(Number(slider.value));
    });
    // At the release, since the field may be made anew then.
    slider.addEventListener("change", () => set(Number(slider.value), false));
    slider.addEventListener("dblclick", () => {
      slider.value = out.textContent = String(knob.value);
      set(knob.value, false);
    });
    return field(knob.label, `${knob.help} Double click: ${knob.value}, as at first.`, slider, out);
  }
  const input = make("input", {
    type: "number",
    className: "pj-input small",
    min: knob.minimum,
    max: knob.maximum,
    step: "any",
    placeholder: "auto",
    "aria-label": knob.label,
  }) as HTMLInputElement;
  input.value = value === null ? "" : String(value);
  input.addEventListener("change", () => {
    const text = input.value.trim();
    const number = Math.min(Math.max(Number(text), knob.minimum), knob.maximum);
    const next = text === "" || !Number.isFinite(number)
      ? knob.value
      : knob.step >= 1 && knob.name !== "learning_rate"
      ? Math.round(number)
      : number;
    input.value = next === null ? "" : String(next);
    set(next, false);
  });
  return field(knob.label, knob.help, input);
}

function superviseRow(panel: any) {
  const { field, select } = parts;
  const help = "The column whose equal values are drawn together.";
  const chosen = select("Column of the supervision", (name: string) => panel.setSupervise(name), help);
  const few = panel.dataset.columnInfos.filter((column: any) => column.categories !== null || column.kind === "number");
  chosen.show([["", "as coloured"], ...few.map((column: any) => [column.name, column.name])], panel.state.supervise);
  return field("… by column", help, chosen);
}

// ---- principal components

function componentParts(panel: any) {
  const { make, field, select } = parts;
  const { state } = panel;
  // There are no more directions than dimensions.
  const most = panel.dataset.info.dimensions;
  const ratios = (panel.frame10?.components?.ratios ?? []).slice(0, most);
  const count = Math.min(panel.frame10?.dimensions ?? SHOWN_COMPONENTS, most);
  const options = Array.from(
    { length: count },
    (
      _,
      at,
    ) => [String(at), `Component ${at + 1}${ratios[at] === undefined ? "" : `  ·  ${format.percent(ratios[at])}`}`],
  );
  const axes = Array.from({ length: Math.min(state.dimensions, count) }, (_, axis) => {
    const help = `The component along ${LETTERS[axis]}.`;
    const chosen = select(
      `Component along ${LETTERS[axis]}`,
      (value: string) => panel.setComponent(axis, Number(value)),
      help,
    );
    chosen.show(options, String(state.components[axis]));
    return Object.assign(field(LETTERS[axis], help, chosen), { className: "pj-field axis" });
  });
  if (!ratios.length) return axes;
  const shown = new Set(state.components.slice(0, state.dimensions));
  const total = [...shown].reduce((sum, component) => sum + (ratios[component] ?? 0), 0);
  const largest = Math.max(...ratios, 1e-9);
  const bars = ratios.map((ratio: number, at: number) => {
    const bar = make(
      "button",
      {
        type: "button",
        className: `pj-bar${shown.has(at) ? " on" : ""}`,
        title: `Component ${at + 1}: ${format.percent(ratio)} of the variance. Click puts it along X.`,
        "aria-label": `Component ${at + 1}, ${format.percent(ratio)}`,
      },
      make("i", {}),
      make("span", {}, String(at + 1)),
    );
    bar.firstChild.style.height = `${Math.max((ratio / largest) * 100, 2)}%`;
    bar.addEventListener("click", () => panel.setComponent(0, at));
    return bar;
  });
  const all = ratios.reduce((sum: number, ratio: number) => sum + ratio, 0);
  return [
    ...axes,
    make("div", { className: "pj-bars", role: "group", "aria-label": "Explained variance" }, ...bars),
    make(
      "p",
      { className: "pj-note" },
      "In the picture ",
      make("b", {}, format.percent(total)),
      ` of the variance; in the ${ratios.length} components ${format.percent(all)}.`,
    ),
  ];
}

// ---- own axes

const ENDS = [["left", "Left", "X"], ["right", "Right", "X"], ["down", "Down", "Y"], ["up", "Up", "Y"]] as [
  string,
  string,
  string,
][];

function axisParts(panel: any) {
  const { make, field, select } = parts;
  const column = select(
    "Column that is searched",
    (name: string) => panel.setAxes({ in: name }),
    "Where the texts are searched",
  );
  column.show(
    [["", "all columns"], ...panel.dataset.columnInfos.map((one: any) => [one.name, one.name])],
    panel.state.axes.in,
  );
  const rows = ENDS.map(([end, label]) => endRow(panel, end, label));
  const note = panel.waiting === "axes"
    ? [
      make(
        "p",
        { className: "pj-hint" },
        "Say what lies left and right: a text that is searched, or the points that are selected now. Without a below and above, up is the direction in which the points vary most besides.",
      ),
    ]
    : [];
  return [field("Search in", "The column that the texts are searched in.", column), ...rows, ...note];
}

function endRow(panel: any, end: string, label: string) {
  const { make, toggle, iconButton } = parts;
  const said = panel.state.axes[end];
  const sort = said.slice(0, said.indexOf(":"));
  const rest = said.slice(said.indexOf(":") + 1);
  const input = make("input", {
    type: "text",
    className: "pj-input small",
    spellcheck: false,
    autocomplete: "off",
    placeholder: "text",
    "aria-label": `What lies at the end: ${label}`,
  }) as HTMLInputElement;
  const count = sort === "rows" ? settings.readRows(rest, panel.dataset.count).length : 0;
  input.value = sort === "rows" ? format.counted(count, "point") : rest;
  let regex = sort === "regex";
  const take = () => {
    const text = input.value;
    if (sort === "rows" && text === format.counted(count, "point")) return;
    panel.setAxes({ [end]: text ? `${regex ? "regex" : "text"}:${text}` : "" });
  };
  input.addEventListener("change", take);
  const pattern = toggle(".*", "Regular expression", (on: boolean) => {
    regex = on;
    pattern.show(on);
    if (sort !== "rows") take();
  }, "mono small");
  pattern.show(regex);
  const selected = iconButton("plus", "Take the points that are selected", () => {
    if (!panel.selection.length) return panel.notify("Select points first.", "info");
    const text = settings.writeRows(panel.selection);
    if (text === null) return panel.notify("Too many points for one end of an axis: search for them instead.");
    panel.setAxes({ [end]: `rows:${text}` });
  });
  return make(
    "div",
    { className: "pj-field" },
    make("span", { className: "pj-field-name" }, label),
    input,
    pattern,
    selected,
  );
}
