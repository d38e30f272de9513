/** The table: its columns, selection, sorting, shading, and exports. */
import { integer } from "../../../web/core/numbers.ts";
import {
  type ColumnState,
  type Grid,
  gridOf,
  type GridRow,
  gridWhenReady,
  reactElement as h,
} from "../../../web/core/ag_grid.ts";
import { pageTextWidth } from "../../../web/core/canvas_text.ts";
import { gridComponents, gridFunctions } from "../../../web/core/dash.ts";
import { within } from "../../../web/core/dom.ts";
import { saveBlob } from "../../../web/core/download.ts";
import { runName } from "../../../web/core/names.ts";
import { Api, messageOf } from "../../../web/core/request.ts";
import { duration } from "../../../web/cards/step_slider.ts";
import { lowerBound } from "../../../web/core/steps.ts";
import { copyText, say } from "../../../web/page/layout.ts";
import { view } from "../../../web/page/view.ts";
import { compare } from "../../../runs/web/values.ts";
import { coded, decoded } from "./entries.ts";
import type { Cell, Data, Row, ShownColumn } from "./payload.ts";
import { finiteOf, short } from "./scales.ts";
import { settings } from "./settings.generated.ts";
import * as state from "./state.ts";

const SELECTION_COLUMN = "ag-Grid-SelectionColumn";
const api = new Api("api/hparams");
const GRID = "hparams-grid";
const gridNow = () => gridOf<Row>(GRID);

// --- cells -------------------------------------------------------------------------------------------------

interface Params {
  data: Row;
  value: Cell | undefined;
}

gridComponents.HParamsRun = ({ data }: Params) => {
  const cut = data.id.lastIndexOf("/") + 1;
  return h(
    "span",
    { className: "run-label", title: data.runs.join("\n") },
    h("i", { className: "run-dot", style: { "--light": data.light, "--dark": data.dark } }),
    h(
      "span",
      { className: "cut-name" },
      h("span", { className: "head dim" }, data.id.slice(0, cut)),
      h("span", { className: "tail" }, runName(data.id).slice(data.id === "." ? 0 : cut)),
    ),
  );
};

/** A mean with its deviation, which has at most two significant digits. */
const withDeviation = (value: Cell | undefined, deviation: number | string | undefined): string =>
  typeof deviation === "number" ? `${short(value)} ± ${short(Number(deviation.toPrecision(2)))}` : short(value);

Object.assign(gridFunctions, {
  stepscopeHparamsValue: ({ data, value }: Partial<Params>, key: string) =>
    data?.several[key] ?? withDeviation(value, data?.deviations[key]),
  stepscopeHparamsTip({ data, value }: Params, key: string, place: number) {
    const several = data.several[key];
    if (several !== undefined) return "Its sessions differ: " + several;
    if (value === null || value === undefined) return "none";
    const deviation = data.deviations[key];
    if (deviation !== undefined) return `Mean ${value}, standard deviation ${deviation}`;
    const step = data.s[place];
    return step === null ? String(value) : `${value} at step ${integer(step)}`;
  },
  stepscopeHparamsOrder: compare,
  stepscopeHparamsDuration: (seconds: number | null) =>
    seconds === null || !Number.isFinite(seconds) ? "" : duration(seconds),
  stepscopeHparamsWhen: (seconds: number) => Number.isFinite(seconds) ? new Date(seconds * 1000).toLocaleString() : "",
  stepscopeHparamsHeat: heat,
});

const sorted = new WeakMap<Data, Map<number, Float64Array>>();
/** The finite values of a column in order, cached as long as the data. */
function sortedValues(place: number): Float64Array {
  const known = sorted.get(state.data()) ?? new Map<number, Float64Array>();
  sorted.set(state.data(), known);
  const values = known.get(place) ?? finiteOf(state.valuesOf(place));
  known.set(place, values);
  return values;
}

