// @ts-nocheck
// The hparams panel: what its parts share. The data is what dashboard/panels/hparams/table.py calls a payload; which
// rows are selected, and everything else that the user chose, is in the URL.
import * as dash from "../../../web/core/dash.ts";
import { applyTable, tableColumns } from "./table.ts";
import { drawChart } from "./chart.ts";
import { drawControls, removeFilters } from "./controls.ts";
import { elements } from "../../../web/core/dom.ts";
import { view as pageView } from "../../../web/page/view.ts";

const { make } = elements;
/** Characters of selected runs that the address bar can hold beside the rest; the server reads 65,536 in all. */
const LONGEST_SELECTION = 40000;

export interface Column {
  key: string;
  label: string;
  about: string;
  kind: "hparam" | "metric";
  type: "number" | "text";
  shown: boolean;
  constant: boolean;
  values: string[];
  count: number;
}
export interface Row {
  id: string;
  runs: string[];
  group: string;
  n: number;
  status: string;
  start: number;
  duration: number | null;
  light: string;
  dark: string;
  v: (number | string | null)[];
  s: (number | null)[];
  several: Record<string, string>;
}
export interface Data {
  all: Column[];
  columns: string[];
  constant: [string, string][];
  target: string;
  lower: boolean;
  rows: Row[];
  sessions: number;
  passing: number;
  groups: number;
  statuses: Record<string, number>;
  folders: string[];
  folder: string;
  palette: [string, string][];
}

let data: Data | null = null;
let said = "";

const view = () => pageView;
/** The value of one setting of the panel. */
export const setting = (name) => view().values("hparams." + name)[0] || "";
export const settings = (name) => view().values("hparams." + name);
export const setSetting = (name, ...values) => view().update((_params, set) => set("hparams." + name, values));
export const dark = () => document.documentElement.dataset.mantineColorScheme === "dark";

/** A name as it stands in a list setting before or between colons; Python's `unquote` reads it. */
export const coded = (name) => name.replace(/[%:]/g, encodeURIComponent);
export function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Entries of the form "column:rest" of a list setting, by column; "rest" as it stands there. */
export function pairs(name) {
  const found = new Map();
  for (const entry of settings(name)) {
    const at = entry.indexOf(":");
    if (at >= 0) found.set(decoded(entry.slice(0, at)), entry.slice(at + 1));
  }
  return found;
}

/** Writes such a list; entries whose rest is empty are left out. */
export function setPairs(set, name, map) {
  const entries = [...map].filter(([, rest]) => rest);
  set("hparams." + name, entries.map(([column, rest]) => coded(column) + ":" + rest));
}

/** The shown columns, each with its place in a row's values. */
export function columns() {
  if (!data) return [];
  const byKey = new Map(data.all.map((column) => [column.key, column]));
  return data.columns.map((key, place) => ({ ...byKey.get(key), place }));
}

export const columnOf = (key) => columns().find((column) => column.key === key);

// --- selection ---------------------------------------------------------------------------------------------

const selectedRuns = () => new Set(view().values("runs.select"));

/** Places of the selected rows; null where no row is selected, and so all count. */
export function selectedRows() {
  const runs = selectedRuns();
  if (!data || !runs.size) return null;
  const found = new Set();
  data.rows.forEach((row, place) => {
    if (row.runs.some((run) => runs.has(run))) found.add(place);
  });
  return found.size ? found : null;
}

/**
 * Selects the runs of some rows.
 * @param brushes the brushes that these rows come from; without any, there are none left
 */
export function select(rows: Row[], brushes?: Map<string, string>) {
  const runs = [...new Set(rows.flatMap((row) => row.runs))];
  const fits = runs.reduce((length, run) => length + encodeURIComponent(run).length + 13, 0) < LONGEST_SELECTION;
  said = fits ? "" : `${runs.length.toLocaleString("en-US")} runs are too many to select; choose fewer`;
  view().update((_params, set) => {
    if (fits) set("runs.select", runs);
    setPairs(set, "brush", brushes || new Map());
  });
  showSelection();
}

/** Selects rows by pointer: alone, or with those that are selected already while Ctrl or Shift is held. */
export function pick(rows, event) {
  const before = selectedRows();
  if (!(event.ctrlKey || event.metaKey || event.shiftKey) || !before) return select(rows);
  const adding = rows.some((row) => !before.has(data.rows.indexOf(row)));
  const others = [...before].map((place) => data.rows[place]).filter((row) => !rows.includes(row));
  select(adding ? [...others, ...rows] : others);
}

export function clear() {
  said = "";
  view().update((_params, set) => {
    set("runs.select", []);
    set("hparams.brush", []);
  });
  showSelection();
}

function showOnlySelected() {
  const runs = [...selectedRuns()];
  view().update((_params, set) => {
    set("runs", ["none"]);
    set("hide", []);
    set("show", runs);
  });
}

