// @ts-nocheck
// The table of runs: its columns and rows, groups, order, and what the mouse and the keyboard do in it.
import * as runMenu from "./menu.ts";
import * as runSettings from "./settings.ts";
import { elements } from "../../web/core/dom.ts";
import { gridFunctions as functions } from "../../web/core/dash.ts";
import { runs as pageRuns } from "./state.ts";

const GRID = "runs-grid";
const SWATCH = 34;
const STARTED = 84;
const LEAST_NAME = 104;
/** The name's least share of the table; heads of groups have a fold and a count beside it. */
const NAME_SHARE = { runs: 0.55, groups: 0.8 };

let api: any = null;
/** Rows of the grid, by id, kept while they are unchanged: the grid redraws only what differs. */
let items = new Map();
/** The run that a range of selected ones begins at. */
let anchor = "";
/** What was selected before a click, should the click turn out to be a double click. */
let before = [];
/** Columns whose width the user set by hand. */
const ownWidths = new Set();

const make = (...args) => elements.make(...args);
const isHead = (item) => item.kind === "group";
const membersOf = (item) => item.members.map((run) => pageRuns.rows.get(run)).filter(Boolean);

// --- numbers ---------------------------------------------------------------------------------------------------

const SPECIAL = { NaN: NaN, Infinity: Infinity, "-Infinity": -Infinity };
const asNumber = (value) => (typeof value === "number" ? value : value in SPECIAL ? SPECIAL[value] : null);

/** Few digits: 0.0312, 1.2e-5, 123,456. */
function short(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "boolean") return value ? "true" : "false";
  if (typeof value !== "number") return value === "Infinity" ? "∞" : value === "-Infinity" ? "−∞" : String(value);
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e7) return value.toLocaleString("en-US");
  if (size >= 1e6 || size < 1e-3) return value.toExponential(2).replace(/\.?0+e/, "e").replace("e+", "e");
  return String(Number(value.toPrecision(4)));
}

const full = (value) => (value === null || value === undefined || value === "" ? "" : String(value));

/** Numbers by size, texts by letter, what is missing last either way. */
function compare(one, other, _nodeA, _nodeB, descending) {
  const rank = (value) => (value === null || value === undefined ? 2 : Number.isNaN(asNumber(value)) ? 1 : 0);
  const ranks = rank(one) - rank(other);
  if (ranks) return descending ? -ranks : ranks;
  if (rank(one)) return 0;
  const [a, b] = [asNumber(one), asNumber(other)];
  if (a !== null && b !== null) return a - b;
  return String(one).localeCompare(String(other), "en", { numeric: true });
}

// --- rows ------------------------------------------------------------------------------------------------------

/** What stands in the row of a group: what its runs have in common, or the mean of a metric. */
function summary(rows, place) {
  const values = rows.map((row) => row.values[place]);
  if (values.every((value) => value === values[0])) return values[0];
  if (pageRuns.around().columns[place].kind !== "metric") return null;
  const numbers = values.map((value) => (value === null ? null : asNumber(value))).filter((value) => value !== null);
  if (!numbers.length || numbers.length < values.filter((value) => value !== null).length) return null;
  const mean = numbers.reduce((sum, value) => sum + value / numbers.length, 0);
  return Number.isFinite(mean) ? mean : null;
}

function buildItems() {
  const next = new Map();
  const add = (item, source) => {
    const known = items.get(item.id);
    next.set(item.id, known && known.source === source ? known : { ...item, source });
  };
  const groups = pageRuns.around().groups;
  const members = groups.map(() => []);
  for (const row of pageRuns.rows.values()) {
    if (row.group !== null) members[row.group].push(row);
    add({ id: "r:" + row.run, kind: "run", ...row }, row);
  }
  groups.forEach((group, place) => {
    const rows = members[place];
    if (!rows.length) return;
    next.set("g:" + group.label, {
      id: "g:" + group.label,
      kind: "group",
      group: place,
      ...group,
      order: rows[0].order,
      started: rows[0].started,
      members: rows.map((row) => row.run),
      values: rows[0].values.map((_, at) => summary(rows, at)),
      means: rows[0].values.map((first, at) => rows.some((row) => row.values[at] !== first)),
    });
  });
  items = next;
}