/** Shades by rank: stronger for better values of the target, and for higher values of any other metric. */
function heat({ value }: Params, key: string, place: number): { backgroundColor: string } {
  const plain = { backgroundColor: "" };
  if (!view.read(settings.heat) || typeof value !== "number" || !Number.isFinite(value)) return plain;
  const values = sortedValues(place);
  if (values.length < 2 || values[0] === values[values.length - 1]) return plain;
  const { target, lower } = state.data();
  const share = lowerBound(values, value) / (values.length - 1);
  const strength = Math.round(4 + 44 * (key === target && lower ? 1 - share : share));
  const color = key === target ? "good" : "accent";
  return { backgroundColor: `color-mix(in srgb, var(--${color}) ${strength}%, transparent)` };
}

// --- columns -----------------------------------------------------------------------------------------------

/** A column as dash-ag-grid takes it: functions are given by name. */
export interface Column {
  colId: string;
  headerName: string;
  [property: string]: unknown;
}

const call = (name: string, ...args: (string | number)[]) => ({ function: `${name}(${args.join(", ")})` });
const ORDER = { function: "stepscopeHparamsOrder" };
const VALUE_FONT = "12.5px";

/** The width a column needs for its values and for its name on two lines with the sort indicator beside it. */
function widthOf(column: ShownColumn, isTarget: boolean): number {
  const font = isTarget ? "650 11px" : "500 11px";
  const words = column.label.split(/(?<=[\s/_-])/).map((word) => pageTextWidth(word.trim(), font));
  const name = Math.max(...words, pageTextWidth(column.label, font) * 0.55);
  // A single word cannot wrap onto a second line, and breaks in the middle if the indicator leaves too little room.
  const sign = isTarget ? (words.length > 1 ? 18 : 28) : 0;
  const { rows } = state.data();
  const values = rows.slice(0, 200).map(({ v, deviations }) =>
    pageTextWidth(withDeviation(v[column.place], deviations[column.key]), VALUE_FONT)
  );
  return Math.ceil(Math.min(170, Math.max(60, 18 + name + sign, 18 + Math.max(0, ...values))));
}

function valueColumn(column: ShownColumn): Column {
  const { target, lower } = state.data();
  const key = JSON.stringify(column.key);
  const isNumeric = column.type === "number";
  const isTarget = column.key === target;
  const isMetric = column.kind === "metric";
  return {
    colId: column.key,
    // Allows line breaks after separators.
    headerName: column.label.replace(/[/_]/g, "$&\u200b"),
    headerTooltip: (column.about ? `${column.label}: ${column.about}` : column.label) +
      (isTarget ? ` (target, ${lower ? "lower" : "higher"} is better)` : ""),
    valueGetter: { function: `params.data.v[${column.place}]` },
    valueFormatter: call("stepscopeHparamsValue", "params", key),
    tooltipValueGetter: call("stepscopeHparamsTip", "params", key, column.place),
    comparator: ORDER,
    filter: isNumeric ? "agNumberColumnFilter" : "agTextColumnFilter",
    headerClass: (isNumeric ? "ag-right-aligned-header " : "") + column.kind + (isTarget ? " target" : ""),
    cellClass: (isNumeric ? "ag-right-aligned-cell " : "") + column.kind,
    type: isNumeric ? "rightAligned" : undefined,
    width: widthOf(column, isTarget),
    sortingOrder: isMetric && !(isTarget && lower) ? ["desc", "asc", null] : ["asc", "desc", null],
    ...(isMetric ? { cellStyle: call("stepscopeHparamsHeat", "params", key, column.place) } : {}),
  };
}

