/** The part of AG Grid that the page uses; Dash creates the tables (dash_ag_grid). */
import { beforeAll } from "./commands.ts";
import { type Child, within } from "./dom.ts";

/** A row of a grid. */
export interface GridRow<D> {
  id: string;
  data: D;
  rowIndex: number | null;
  /** Whether the grid shows it, given its order, filters and open groups. */
  displayed: boolean;
  isSelected(): boolean | undefined;
}

/** The argument of column functions. */
export interface CellParams<D, V = unknown> {
  data: D;
  value: V;
}

/** Draws a cell; the grid keeps it as long as `refresh` returns true. */
export interface CellRenderer<D> {
  init(params: CellParams<D>): void;
  refresh(params: CellParams<D>): boolean;
  getGui(): HTMLElement;
}

export type Comparator<V> = (
  one: V,
  other: V,
  nodeA?: unknown,
  nodeB?: unknown,
  /** Whether the grid will negate the result, which a comparator has to offset for values that always come last. */
  isDescending?: boolean,
) => number;

/** The definition of a column. */
export interface ColumnDef<D, V = unknown, C = unknown> {
  colId: string;
  headerName: string;
  headerTooltip?: string;
  headerClass?: string;
  width?: number;
  minWidth?: number;
  maxWidth?: number;
  pinned?: "left" | "right";
  resizable?: boolean;
  sortable?: boolean;
  /** Anything the page needs to know about it. */
  context?: C;
  valueGetter?: (params: { data: D }) => V;
  valueFormatter?: (params: CellParams<D, V>) => string;
  tooltipValueGetter?: (params: CellParams<D, V>) => string;
  cellRenderer?: new () => CellRenderer<D>;
  cellClass?: string;
  cellClassRules?: Record<string, (params: CellParams<D>) => boolean>;
  comparator?: Comparator<V>;
  filter?: "agNumberColumnFilter" | "agTextColumnFilter";
  filterValueGetter?: (params: { data: D }) => V;
  type?: "rightAligned";
}

/** A column of a grid. */
export interface GridColumn<C = unknown> {
  getColId(): string;
  getActualWidth(): number;
  getColDef(): { context?: C };
}

export interface ColumnState {
  colId: string;
  sort?: "asc" | "desc" | null;
  sortIndex?: number | null;
  pinned?: boolean | "left" | "right" | null;
}

export interface GridEvent {
  source: string;
  finished?: boolean;
  column?: GridColumn | null;
  /** The browser's event that caused this one. */
  event?: Event | null;
  /** The last row that is drawn. */
  lastRow?: number;
}

/** Whether a row stays at the top or the bottom of its grid. */
export type Pinned = "top" | "bottom" | null;

/** A grid with rows of type D, whose columns have a context of type C. */
export interface Grid<D, C = unknown> {
  isDestroyed(): boolean;
  addEventListener(name: string, listener: (event: GridEvent) => void): void;
  setGridOption(name: string, value: unknown): void;
  updateGridOptions(options: Record<string, unknown>): void;
  refreshCells(how: { force: boolean; rowNodes?: GridRow<D>[]; columns?: string[] }): void;
  getColumns(): GridColumn<C>[] | null;
  getAllDisplayedColumns(): GridColumn<C>[];
  getColumnState(): ColumnState[];
  applyColumnState(how: { state: ColumnState[]; applyOrder?: boolean; defaultState?: { sort: null } }): void;
  setColumnWidths(widths: { key: string; newWidth: number }[]): void;
  forEachNode(act: (row: GridRow<D>) => void): void;
  forEachNodeAfterFilter(act: (row: GridRow<D>) => void): void;
  forEachNodeAfterFilterAndSort(act: (row: GridRow<D>) => void): void;
  getRowNode(id: string): GridRow<D> | undefined;
  getDisplayedRowAtIndex(index: number): GridRow<D> | undefined;
  getDisplayedRowCount(): number;
  getPinnedTopRow(index: number): GridRow<D> | undefined;
  getPinnedTopRowCount(): number;
  getSelectedRows(): D[];
  deselectAll(): void;
  setNodesSelected(how: { nodes: GridRow<D>[]; newValue: boolean; source: string }): void;
  ensureIndexVisible(index: number): void;
  ensureNodeVisible(row: GridRow<D>, place: "middle"): void;
  /** The cell that has the focus, or had it last. */
  getFocusedCell(): { rowIndex: number; rowPinned: Pinned; column: GridColumn<C> } | null;
  setFocusedCell(index: number, column: string, pinned?: Pinned): void;
  onFilterChanged(): void;
  isColumnFilterPresent(): boolean;
  setFilterModel(model: null): void;
}

