// @ts-nocheck
// The table of the hparams panel: its columns, selection, sorting, shading, and what leaves the page.
import {
  clear,
  coded,
  columns as hparamsColumns,
  data as hparamsData,
  decoded,
  pairs,
  redraw,
  select as hparamsSelect,
  selectedRows,
  setSetting,
  setting,
  settings,
} from "./index.ts";
import { elements } from "../../../web/core/dom.ts";
import { gridComponents as renderers, gridFunctions as functions } from "../../../web/core/dash.ts";
import { short } from "./scales.ts";
import { view } from "../../../web/page/view.ts";

const { make, toClipboard } = elements;
const h = (...args) => window.React.createElement(...args);
const SELECTION_COLUMN = "ag-Grid-SelectionColumn";
/** What texts are measured with. */
let pen: CanvasRenderingContext2D | null = null;

const api = () => {
  const found = document.getElementById("hparams-grid") && window.dash_ag_grid &&
    window.dash_ag_grid.getApi("hparams-grid");
  return found && !found.isDestroyed() ? found : null;
};

// --- cells -------------------------------------------------------------------------------------------------

renderers.HParamsRun = ({ data }) => {
  const cut = data.id.lastIndexOf("/") + 1;
  return h(
    "span",
    { className: "run-label", title: data.runs.join("\n") },
    h("i", { className: "run-dot", style: { "--light": data.light, "--dark": data.dark } }),
    h(
      "span",
      { className: "cut-name" },
      h("span", { className: "head dim" }, data.id.slice(0, cut)),
      h("span", { className: "tail" }, data.id === "." ? ". (the log directory)" : data.id.slice(cut)),
    ),
  );
};

functions.stepscopeHparamsValue = (params, key) => {
  const several = params.data && params.data.several[key];
  return several === undefined ? short(params.value) : several;
};
functions.stepscopeHparamsTip = (params, key, place) => {
  const several = params.data.several[key];
  if (several !== undefined) return "Its sessions differ: " + several;
  if (params.value === null || params.value === undefined) return "none";
  const step = params.data.s[place];
  return step === null ? String(params.value) : `${params.value} at step ${step.toLocaleString("en-US")}`;
};
/** Numbers by size, texts by the alphabet; none and NaN are last in either direction. */
functions.stepscopeHparamsOrder = (one, other, _node, _otherNode, descending) => {
  const gone = (value) => value === null || value === undefined || Number.isNaN(value);
  if (gone(one) || gone(other)) return (gone(one) - gone(other)) * (descending ? -1 : 1);
  if (typeof one === "number" && typeof other === "number") return one - other;
  return String(one).localeCompare(String(other), undefined, { numeric: true });
};
functions.stepscopeHparamsDuration = (seconds) => {
  if (seconds === null || !Number.isFinite(seconds)) return "";
  if (seconds < 60) return `${short(Number(seconds.toPrecision(3)))} s`;
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  return hours ? `${hours} h ${minutes} min` : `${minutes} min ${Math.floor(seconds % 60)} s`;
};
functions.stepscopeHparamsWhen = (
  seconds,
) => (Number.isFinite(seconds) ? new Date(seconds * 1000).toLocaleString() : "");

const sorted = new WeakMap();
/** The finite values of a column in order, kept as long as the data. */
function valuesOf(place) {
  const data = hparamsData();
  const known = sorted.get(data) || new Map();
  sorted.set(data, known);
  if (!known.has(place)) {
    known.set(
      place,
      Float64Array.from(data.rows.map((row) => row.v[place]).filter(Number.isFinite)).sort(),
    );
  }
  return known.get(place);
}

/** The better a value of the target, and the higher one of any other metric, the stronger; by rank. */
functions.stepscopeHparamsHeat = (params, key, place) => {
  const plain = { backgroundColor: "" };
  if (setting("heat") !== "on" || !Number.isFinite(params.value)) return plain;
  const values = valuesOf(place);
  if (values.length < 2 || values[0] === values[values.length - 1]) return plain;
  const { target, lower } = hparamsData();
  const share = values.findIndex((value) => value >= params.value) / (values.length - 1);
  const strength = Math.round(4 + 44 * (key === target && lower ? 1 - share : share));
  return {
    backgroundColor: `color-mix(in srgb, var(--${key === target ? "good" : "accent"}) ${strength}%, transparent)`,
  };
};

// --- columns -----------------------------------------------------------------------------------------------

const call = (name, ...args) => ({ function: `${name}(${args.join(", ")})` });