function factColumns(): [first: Column[], last: Column[]] {
  const { rows, groups, sessions, all_rows, passing } = state.data();
  const fact = (name: string, headerName: string, width: number, rest: Record<string, unknown>): Column => ({
    colId: "@" + name,
    field: name,
    headerName,
    width,
    ...rest,
  });
  const areGroups = all_rows < passing;
  const names = Math.max(0, ...rows.slice(0, 200).map((row) => pageTextWidth(row.id, VALUE_FONT)));
  const first = [
    fact("run", areGroups ? "Group" : "Session", Math.min(260, Math.max(130, Math.ceil(names) + 34)), {
      field: "id",
      pinned: "left",
      cellRenderer: "HParamsRun",
      filter: "agTextColumnFilter",
      comparator: ORDER,
      suppressSizeToFit: true,
    }),
    fact("sessions", "Sessions", 84, {
      field: "n",
      type: "rightAligned",
      cellClass: "ag-right-aligned-cell",
      hide: !areGroups,
    }),
  ];
  const last = [
    fact("group", "Group", 130, {
      filter: "agTextColumnFilter",
      hide: areGroups || groups === sessions,
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
      comparator: ORDER,
    }),
  ];
  return [first, last];
}

/** The columns of the grid. */
export function tableColumns(): Column[] {
  const [first, last] = factColumns();
  const values = state.columns();
  const of = (kind: ShownColumn["kind"], constant: boolean) =>
    values.filter((column) => column.kind === kind && column.constant === constant).map(valueColumn);
  // First what was varied, then the results; values that are the same everywhere are the least informative.
  return [
    ...first,
    ...of("hparam", false),
    ...of("metric", false),
    ...of("metric", true),
    ...of("hparam", true),
    ...last,
  ];
}

// --- from the view to the grid -------------------------------------------------------------------------------

type Reported = "loading" | "places" | "sort" | "search" | "heat" | "selection";

/**
 * The part of the view last passed to the grid. Only changes of the view are passed on: the grid reports user actions
 * a moment later, and must not be reset to the view's earlier state.
 */
const reported = new Map<Reported, string>();
let heard: Grid<Row> | null = null;

function tell<T>(name: Reported, wanted: T, apply: (wanted: T) => void): void {
  const text = JSON.stringify(wanted);
  if (reported.get(name) === text) return;
  reported.set(name, text);
  apply(wanted);
}

function wantedSort(): ColumnState[] {
  const { target, lower } = state.data();
  const said = [...state.pairs(settings.sort)];
  const wanted = said.length ? said : target ? [[target, lower ? "asc" : "desc"]] : [];
  return wanted.map(([colId, sort], sortIndex) => ({ colId, sort: sort === "desc" ? "desc" : "asc", sortIndex }));
}

function wantedPlaces(): ColumnState[] {
  return view.read(settings.table).map((entry) => {
    const [key, pinned] = entry.split(":");
    return { colId: decoded(key), pinned: pinned === "left" || pinned === "right" ? pinned : null };
  });
}

/** Listens to the grid before the user can act in it: it may appear at any time, before or with rows and columns. */
export const heedTable = (): Promise<void> => gridWhenReady<Row>(GRID).then(applyTable);

export function applyTable(): void {
  const grid = gridNow();
  if (!grid) return;
  listen(grid);
  const { loading, sessions, whole_table } = state.data();
  tell("loading", !state.hasData() || (loading && !sessions), (isLoading) => grid.setGridOption("loading", isLoading));
  if (!grid.getColumns()?.length) return;
  tell("places", wantedPlaces(), (places) => {
    if (places.length) grid.applyColumnState({ state: places, applyOrder: true });
  });
  tell("sort", wantedSort(), (sorts) => grid.applyColumnState({ state: sorts, defaultState: { sort: null } }));
  // If there are very many rows, the server has already searched them.
  tell("search", whole_table ? view.read(settings.search) : "", (text) => grid.setGridOption("quickFilterText", text));
  tell("heat", view.read(settings.heat), () => grid.refreshCells({ force: true }));
  const ids = state.data().rows.map((row) => row.id);
  const selected = [...state.selectedRows() ?? []].map((place) => ids[place]);
  tell("selection", [selected, ids], () => select(grid, new Set(selected)));
}

