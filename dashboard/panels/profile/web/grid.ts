/** The parts of AG Grid that the Profile panel uses; Dash creates the grids for its tables. */
import type { RowMarks } from "./messages.generated.ts";

/** A row: its columns, and fields beginning with "@", which are for the page. */
export interface RowData extends RowMarks {
  [field: string]: unknown;
  /** For a group, whether it is open. */
  "@open"?: boolean;
  /** For a row in a group, whether the group shows it. */
  "@shown"?: boolean;
  depth?: number;
}
export interface RowNode {
  data: RowData;
  rowIndex: number | null;
  rowPinned?: "top" | "bottom" | null;
  isSelected(): boolean | undefined;
}
export interface Column {
  getColId(): string;
  getColDef(): { field?: string; headerName?: string };
  isVisible(): boolean;
}
/** A column that a table is sorted by. */
export interface Order {
  colId: string;
  sort: "asc" | "desc";
}
export interface Grid {
  isDestroyed(): boolean;
  getColumns(): Column[] | null;
  getAllDisplayedColumns(): Column[];
  setColumnsVisible(ids: string[], visible: boolean): void;
  getRowNode(id: string): RowNode | undefined;
  forEachNode(act: (node: RowNode) => void): void;
  onFilterChanged(): void;
  refreshCells(how: { force: boolean; columns: Column[] }): void;
  setGridOption(name: "quickFilterText", value: string): void;
  setGridOption(name: "loading", value: boolean): void;
  getColumnState(): { colId: string; sort?: "asc" | "desc" | null; sortIndex?: number | null }[];
  applyColumnState(how: { state: (Order & { sortIndex: number })[] }): void;
  getFilterModel(): Record<string, unknown>;
  setFocusedCell(index: number, column: Column): void;
  ensureNodeVisible(node: RowNode, place: "middle"): void;
}
/** Parameters passed to cell renderers and cell functions. */
export interface CellParams {
  data: RowData;
  value: unknown;
  valueFormatted?: string | null;
  node: RowNode;
  api: Grid;
  column: Column;
}

export const gridId = (table: string): Record<string, string> => ({ type: "profile-grid", table });

/** The grid of a table, if it is on the page. */
export function gridOfTable(table: string): Grid | null {
  const grids: { getApi(id: { table: string; type: string }): Grid | undefined } | undefined = Reflect.get(
    window,
    "dash_ag_grid",
  );
  const found = grids?.getApi({ table, type: "profile-grid" });
  return found && !found.isDestroyed() ? found : null;
}

/** The columns that a table is sorted by, the most important first. */
export function orderOf(grid: Pick<Grid, "getColumnState">): Order[] {
  return grid.getColumnState()
    .flatMap(({ colId, sort, sortIndex }) => sort ? [{ colId, sort, index: sortIndex ?? 0 }] : [])
    .sort((one, other) => one.index - other.index)
    .map(({ colId, sort }) => ({ colId, sort }));
}