/** Replaces what an element shows, unless it shows the same already: a press or the focus may be on it. */
function fill(place, state, parts) {
  const text = JSON.stringify(state);
  if (place.stepscopeShown === text) return;
  place.stepscopeShown = text;
  place.replaceChildren(...parts());
}

function showSelection() {
  const place = document.getElementById("hparams-selection");
  if (!place || !data) return;
  const [runs, rows] = [selectedRuns().size, selectedRows()?.size];
  fill(place, [said, runs, rows, data.rows.length], () => selectionParts(runs, rows));
}

function selectionParts(runs, rows) {
  if (!runs) return said ? [make("span", { className: "hparams-warning" }, said)] : [];
  const words = rows
    ? `${rows.toLocaleString("en-US")} of ${data.rows.length.toLocaleString("en-US")} selected`
    : `${runs} selected, not in the table`;
  return [
    make("span", { className: said ? "hparams-warning" : "count" }, said || words),
    make("button", {
      className: "quiet strong",
      id: "hparams-only",
      title: "Hide all other runs in every tab",
      onclick: showOnlySelected,
    }, "Show only these runs"),
    make("button", {
      className: "quiet",
      id: "hparams-clear",
      title: "Select nothing, remove brushes (Escape)",
      onclick: clear,
    }, "Clear"),
  ];
}

// --- the parts ---------------------------------------------------------------------------------------------

/** How many sessions there are, and which hyperparameters are the same in all. */
function showFacts() {
  fill(
    document.getElementById("hparams-facts"),
    [data.sessions, data.passing, data.rows.length, data.constant],
    factParts,
  );
}

function factParts() {
  const count = (number, noun) => `${number.toLocaleString("en-US")} ${noun}${number === 1 ? "" : "s"}`;
  let words = count(data.sessions, "session");
  if (data.passing < data.sessions) words = `${data.passing.toLocaleString("en-US")} of ${words}`;
  if (data.rows.length < data.passing) words += ` in ${count(data.rows.length, "group")}`;
  const parts = [make("span", { className: "count" }, words)];
  if (data.passing < data.sessions) {
    parts.push(
      make("button", {
        className: "quiet",
        id: "hparams-unfilter",
        title: "Remove every filter",
        onclick: removeFilters,
      }, "Remove filters"),
    );
  }
  if (data.constant.length) {
    const text = data.constant.map(([name, value]) => `${name} = ${value === "" ? '""' : value}`).join(", ");
    parts.push(
      make(
        "span",
        { className: "hparams-constant", title: "The same in all sessions: " + text },
        make("span", { className: "dim" }, "constant: "),
        text,
      ),
    );
  }
  return parts;
}

/** A hand is on the panel: what it pressed stays until it lets go, or there would be no click and no drag. */
let held = false;
let drawing = 0;
/** Draws what depends on the view; what is asked for several times before the next frame is done once. */
export function redraw() {
  if (drawing) return;
  drawing = requestAnimationFrame(() => {
    drawing = 0;
    const panel = document.querySelector(".hparams-panel");
    if (!panel || !data || held) return;
    const chart = setting("chart");
    panel.dataset.chart = chart;
    panel.dataset.controls = setting("controls");
    showFacts();
    showSelection();
    drawControls();
    drawChart(chart);
    applyTable();
  });
}

const exportedData = () => data;

document.addEventListener("pointerdown", (event) => {
  // A list that opens keeps the release to itself.
  if (event.target.closest(".hparams-panel") && !event.target.closest("select")) held = true;
}, true);
for (const name of ["pointerup", "pointercancel"]) {
  // The click that belongs to it comes first.
  window.addEventListener(name, () =>
    setTimeout(() => {
      if (!held) return;
      held = false;
      redraw();
    }), true);
}
document.addEventListener("keydown", (event) => {
  if (
    event.key === "Escape" && !event.defaultPrevented && event.target.closest && event.target.closest(".hparams-panel")
  ) clear();
});
document.addEventListener("click", (event) => {
  const button = event.target.closest && event.target.closest("#hparams-toggle");
  if (button) setSetting("controls", setting("controls") === "on" ? "off" : "on");
});
new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-mantine-color-scheme"] });

const clientside = {
  /** New data: numbers that JSON has not become numbers again. Columns that stay are left alone: a click may be on them. */
  hparamsData(sent, shown) {
    const { no_update } = window.dash_clientside;
    if (!sent) return [no_update, no_update];
    data = sent;
    const numeric = columns().filter((column) => column.type === "number").map((column) => column.place);
    for (const row of data.rows) {
      for (const place of numeric) if (row.v[place] !== null) row.v[place] = Number(row.v[place]);
      row.start = Number(row.start);
      if (row.duration !== null) row.duration = Number(row.duration);
    }
    redraw();
    const wanted = tableColumns();
    return [data.rows, JSON.stringify(wanted) === JSON.stringify(shown) ? no_update : wanted];
  },
  hparamsView() {
    redraw();
    return window.dash_clientside.no_update;
  },
};
dash.callbacks("stepscope", clientside);

export { exportedData as data };