/** Members stand below their group, whatever the order; without any, the order is that of the first events. */
function arrange({ nodes }) {
  if (!api) return;
  if (!api.getColumnState().some((column) => column.sort)) nodes.sort((a, b) => a.data.order - b.data.order);
  const heads = nodes.filter((node) => isHead(node.data));
  if (!heads.length) return;
  const members = new Map(heads.map((head) => [head.data.group, [head]]));
  const rest = [];
  for (const node of nodes) {
    if (!isHead(node.data)) (members.get(node.data.group) || rest).push(node);
  }
  nodes.splice(0, nodes.length, ...[...members.values()].flat(), ...rest);
}

function passes(node) {
  if (isHead(node.data)) return true;
  if (pageRuns.isPinned(node.data.run)) return false;
  const group = pageRuns.around().groups[node.data.group];
  return !group || !pageRuns.isFolded(group);
}

/** The runs as they are listed now, folded ones not among them. */
function listed(): any[] {
  const found = [];
  if (!api) return found;
  for (let at = 0; at < api.getPinnedTopRowCount(); at += 1) found.push(api.getPinnedTopRow(at).data);
  api.forEachNodeAfterFilterAndSort((node) => node.data.kind === "run" && found.push(node.data));
  return found;
}

/** The runs that pass the search and the filters of the columns, folded and pinned ones too. */
function passing() {
  if (!api || !api.isColumnFilterPresent()) return [...pageRuns.rows.values()];
  const heads = new Set();
  const found = listed();
  api.forEachNodeAfterFilter((node) => isHead(node.data) && pageRuns.isFolded(node.data) && heads.add(node.data));
  for (const head of heads) found.push(...membersOf(head));
  return found;
}

// --- cells -----------------------------------------------------------------------------------------------------

const headState = (item) => {
  const on = membersOf(item).filter(pageRuns.isOn).length;
  return on === 0 ? "false" : on === item.members.length ? "true" : "mixed";
};
const state = (item) => (isHead(item) ? headState(item) : pageRuns.isOn(item) ? "true" : "false");

function switchItem(item) {
  const on = state(item) !== "true";
  pageRuns.switchRuns(isHead(item) ? membersOf(item) : [item], on);
}

class Swatch {
  button: any;
  cell: any;
  item: any;

  init(params) {
    this.button = make("button", { className: "swatch", role: "checkbox", tabIndex: -1 });
    this.button.addEventListener("click", () => switchItem(this.item));
    this.cell = make("span", { className: "swatch-box" }, this.button);
    this.refresh(params);
  }
  refresh(params) {
    this.item = params.data;
    this.button.style.setProperty("--light", this.item.light);
    this.button.style.setProperty("--dark", this.item.dark);
    this.button.setAttribute("aria-checked", state(this.item));
    this.button.setAttribute("aria-label", (isHead(this.item) ? "Show all runs of " : "Show ") + this.item.label);
    return true;
  }
  getGui() {
    return this.cell;
  }
}

function nameParts(item) {
  const label = item.label === item.run ? pageRuns.label(item.label) : item.label;
  const cut = item.label === item.run ? label.lastIndexOf("/") + 1 : 0;
  const leaf = make("span", { className: "leaf" }, make("bdi", {}, label.slice(cut)));
  return cut ? [make("span", { className: "dim" }, make("bdi", { dir: "ltr" }, label.slice(0, cut))), leaf] : [leaf];
}

class Name {
  cell: any;
  item: any;
  shown: any;

