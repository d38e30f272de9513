/** The table of runs: keeps its grid in line with the data from the server and the view. */
import { type ColumnState, type Grid, type GridColumn, type GridRow, gridWhenReady } from "../../web/core/ag_grid.ts";
import { gridFunctions } from "../../web/core/dash.ts";
import { within } from "../../web/core/dom.ts";
import { whenWanted } from "../../web/core/markup.ts";
import { signOfScrolling } from "../../web/core/scroll_sign.ts";
import { membersOf, withHelpers } from "./cells.ts";
import { columnDefs, type Fit, haveTexts, SWATCH } from "./columns.ts";
import { arranged, type GroupItem, idOf, isHead, type Item, itemsOf, type RunItem } from "./items.ts";
import { onPoint } from "./pointed.ts";
import { fitNames, widthOf } from "./row_names.ts";
import { type Change, type RunRow, runs } from "./state.ts";
import { ago } from "./values.ts";

type Column = GridColumn<Fit>;
const GRID = "runs-grid";
const LEAST_NAME = 104;
/** More rows are requested this many rows before the end. */
const NEAR_THE_END = 100;
/** The name's smallest share of the table; group heads also need room for a fold button and a count. */
const NAME_SHARE = { runs: 0.68, groups: 0.8 };

let api: Grid<Item, Fit> | null = null;
/** Rows of the grid, by id. */
let items = new Map<string, Item>();
/** Columns whose width the user has set. */
const ownWidths = new Set<string>();
const filterListeners: (() => void)[] = [];

// --- which rows, in which order --------------------------------------------------------------------------------

function arrange({ nodes }: { nodes: GridRow<Item>[] }): void {
  if (api) nodes.splice(0, nodes.length, ...arranged(nodes, api.getColumnState().some(({ sort }) => sort)));
}

function passes({ data }: GridRow<Item>): boolean {
  if (isHead(data)) return true;
  if (runs.isPinned(data.run) || !runs.isListed(data.run)) return false;
  if (data.below && data.parent !== null && (runs.isPinned(data.parent) || !runs.isOpened(data.parent))) return false;
  const group = data.group === null ? undefined : runs.around().groups[data.group];
  return !group || !runs.isFolded(group);
}

/** The runs as currently listed, without folded ones. */
export function listed(): RunRow[] {
  const found: RunRow[] = [...pinnedItems];
  api?.forEachNodeAfterFilterAndSort(({ data }) => void (isHead(data) || found.push(data)));
  return found;
}

/** The runs that pass the search and the column filters, including folded and pinned ones. */
export function passing(): RunRow[] {
  if (!api?.isColumnFilterPresent()) return [...runs.rows.values()];
  const heads = new Set<GroupItem>();
  api.forEachNodeAfterFilter(({ data }) => void (isHead(data) && runs.isFolded(data) && heads.add(data)));
  return withHelpers([...listed(), ...[...heads].flatMap(membersOf)]);
}

/** How many runs the column filters let through; null if there are no filters. */
export const filtered = (): number | null =>
  api?.isColumnFilterPresent() ? passing().filter(({ parent }) => parent === null).length : null;
export const clearFilters = (): void => api?.setFilterModel(null);
export const onFilter = (listener: () => void): void => void filterListeners.push(listener);

/** The row in which an event happened. */
export function itemAt(event: Event): Item | null {
  const row = within(event, ".run-grid .ag-row");
  if (!row || !api) return null;
  const index = Number((row.getAttribute("row-index") ?? "").replace(/^t-/, ""));
  const isPinned = row.closest(".ag-floating-top") !== null;
  return (isPinned ? api.getPinnedTopRow(index) : api.getDisplayedRowAtIndex(index))?.data ?? null;
}

/** A run to scroll into view once the table is visible. */
let awaited = "";

/** Scrolls a run into view, or waits for the table if it is not visible. */
export function reveal(run: string): void {
  const isSeen = api !== null && Boolean(document.querySelector(".run-grid-box")?.clientHeight);
  awaited = isSeen ? "" : run;
  const row = isSeen && api?.getRowNode(idOf(run));
  if (row) api?.ensureNodeVisible(row, "middle");
}

function revealAwaited(): void {
  if (awaited) reveal(awaited);
}

