/** What the page uses of AG Grid, whose tables Dash makes (dash_ag_grid). */
import type { Child } from "./dom.ts";

/** A row of a grid. */
export interface GridRow<D> {
  id: string;
  data: D;
  rowIndex: number | null;
  /** Whether the order, the filters and open groups leave it in the grid. */
  displayed: boolean;
  isSelected(): boolean | undefined;
}

/** What functions of columns get. */
export interface CellParams<D, V = unknown> {
  data: D;
  value: V;
}

/** Draws cells; the grid keeps it while `refresh` returns true. */
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
  /** It turns the answer around, what it does not do with what is always last. */
  isDescending?: boolean,
) => number;

/** A column, as the grid is told of it. */
export interface ColumnDef<D, V = unknown, C = unknown> {
  colId: string;
  headerName: string;
  headerTooltip?: string;
  width?: number;
  minWidth?: number;
  maxWidth?: number;
  pinned?: "left" | "right";
  resizable?: boolean;
  sortable?: boolean;
  /** Whatever the page wants to know of it. */
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
}

/** A grid with rows of D, whose columns have the context C. */
export interface Grid<D, C = unknown> {
  isDestroyed(): boolean;
  addEventListener(name: string, listener: (event: GridEvent) => void): void;
  setGridOption(name: string, value: unknown): void;
  updateGridOptions(options: Record<string, unknown>): void;
  refreshCells(how: { force: boolean }): void;
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
  getPinnedTopRow(index: number): GridRow<D> | undefined;
  getPinnedTopRowCount(): number;
  getSelectedRows(): D[];
  setNodesSelected(how: { nodes: GridRow<D>[]; newValue: boolean; source: string }): void;
  ensureNodeVisible(row: GridRow<D>, place: "middle"): void;
  setFocusedCell(index: number, column: string, pinned?: "top"): void;
  onFilterChanged(): void;
  isColumnFilterPresent(): boolean;
  setFilterModel(model: null): void;
}

interface Grids {
  getApi<D, C>(id: string): Grid<D, C> | undefined;
  getApiAsync<D, C>(id: string): Promise<Grid<D, C>>;
}

const grids = (): Grids | undefined => Reflect.get(window, "dash_ag_grid");

/** The grid of an id, where it is on the page. */
export function gridOf<D, C = unknown>(id: string): Grid<D, C> | null {
  const found = document.getElementById(id) && grids()?.getApi<D, C>(id);
  return found && !found.isDestroyed() ? found : null;
}

/** The grid of an id, as soon as it is there. */
export function gridWhenReady<D, C = unknown>(id: string): Promise<Grid<D, C>> {
  const found = grids();
  return found ? found.getApiAsync<D, C>(id) : Promise.reject(new Error("The page has no tables."));
}

/** An element that React makes, for components of grids. */
export const reactElement = (tag: string, props: Record<string, unknown>, ...children: (Child | ReactElement)[]) =>
  Reflect.get(window, "React").createElement(tag, props, ...children) as ReactElement;
export interface ReactElement {
  readonly type: unknown;
}