  init(params) {
    this.cell = make("div", { className: "run-name" });
    this.cell.addEventListener("click", (event) => !event.target.closest("button") && clicked(this.item, event));
    this.cell.addEventListener("dblclick", (event) => !event.target.closest("button") && doubleClicked(this.item));
    this.refresh(params);
  }
  refresh(params) {
    this.item = params.data;
    const { id, label } = this.item;
    const now = JSON.stringify(
      isHead(this.item)
        ? [id, this.item.members.length, pageRuns.isFolded(this.item)]
        : [id, label, pageRuns.isPinned(this.item.run)],
    );
    // What is under the hand stays the same element while nothing of it changes.
    if (now !== this.shown) this.cell.replaceChildren(...(isHead(this.item) ? this.head() : this.run()));
    this.shown = now;
    return true;
  }
  head() {
    const folded = pageRuns.isFolded(this.item);
    const fold = make("button", {
      className: "fold",
      tabIndex: -1,
      title: folded ? "List the runs" : "Fold the runs",
      "aria-expanded": String(!folded),
    }, elements.icon("chevron", 12));
    fold.addEventListener("click", () => pageRuns.fold(this.item, !folded));
    return [
      fold,
      make("span", { className: "leaf" }, make("bdi", { dir: "ltr" }, this.item.label)),
      make("span", { className: "count" }, String(this.item.members.length)),
    ];
  }
  run() {
    const menu = make("button", {
      className: "row-menu",
      tabIndex: -1,
      title: "More (right click, or the menu key)",
      "aria-label": "More for " + this.item.label,
    }, elements.icon("dots", 14));
    menu.addEventListener("click", () => runMenu.open(this.item, menu));
    const pinned = pageRuns.isPinned(this.item.run) ? [elements.icon("run_pin", 11)] : [];
    return [...pinned, ...nameParts(this.item), menu];
  }
  getGui() {
    return this.cell;
  }
}

// --- the mouse and the keyboard --------------------------------------------------------------------------------

function clicked(item, event) {
  if (event.detail > 1) return;
  if (isHead(item)) return selectRuns(item.members, event.ctrlKey || event.metaKey);
  const chosen = [...pageRuns.view().selected];
  before = chosen;
  if (event.shiftKey && anchor) return selectRange(item.run);
  anchor = item.run;
  selectRuns([item.run], event.ctrlKey || event.metaKey);
}

/** Selects runs, or clears them where they are what is selected; `more` keeps the others. */
function selectRuns(runs, more) {
  const chosen = pageRuns.view().selected;
  const all = runs.every((run) => chosen.has(run));
  const rest = [...chosen].filter((run) => !runs.includes(run));
  if (more) pageRuns.select(all ? rest : [...rest, ...runs]);
  else pageRuns.select(all && !rest.length ? [] : runs);
}

function selectRange(to) {
  const runs = listed().map((item) => item.run);
  const [start, end] = [runs.indexOf(anchor), runs.indexOf(to)].sort((a, b) => a - b);
  if (start >= 0) pageRuns.select(runs.slice(start, end + 1));
}

function doubleClicked(item) {
  pageRuns.select(before);
  pageRuns.only(isHead(item) ? item.members : [item.run]);
}

const keys = {
  " ": (item) => switchItem(item),
  Enter: (item, event) => (isHead(item) ? pageRuns.fold(item, !pageRuns.isFolded(item)) : clicked(item, event)),
  F2: (item, _event, cell) => isHead(item) || runMenu.rename(item, cell),
  o: (item) => pageRuns.only(isHead(item) ? item.members : [item.run]),
  p: (item) => {
    if (isHead(item)) return;
    pageRuns.pin(item.run, !pageRuns.isPinned(item.run));
    // When the grid has drawn the row at its new place.
    setTimeout(() => focusRun(item.run), 50);
  },
};