/** Focuses a run's name, wherever its row is now. */
export function focusRun(run: string): void {
  const pinned = pinnedItems.findIndex((item) => item.run === run);
  if (pinned >= 0) return api?.setFocusedCell(pinned, "run", "top");
  const row = api?.getRowNode(idOf(run));
  if (row?.displayed && row.rowIndex !== null) api?.setFocusedCell(row.rowIndex, "run");
}

// --- widths ----------------------------------------------------------------------------------------------------

/** Gives the name the room that the other columns leave, but at least a minimum share. */
function fitName(): void {
  const box = document.querySelector(".run-grid-box");
  if (!api || !box || ownWidths.has("run")) return;
  const room = box.clientWidth - SWATCH - 2;
  if (room < 50) return;
  const others = api.getAllDisplayedColumns().filter((column) => !["on", "run"].includes(column.getColId()));
  const taken = others.reduce((sum, column) => sum + wantedWidth(column), 0);
  const wanted = Math.max(LEAST_NAME, ...[...items.values()].map(widthOf));
  const scrollbar = items.size * 28 > box.clientHeight - 28 ? 15 : 0;
  const left = room - taken - scrollbar;
  const share = runs.around().groups.length ? NAME_SHARE.groups : NAME_SHARE.runs;
  const least = Math.min(wanted, Math.max(LEAST_NAME, room * share));
  const name = Math.floor(Math.max(left, least));
  api.setColumnWidths([{ key: "run", newWidth: name }]);
  fitFirst(others[0], room - scrollbar - name);
}

/** Cuts names to the width of their column. */
function fitTexts(): void {
  const column = api?.getAllDisplayedColumns().find((one) => one.getColId() === "run");
  if (column) fitNames(items, column.getActualWidth());
}

/** The width of a column before fitting, unless the user has set another. */
function wantedWidth(column: Column): number {
  const fit = column.getColDef().context;
  return fit && !ownWidths.has(column.getColId()) ? fit.wanted : column.getActualWidth();
}

/** Keeps a long head from pushing the values of the first column out of view. */
function fitFirst(column: Column | undefined, room: number): void {
  const fit = column?.getColDef().context;
  if (!column || !fit || ownWidths.has(column.getColId())) return;
  const newWidth = Math.floor(fit.least <= room ? Math.min(room, fit.wanted) : fit.wanted);
  api?.setColumnWidths([{ key: column.getColId(), newWidth }]);
}

// --- updating the grid -----------------------------------------------------------------------------------------

let shownColumns = "";
let shownGroups = "";
function showRows(grid: Grid<Item, Fit>): void {
  const { columns, groups } = runs.around();
  items = itemsOf(runs.rows.values(), runs.around(), items);
  const nowColumns = JSON.stringify([columns, haveTexts()]);
  const nowGroups = groups.map((group) => group.label).join("\n");
  if (nowColumns !== shownColumns) grid.setGridOption("columnDefs", columnDefs());
  grid.setGridOption("rowData", [...items.values()]);
  grid.setGridOption("loading", false);
  if (nowColumns !== shownColumns || nowGroups !== shownGroups || !ownWidths.has("run")) fitName();
  fitTexts();
  showView(grid);
  shownColumns = nowColumns;
  shownGroups = nowGroups;
}

const sortsOf = (grid: Grid<Item, Fit>): string[] =>
  grid.getColumnState().filter(({ sort }) => sort)
    .sort((one, other) => (one.sortIndex ?? 0) - (other.sortIndex ?? 0))
    .map(({ colId, sort }) => `${colId}:${sort}`);

/** Sorts the grid as in the view, unless it already is, as after the user has just sorted it. */
function showSort(grid: Grid<Item, Fit>): void {
  const { sort: wanted } = runs.view();
  if (!grid.getColumns()?.length || JSON.stringify(sortsOf(grid)) === JSON.stringify(wanted)) return;
  const state = wanted.map((entry, sortIndex): ColumnState => {
    const colon = entry.lastIndexOf(":");
    return { colId: entry.slice(0, colon), sort: entry.endsWith(":desc") ? "desc" : "asc", sortIndex };
  });
  grid.applyColumnState({ state, defaultState: { sort: null } });
}