interface Grids {
  getApi<D, C>(id: string): Grid<D, C> | undefined;
  getApiAsync<D, C>(id: string | Record<string, string>): Promise<Grid<D, C>>;
}

const grids = (): Grids | undefined => Reflect.get(window, "dash_ag_grid");

/** The grid with an id, if it is on the page. */
export function gridOf<D, C = unknown>(id: string): Grid<D, C> | null {
  const found = document.getElementById(id) && grids()?.getApi<D, C>(id);
  return found && !found.isDestroyed() ? found : null;
}

/** The grid with an id, as soon as it exists. */
export function gridWhenReady<D, C = unknown>(id: string | Record<string, string>): Promise<Grid<D, C>> {
  const found = grids();
  return found ? found.getApiAsync<D, C>(id) : Promise.reject(new Error("The page has no tables."));
}

/** Creates a React element, for grid components. */
export const reactElement = (tag: string, props: Record<string, unknown>, ...children: (Child | ReactElement)[]) =>
  Reflect.get(window, "React").createElement(tag, props, ...children) as ReactElement;
export interface ReactElement {
  readonly type: unknown;
}

// --- a single Tab stop ------------------------------------------------------------------------------------------

/** Focuses the cell that was focused last, or else the first one; returns false if there is none. */
function focusCell(grid: Grid<unknown>): boolean {
  const isThere = (row: number, pinned: Pinned) =>
    pinned === "top" ? grid.getPinnedTopRow(row) : pinned === "bottom" || grid.getDisplayedRowAtIndex(row);
  const last = grid.getFocusedCell();
  const isKept = last && isThere(last.rowIndex, last.rowPinned);
  const column = isKept ? last.column : grid.getAllDisplayedColumns()[0];
  const pinned = isKept ? last.rowPinned : grid.getPinnedTopRowCount() ? "top" : null;
  const row = isKept ? last.rowIndex : 0;
  if (!column || !isThere(row, pinned)) return false;
  if (!pinned) grid.ensureIndexVisible(row);
  grid.setFocusedCell(row, column.getColId(), pinned);
  return true;
}

const SCROLLING = ".ag-row, .ag-header-row, [class*=-viewport]";

/** Keeps Tab from stopping at each scrollable part of a table, until the focus has moved elsewhere. */
function passBy(table: Element): void {
  // A scrollable element is a Tab stop even without a tabindex.
  const parts = [...table.querySelectorAll<HTMLElement>(SCROLLING)].filter((part) =>
    part.getAttribute("tabindex") !== "-1"
  );
  const before = parts.map((part) => part.getAttribute("tabindex"));
  for (const part of parts) part.tabIndex = -1;
  const restore = (event: FocusEvent) => {
    if (event.target instanceof Node && table.contains(event.target)) return;
    document.removeEventListener("focusin", restore);
    parts.forEach((part, i) =>
      before[i] === null ? part.removeAttribute("tabindex") : part.setAttribute("tabindex", before[i])
    );
  };
  document.addEventListener("focusin", restore);
}

// Tab enters and leaves a grid; the arrow keys move within it, including to the column headers.
if (typeof document !== "undefined") {
  document.addEventListener("focus", (event) => {
    const table = within(event, ".ag-tab-guard")?.closest(".ag-root-wrapper");
    if (!table || (event.relatedTarget instanceof Node && table.contains(event.relatedTarget))) return;
    const grid = gridOf<unknown>(table.closest("[id]")?.id ?? "");
    if (grid && focusCell(grid)) event.stopPropagation();
  }, true);
  beforeAll((event) => {
    if (event.key !== "Tab" || !within(event, ".ag-cell, .ag-header-cell")) return false;
    // The grid would move through every cell, and the browser to every row and everything else that scrolls.
    event.stopPropagation();
    const table = within(event, ".ag-root-wrapper");
    if (table) passBy(table);
    return false;
  });
}