/** How wide a text is; `font` is its weight and size. */
function size(text, font) {
  pen = pen || document.createElement("canvas").getContext("2d");
  pen.font = `${font} ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text).width;
}

/** What a column needs for its values and for its name in two lines, and the sign of the order beside it. */
function widthOf(column) {
  const target = column.key === hparamsData().target;
  const head = target ? "650 11px" : "500 11px";
  const words = column.label.split(/(?<=[\s/_-])/).map((word) => size(word.trim(), head));
  const name = Math.max(...words, size(column.label, head) * 0.55);
  // A single word finds no second line, and breaks within where the sign leaves it too little.
  const sign = target ? (words.length > 1 ? 18 : 28) : 0;
  const values = hparamsData().rows.slice(0, 200).map((row) =>
    size(String(short(row.v[column.place]) ?? ""), "12.5px")
  );
  return Math.ceil(Math.min(170, Math.max(60, 18 + name + sign, 18 + Math.max(0, ...values))));
}

function valueColumn(column) {
  const data = hparamsData();
  const key = JSON.stringify(column.key);
  const number = column.type === "number";
  const target = column.key === data.target;
  return {
    colId: column.key,
    // Where a line may break.
    headerName: column.label.replace(/[/_]/g, "$&\u200b"),
    headerTooltip: (column.about ? `${column.label}: ${column.about}` : column.label) +
      (target ? ` (target, ${data.lower ? "lower" : "higher"} is better)` : ""),
    valueGetter: { function: `params.data.v[${column.place}]` },
    valueFormatter: call("stepscopeHparamsValue", "params", key),
    tooltipValueGetter: call("stepscopeHparamsTip", "params", key, column.place),
    comparator: { function: "stepscopeHparamsOrder" },
    filter: number ? "agNumberColumnFilter" : "agTextColumnFilter",
    headerClass: (number ? "ag-right-aligned-header " : "") + column.kind + (target ? " target" : ""),
    cellClass: (number ? "ag-right-aligned-cell " : "") + column.kind,
    type: number ? "rightAligned" : undefined,
    width: widthOf(column),
    sortingOrder: column.kind === "metric" && !(column.key === data.target && data.lower)
      ? ["desc", "asc", null]
      : ["asc", "desc", null],
    ...(column.kind === "metric" ? { cellStyle: call("stepscopeHparamsHeat", "params", key, column.place) } : {}),
  };
}

function factColumns() {
  const data = hparamsData();
  const fact = (name, headerName, width, rest) => ({ colId: "@" + name, field: name, headerName, width, ...rest });
  const wide = { suppressSizeToFit: true };
  const groups = data.rows.some((row) => row.n > 1);
  const names = Math.max(0, ...data.rows.slice(0, 200).map((row) => size(row.id, "12.5px")));
  const run = [
    fact("run", groups ? "Group" : "Session", Math.min(260, Math.max(130, Math.ceil(names) + 34)), {
      field: "id",
      pinned: "left",
      cellRenderer: "HParamsRun",
      filter: "agTextColumnFilter",
      comparator: { function: "stepscopeHparamsOrder" },
      ...wide,
    }),
    fact("sessions", "Sessions", 84, {
      field: "n",
      type: "rightAligned",
      cellClass: "ag-right-aligned-cell",
      hide: !groups,
    }),
  ];
  const rest = [
    fact("group", "Group", 130, {
      filter: "agTextColumnFilter",
      hide: groups || data.groups === data.sessions,
      tooltipField: "group",
    }),
    fact("status", "Status", 92, {
      filter: "agTextColumnFilter",
      cellClass: "status",
      cellClassRules: Object.fromEntries(
        ["failure", "running", "success"].map((name) => [name, `params.value === '${name}'`]),
      ),
    }),
    fact("start", "Started", 92, {
      valueFormatter: call("stepscopeWhen", "params.value"),
      tooltipValueGetter: call("stepscopeHparamsWhen", "params.value"),
      cellClass: "soft",
      sortingOrder: ["desc", "asc", null],
    }),
    fact("duration", "Duration", 96, {
      type: "rightAligned",
      valueFormatter: call("stepscopeHparamsDuration", "params.value"),
      cellClass: "ag-right-aligned-cell soft",
      headerTooltip: "From the start to the end of the session, or to its last point",
      comparator: { function: "stepscopeHparamsOrder" },
    }),
  ];
  return [run, rest];
}

/** The columns of the grid, as dash-ag-grid takes them. */
export function tableColumns() {
  const [run, rest] = factColumns();
  // What was varied, then what came of it; what is the same everywhere tells least.
  const values = hparamsColumns();
  const of = (kind, constant) =>
    values.filter((column) => column.kind === kind && column.constant === constant).map(valueColumn);
  return [
    ...run,
    ...of("hparam", false),
    ...of("metric", false),
    ...of("metric", true),
    ...of("hparam", true),
    ...rest,
  ];
}

// --- what the view says, into the grid -----------------------------------------------------------------------

/**
 * What of the view the grid was last told, by its name. The grid is told of changes of the view alone: it reports
 * what the user does in it a moment later, and must not be taken back to what the view said before.
 */
let told: Record<string, string> = {};
let heard = null;

function tell(name, wanted, apply) {
  const text = JSON.stringify(wanted);
  if (told[name] === text) return;
  told[name] = text;
  apply(wanted);
}

function wantedSort() {
  const { target, lower } = hparamsData();
  const said = [...pairs("sort")];
  const wanted = said.length ? said : target ? [[target, lower ? "asc" : "desc"]] : [];
  return wanted.map(([colId, sort], sortIndex) => ({ colId, sort, sortIndex }));
}

function wantedPlaces() {
  return settings("table").map((entry) => {
    const [key, pinned] = entry.split(":");
    return { colId: decoded(key), pinned: pinned === "left" || pinned === "right" ? pinned : null };
  });
}

function wantedSelection() {
  const rows = hparamsData().rows;
  return [...(selectedRows() || [])].map((place) => rows[place].id);
}

export function applyTable() {
  const grid = api();
  if (!grid || !grid.getColumns()?.length) return;
  listen(grid);
  tell("places", wantedPlaces(), (state) => state.length && grid.applyColumnState({ state, applyOrder: true }));
  tell("sort", wantedSort(), (state) => grid.applyColumnState({ state, defaultState: { sort: null } }));
  tell("search", setting("search"), (text) => grid.setGridOption("quickFilterText", text));
  tell("heat", setting("heat"), () => grid.refreshCells({ force: true }));
  const ids = hparamsData().rows.map((row) => row.id);
  tell("selection", [wantedSelection(), ids], ([selected]) => select(grid, new Set(selected)));
}

function select(grid, wanted) {
  const [on, off] = [[], []];
  grid.forEachNode((node) => {
    if (wanted.has(node.id) !== !!node.isSelected()) (wanted.has(node.id) ? on : off).push(node);
  });
  if (on.length) grid.setNodesSelected({ nodes: on, newValue: true, source: "api" });
  if (off.length) grid.setNodesSelected({ nodes: off, newValue: false, source: "api" });
}

/** Tells the grid again, where it was changed or its answer is not what the view says now. */
function tellAgain(...names) {
  names.forEach((name) => delete told[name]);
  applyTable();
}

function listen(grid) {
  if (heard === grid) return;
  heard = grid;
  told = {};
  grid.addEventListener("selectionChanged", ({ source }) => {
    if (source.startsWith("api") || source.startsWith("rowData")) return;
    const ids = new Set(grid.getSelectedRows().map((row) => row.id));
    const rows = hparamsData().rows.filter((row) => ids.has(row.id));
    if (rows.length) hparamsSelect(rows);
    else clear();
    tellAgain("selection");
  });
  grid.addEventListener("sortChanged", ({ source }) => {
    if (source === "api" || source === "gridOptionsChanged") return;
    const sorts = grid.getColumnState().filter((column) => column.sort).sort((one, other) =>
      one.sortIndex - other.sortIndex
    );
    setSetting("sort", ...sorts.map(({ colId, sort }) => coded(colId) + ":" + sort));
    tellAgain("sort");
  });
  const moved = ({ source, finished }) => {
    if (source !== "uiColumnMoved" || finished === false) return;
    const state = grid.getColumnState().filter(({ colId }) => colId !== SELECTION_COLUMN);
    setSetting("table", ...state.map(({ colId, pinned }) => coded(colId) + (pinned ? ":" + pinned : "")));
    tellAgain("places");
  };
  grid.addEventListener("columnMoved", moved);
  grid.addEventListener("columnPinned", (event) => moved({ ...event, finished: true }));
  // A value is shaded by its rank among all.
  grid.addEventListener("rowDataUpdated", () => {
    tellAgain("selection", "heat");
    redraw();
  });
  grid.addEventListener("newColumnsLoaded", () => {
    tellAgain("places", "sort");
    redraw();
  });
  grid.addEventListener("columnEverythingChanged", () => redraw());
}

// --- files -------------------------------------------------------------------------------------------------

/** What the table shows, as a file of the server's making. */
async function file(extension) {
  const grid = api();
  const rows = [];
  grid.forEachNodeAfterFilterAndSort((node) => rows.push(node.data.id));
  const columns = grid.getAllDisplayedColumns().map((column) => column.getColId()).filter((id) =>
    id !== SELECTION_COLUMN
  );
  const body = JSON.stringify({ view: view.params().toString(), columns, rows });
  const answer = await fetch(`/api/hparams/table.${extension}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body,
  });
  if (!answer.ok) throw new Error(`The server refused the table: ${answer.status}`);
  return answer;
}

async function copy(button) {
  await toClipboard(await (await file(button.dataset.extension)).text());
  const label = button.querySelector("span:last-child");
  button.classList.add("done");
  label.textContent = "Copied";
  setTimeout(() => {
    button.classList.remove("done");
    label.textContent = "Copy";
  }, 1200);
}

async function save(button) {
  const url = URL.createObjectURL(await (await file(button.dataset.extension)).blob());
  const link = make("a", { href: url, download: "hparams." + button.dataset.extension });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest && event.target.closest("button");
  if (!button) return;
  if (button.classList.contains("hparams-copy")) copy(button);
  if (button.classList.contains("hparams-save")) save(button);
});