/** Gives the focus to a run's name, wherever its row is now. */
function focusRun(run) {
  for (let at = 0; at < api.getPinnedTopRowCount(); at += 1) {
    if (api.getPinnedTopRow(at).data.run === run) return api.setFocusedCell(at, "run", "top");
  }
  const node = api.getRowNode("r:" + run);
  if (node && node.displayed) api.setFocusedCell(node.rowIndex, "run");
}

function itemAt(element) {
  const row = element.closest && element.closest(".run-grid .ag-row");
  if (!row || !api) return null;
  const index = Number((row.getAttribute("row-index") || "").replace(/^t-/, ""));
  const node = row.closest(".ag-floating-top") ? api.getPinnedTopRow(index) : api.getDisplayedRowAtIndex(index);
  return node ? node.data : null;
}

document.addEventListener("keydown", (event) => {
  if (!event.target.matches || !event.target.matches(".run-grid .ag-cell")) return;
  if (event.key === "Escape" && pageRuns.view().selected.size) return pageRuns.select([]);
  const act = keys[event.key];
  const item = act && !event.altKey && !((event.ctrlKey || event.metaKey) && event.key !== "Enter") &&
    itemAt(event.target);
  if (!item) return;
  event.preventDefault();
  act(item, event, event.target);
});
document.addEventListener("contextmenu", (event) => {
  const item = itemAt(event.target);
  if (!item || isHead(item)) return;
  event.preventDefault();
  const cell = event.target.closest(".ag-cell") || event.target;
  const byKey = event.clientX === 0 && event.clientY === 0;
  runMenu.open(item, cell, byKey ? undefined : { left: event.clientX, top: event.clientY, bottom: event.clientY });
});
document.addEventListener("click", (event) => {
  const button = event.target.closest && event.target.closest("button");
  if (!button) return;
  if (button.id === "runs-all") pageRuns.switchAll(true, passing());
  if (button.id === "runs-none") pageRuns.switchAll(false, passing());
  if (button.id === "runs-selected") pageRuns.only([...pageRuns.view().selected]);
});

// --- columns ---------------------------------------------------------------------------------------------------