let shownPinned = "";
let pinnedItems: RunItem[] = [];
function showView(grid: Grid<Item, Fit>): void {
  const { pinned, folded, allFolded, opened } = runs.view();
  const found = (names: Iterable<string>) =>
    [...names].map((run) => items.get(idOf(run))).filter((item): item is RunItem => item?.kind === "run");
  const withOpened = (item: RunItem) => [item, ...(opened.has(item.run) ? found(item.helpers) : [])];
  const top = [...new Set(found(pinned).flatMap(withOpened))];
  if (top.length !== pinnedItems.length || top.some((item, place) => item !== pinnedItems[place])) {
    grid.setGridOption("pinnedTopRowData", top);
  }
  pinnedItems = top;
  showSort(grid);
  const key = JSON.stringify([[...pinned], [...folded], allFolded, [...opened]]);
  if (key !== shownPinned) grid.onFilterChanged();
  shownPinned = key;
  // The grid compares the text of cells, which does not include colors.
  grid.refreshCells({ force: true });
}

function update(what: Change): void {
  if (!api || api.isDestroyed()) return;
  if (what === "rows") showRows(api);
  else showView(api);
}

function begin(found: Grid<Item, Fit>): void {
  api = found;
  api.updateGridOptions({
    postSortRows: arrange,
    isExternalFilterPresent: () => true,
    doesExternalFilterPass: passes,
    alwaysPassFilter: ({ data }: GridRow<Item>) => isHead(data),
    popupParent: document.body,
    defaultColDef: {
      sortable: true,
      resizable: true,
      suppressHeaderMenuButton: true,
      // The grid prevents the page from scrolling, which would make the key look as if it had been handled.
      suppressKeyboardEvent: ({ event }: { event: KeyboardEvent }) => event.key === " ",
    },
  });
  api.addEventListener("columnResized", ({ finished, source, column }) => {
    if (finished && source === "uiColumnResized" && column) ownWidths.add(column.getColId());
    if (!finished) return;
    fitTexts();
    found.refreshCells({ force: true });
  });
  api.addEventListener("sortChanged", ({ source }) => {
    if (source !== "api" && source !== "gridOptionsChanged") runs.sort(sortsOf(found));
  });
  api.addEventListener("viewportChanged", ({ lastRow }) => {
    if (lastRow !== undefined && lastRow >= found.getDisplayedRowCount() - NEAR_THE_END) runs.askForMore();
  });
  api.addEventListener("filterChanged", () => filterListeners.forEach((listener) => listener()));
  api.addEventListener("gridSizeChanged", () => {
    fitName();
    revealAwaited();
  });
  const box = document.querySelector<HTMLElement>(".run-grid-box");
  const scroller = box?.querySelector<HTMLElement>(".ag-center-cols-viewport");
  if (box && scroller) signOfScrolling(box, scroller);
  update("rows");
  revealAwaited();
}

/** Redraws the rows of runs and those of the groups that they are folded into. */
function refresh(changed: readonly string[]): void {
  if (!api || api.isDestroyed()) return;
  const ids = changed.flatMap((run) => {
    const group = runs.around().groups[runs.rows.get(run)?.group ?? -1];
    return [idOf(run), ...(group ? [`g:${group.label}`] : [])];
  });
  const rowNodes = [...new Set(ids)].map((id) => api?.getRowNode(id)).filter((row) => row !== undefined);
  const pinned = pinnedItems.map((_item, index) => api?.getPinnedTopRow(index)).filter((row) => row !== undefined);
  api.refreshCells({ force: true, rowNodes: [...rowNodes, ...pinned] });
}

whenWanted(GRID, () => void gridWhenReady<Item, Fit>(GRID).then(begin));
runs.onChange(update);
onPoint(refresh);

gridFunctions.stepscopeWhen = ago;
gridFunctions.stepscopeGridTheme = (theme: { withParams(params: Record<string, unknown>): unknown }) =>
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
    // By default, the background's, which is transparent.
    checkboxCheckedShapeColor: "var(--surface)",
    checkboxIndeterminateShapeColor: "var(--surface)",
    menuBackgroundColor: "var(--surface)",
    fontSize: 12.5,
    headerFontSize: 11,
    headerFontWeight: 500,
    cellHorizontalPadding: 8,
    headerColumnResizeHandleColor: "transparent",
    pinnedColumnBorder: false,
    fontFamily: "inherit",
  });

export const runTable = { reveal };