function select(grid: Grid<Row>, wanted: ReadonlySet<string>): void {
  const [on, off]: GridRow<Row>[][] = [[], []];
  grid.forEachNode((node) => {
    if (wanted.has(node.id) !== Boolean(node.isSelected())) (wanted.has(node.id) ? on : off).push(node);
  });
  if (on.length) grid.setNodesSelected({ nodes: on, newValue: true, source: "api" });
  if (off.length) grid.setNodesSelected({ nodes: off, newValue: false, source: "api" });
}

/** Updates the grid again if it was changed, or if its answer differs from the current view. */
function tellAgain(...names: Reported[]): void {
  names.forEach((name) => reported.delete(name));
  applyTable();
}

const ownColumns = (grid: Grid<Row>) => grid.getColumnState().filter(({ colId }) => colId !== SELECTION_COLUMN);

function listen(grid: Grid<Row>): void {
  if (heard === grid) return;
  heard = grid;
  reported.clear();
  let isPlainClick = false;
  grid.addEventListener("rowClicked", ({ event }) => {
    isPlainClick = event instanceof MouseEvent && !state.adds(event);
  });
  grid.addEventListener("selectionChanged", ({ source }) => {
    if (source.startsWith("api") || source.startsWith("rowData")) return;
    const ids = new Set(grid.getSelectedRows().map((row) => row.id));
    const rows = state.data().rows.filter((row) => ids.has(row.id));
    // A plain click on a row selects it alone; anything else leaves runs without a row as they are.
    if (source === "rowClicked" && isPlainClick) state.select(rows);
    else state.selectListed(rows);
    tellAgain("selection");
  });
  grid.addEventListener("sortChanged", ({ source }) => {
    if (source === "api" || source === "gridOptionsChanged") return;
    const sorts = grid.getColumnState().filter(({ sort }) => sort);
    sorts.sort((one, other) => (one.sortIndex ?? 0) - (other.sortIndex ?? 0));
    view.write(settings.sort, sorts.map(({ colId, sort }) => `${coded(colId)}:${sort}`));
    tellAgain("sort");
  });
  const moved = (source: string) => {
    if (source !== "uiColumnMoved") return;
    const places = ownColumns(grid).map(({ colId, pinned }) => coded(colId) + (pinned ? ":" + pinned : ""));
    view.write(settings.table, places);
    tellAgain("places");
  };
  grid.addEventListener("columnMoved", ({ source, finished }) => {
    if (finished !== false) moved(source);
  });
  grid.addEventListener("columnPinned", ({ source }) => moved(source));
  // Values are shaded by their rank among all.
  grid.addEventListener("rowDataUpdated", () => {
    tellAgain("selection", "heat");
    state.redraw();
  });
  grid.addEventListener("newColumnsLoaded", () => {
    tellAgain("places", "sort");
    state.redraw();
  });
  grid.addEventListener("columnEverythingChanged", () => state.redraw());
}

// --- files -------------------------------------------------------------------------------------------------

/** The table's contents as a file created by the server. */
function file(grid: Grid<Row>, extension: string): Promise<Response> {
  const rows: string[] | null = state.data().whole_table ? [] : null;
  grid.forEachNodeAfterFilterAndSort(({ data }) => rows?.push(data.id));
  const columns = grid.getAllDisplayedColumns().map((column) => column.getColId());
  const body = { view: view.query(), columns: columns.filter((id) => id !== SELECTION_COLUMN), rows };
  return api.response(`table.${extension}`, {}, { body });
}

const copy = (grid: Grid<Row>, extension: string) =>
  copyText(file(grid, extension).then((answer) => answer.text()), "Table copied");

const save = (grid: Grid<Row>, extension: string) =>
  file(grid, extension)
    .then((answer) => answer.blob())
    .then((blob) => saveBlob(blob, `hparams.${extension}`))
    .catch((error) => say(messageOf(error)));

document.addEventListener("click", (event) => {
  const button = within(event, ".hparams-copy, .hparams-save");
  const grid = gridNow();
  if (button && grid) void (button.matches(".hparams-save") ? save : copy)(grid, button.dataset.extension ?? "");
});