let pen = null;
/** How wide a text is. */
function width(text, size) {
  pen = pen || document.createElement("canvas").getContext("2d");
  pen.font = `${size || 12.5}px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text).width;
}

const cellRules = {
  "selected-cell": (params) => (isHead(params.data) ? false : pageRuns.isSelected(params.data.run)),
  "off-cell": (params) => state(params.data) === "false",
  "group-cell": (params) => isHead(params.data),
  "member-cell": (params) => !isHead(params.data) && params.data.group !== null,
};

function valueColumn(column, place) {
  const values = [...pageRuns.rows.values()].map((row) => row.values[place]);
  const present = values.filter((value) => value !== null);
  const numeric = present.length > 0 && present.every((value) => asNumber(value) !== null);
  const least = Math.max(40, ...present.slice(0, 200).map((value) => width(short(value)))) + 18;
  const wanted = Math.min(Math.max(width(column.label, 11) + 40, least), 150);
  return {
    context: { least: Math.min(least, 150), wanted },
    colId: column.spec,
    headerName: column.label,
    headerTooltip: column.label,
    width: wanted,
    minWidth: 44,
    valueGetter: (params) => params.data.values[place],
    valueFormatter: (params) => short(params.value),
    tooltipValueGetter: (params) => {
      if (isHead(params.data) && params.data.means[place]) return `${full(params.value)}, the mean of the group`;
      return full(params.value) === short(params.value) ? "" : full(params.value);
    },
    filter: numeric ? "agNumberColumnFilter" : "agTextColumnFilter",
    filterValueGetter: (params) => (numeric ? asNumber(params.data.values[place]) : full(params.data.values[place])),
    comparator: compare,
    type: numeric ? "rightAligned" : undefined,
    cellClass: numeric ? "value-cell number" : "value-cell",
    cellClassRules: cellRules,
  };
}

function columnDefs() {
  return [
    {
      colId: "on",
      headerName: "",
      width: SWATCH,
      minWidth: SWATCH,
      maxWidth: SWATCH,
      pinned: "left",
      resizable: false,
      sortable: false,
      valueGetter: (params) => state(params.data),
      cellRenderer: Swatch,
      cellClass: "swatch-cell",
      cellClassRules: cellRules,
      headerTooltip: "Shown in the charts",
    },
    {
      colId: "run",
      headerName: "Run",
      pinned: "left",
      width: 180,
      minWidth: 70,
      cellRenderer: Name,
      cellClass: "name-cell",
      cellClassRules: cellRules,
      valueGetter: (params) => params.data.label,
      comparator: compare,
      tooltipValueGetter: (
        params,
      ) => (params.data.run && params.data.run !== params.data.label
        ? `${params.data.label}: ${params.data.run}`
        : params.data.label),
    },
    ...pageRuns.around().columns.map(valueColumn),
    {
      colId: "started",
      headerName: "Started",
      width: STARTED,
      minWidth: 60,
      cellClass: "started-cell",
      cellClassRules: cellRules,
      type: "rightAligned",
      valueGetter: (params) => params.data.started,
      valueFormatter: (params) => when(params.value),
      tooltipValueGetter: (params) => whenLong(params.value),
    },
  ];
}

const AGES = [[86400 * 365, "y"], [86400, "d"], [3600, "h"], [60, "min"]];
/** How long ago: "3 h ago". */
function when(seconds) {
  if (!Number.isFinite(seconds)) return "";
  const age = Date.now() / 1000 - seconds;
  const [size, unit] = AGES.find(([size]) => age >= size) || [1, "s"];
  return age < 60 ? "now" : `${Math.floor(age / size)} ${unit} ago`;
}
const whenLong = (
  seconds,
) => (Number.isFinite(seconds) ? "First event " + new Date(seconds * 1000).toLocaleString() : "");

/** The name takes the room that the other columns leave, and at least a part where they leave none. */
function fitName() {
  if (!api || ownWidths.has("run")) return;
  const box = document.querySelector(".run-grid-box");
  const room = box.clientWidth - SWATCH - 2;
  if (room < 50) return;
  const others = api.getAllDisplayedColumns().filter((column) => !["on", "run"].includes(column.getColId()));
  const taken = others.reduce((sum, column) => sum + wantedWidth(column), 0);
  const labels = [...items.values()].map((item) => width(isHead(item) ? item.label + "   00" : item.label) + 40);
  const wanted = Math.max(LEAST_NAME, ...labels);
  const scrollbar = items.size * 28 > box.clientHeight - 28 ? 15 : 0;
  const left = room - taken - scrollbar;
  const share = pageRuns.around().groups.length ? NAME_SHARE.groups : NAME_SHARE.runs;
  const least = Math.min(wanted, Math.max(LEAST_NAME, room * share));
  const name = Math.floor(Math.max(left, least));
  api.setColumnWidths([{ key: "run", newWidth: name }]);
  fitFirst(others[0], room - scrollbar - name);
}

/** The width of a column before it was fitted, unless the user set another. */
function wantedWidth(column) {
  const { wanted } = column.getColDef().context || {};
  return wanted && !ownWidths.has(column.getColId()) ? wanted : column.getActualWidth();
}

/** A long head must not push the values of the first column out of sight. */
function fitFirst(column, room) {
  const { least, wanted } = (column && column.getColDef().context) || {};
  if (!wanted || ownWidths.has(column.getColId())) return;
  api.setColumnWidths([{
    key: column.getColId(),
    newWidth: Math.floor(least <= room ? Math.min(room, wanted) : wanted),
  }]);
}

// --- bringing the grid up to date ------------------------------------------------------------------------------

let shownColumns = "";
let shownGroups = "";

function showRows() {
  buildItems();
  // Numbers and texts are shown, filtered and aligned differently.
  const kinds = pageRuns.around().columns.map((_, place) =>
    [...pageRuns.rows.values()].some((row) => row.values[place] !== null && asNumber(row.values[place]) === null)
  );
  const columns = JSON.stringify([pageRuns.around().columns, kinds]);
  const groups = pageRuns.around().groups.map((group) => group.label).join("\n");
  if (columns !== shownColumns) api.setGridOption("columnDefs", columnDefs());
  api.setGridOption("rowData", [...items.values()]);
  showPinned();
  // The grid compares what cells show as text; colours are not among it.
  api.refreshCells({ force: true });
  if (columns !== shownColumns || groups !== shownGroups || !ownWidths.has("run")) fitName();
  shownColumns = columns;
  shownGroups = groups;
}

let shownPinned = "";
let pinnedItems: any[] = [];
function showPinned() {
  const pinned = [...pageRuns.view().pinned].map((run) => items.get("r:" + run)).filter(Boolean);
  if (pinned.length !== pinnedItems.length || pinned.some((item, place) => item !== pinnedItems[place])) {
    api.setGridOption("pinnedTopRowData", pinned);
  }
  pinnedItems = pinned;
  const key = [...pageRuns.view().pinned].join("\n") + [...pageRuns.view().folded].join("\n") +
    pageRuns.view().allFolded;
  if (key !== shownPinned) api.onFilterChanged();
  shownPinned = key;
}

function showView() {
  showPinned();
  api.refreshCells({ force: true });
}

let asked = false;
function update(what) {
  if (!api) {
    if (asked) return;
    asked = true;
    window.dash_ag_grid.getApiAsync(GRID).then(begin);
    return;
  }
  if (api.isDestroyed()) return;
  if (what === "rows") showRows();
  else showView();
}

function begin(found) {
  api = found;
  api.updateGridOptions({
    postSortRows: arrange,
    isExternalFilterPresent: () => true,
    doesExternalFilterPass: passes,
    alwaysPassFilter: (node) => isHead(node.data),
    popupParent: document.body,
    defaultColDef: { sortable: true, resizable: true, suppressHeaderMenuButton: true },
  });
  api.addEventListener("columnResized", (event) => {
    if (!event.finished || event.source !== "uiColumnResized" || !event.column) return;
    ownWidths.add(event.column.getColId());
  });
  api.addEventListener("filterChanged", () => runSettings.notes());
  api.addEventListener("gridSizeChanged", fitName);
  update("rows");
}

document.addEventListener("DOMContentLoaded", () => pageRuns.onChange(update));

functions.stepscopeWhen = when;
functions.stepscopeGridTheme = (theme) =>
  theme.withParams({
    backgroundColor: "transparent",
    foregroundColor: "var(--ink)",
    textColor: "var(--ink)",
    headerTextColor: "var(--ink-dim)",
    headerBackgroundColor: "transparent",
    borderColor: "var(--line)",
    rowBorder: false,
    wrapperBorder: false,
    wrapperBorderRadius: 0,
    rowHoverColor: "var(--hover)",
    selectedRowBackgroundColor: "var(--hover)",
    accentColor: "var(--accent)",
    menuBackgroundColor: "var(--surface)",
    fontSize: 12.5,
    headerFontSize: 11,
    headerFontWeight: 500,
    cellHorizontalPadding: 8,
    headerColumnResizeHandleColor: "transparent",
    pinnedColumnBorder: false,
    fontFamily: "inherit",
  });

export const runTable = {
  short,
  full,
  passing,
  /** The filters of the columns: whether there are any, and how many runs they let through. */
  filtered: () => (api && api.isColumnFilterPresent() ? passing().length : null),
  clearFilters: () => api && api.setFilterModel(null),
  /** Brings a run into sight. */
  reveal(run) {
    const node = api && api.getRowNode("r:" + run);
    if (node) api.ensureNodeVisible(node, "middle");
  },
};
