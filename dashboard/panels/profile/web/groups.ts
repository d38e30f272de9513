/**
 * Rows within rows, which the grid knows nothing about. A group's row has "@group" and its number of rows as "@size";
 * the rows in it have the same group number as "@in", and "@shown" while it is open. Rows that are not shown are
 * filtered out, and sorting keeps the rows of a group after the group.
 */
import type { CellParams, Column, Grid, RowData, RowNode } from "./grid.ts";

export const isGroup = (data: RowData): boolean => data["@group"] !== undefined;
const isInside = (data: RowData): boolean => data["@in"] !== undefined;

/** The row of the group that a row is in. */
export const groupOf = (api: Pick<Grid, "getRowNode">, data: RowData): RowNode | undefined =>
  isInside(data) ? api.getRowNode(`group ${data["@in"]}`) : undefined;

export const isShown = ({ data }: Pick<RowNode, "data">): boolean => !isInside(data) || data["@shown"] === true;

/** Puts the rows of each group after the group, in the order that sorting gave them. */
export function order<N extends Pick<RowNode, "data">>(nodes: N[]): void {
  const inside = new Map<number | undefined, N[]>();
  const groups = new Set(nodes.map(({ data }) => data["@group"]));
  const outside = nodes.filter((node) => {
    const group = node.data["@in"];
    // A filter may have removed the group.
    if (group === undefined || !groups.has(group)) return true;
    const members = inside.get(group);
    if (members) members.push(node);
    else inside.set(group, [node]);
    return false;
  });
  const sorted = outside.flatMap((node) =>
    isGroup(node.data) ? [node, ...inside.get(node.data["@group"]) ?? []] : [node]
  );
  sorted.forEach((node, place) => (nodes[place] = node));
}

const kept: WeakMap<Grid, Map<number, unknown[]>> = new WeakMap();

/** The names in each group. */
function texts(api: Grid, field: string): Map<number, unknown[]> {
  const known = kept.get(api);
  if (known) return known;
  const found = new Map<number, unknown[]>();
  api.forEachNode(({ data }) => {
    const group = data["@in"];
    if (group === undefined) return;
    const names = found.get(group) ?? [];
    names.push(data[field]);
    found.set(group, names);
  });
  kept.set(api, found);
  return found;
}

/** The text that is searched: a group is found by its rows, and its rows by the group. */
export function searchText({ data, value, api, column }: CellParams): unknown {
  const field = column.getColDef().field ?? "";
  const own = data["@group"];
  if (own !== undefined) return [value, ...(texts(api, field).get(own) ?? [])].join(" ");
  const group = groupOf(api, data);
  return group ? `${value} ${group.data[field]}` : value;
}

const searched: WeakSet<Grid> = new WeakSet();

/** Shows the rows in open groups and, during a search, everything found. */
function refresh(api: Grid): void {
  const open = new Set<number | undefined>();
  api.forEachNode(({ data }) => data["@open"] && open.add(data["@group"]));
  const all = searched.has(api);
  api.forEachNode(({ data }) => {
    if (isInside(data)) data["@shown"] = all || open.has(data["@in"]);
  });
  api.onFilterChanged();
  api.refreshCells({ force: true, columns: [api.getAllDisplayedColumns()[0]] });
}

export function setOpen(api: Grid, node: RowNode, open: boolean): void {
  if ((node.data["@open"] ?? false) === open) return;
  node.data["@open"] = open;
  refresh(api);
}

/** Opens or closes all groups. */
export function setAllOpen(api: Grid, open: boolean): void {
  api.forEachNode(({ data }) => {
    if (isGroup(data)) data["@open"] = open;
  });
  refresh(api);
}

/** Searches a table; groups open to show the matches in them. */
export function search(api: Grid, text: string): void {
  if (text) searched.add(api);
  else searched.delete(api);
  api.setGridOption("quickFilterText", text);
  refresh(api);
}

// --- keys --------------------------------------------------------------------------------------------------

/** A key press in a cell, as reported by the grid. */
export interface CellKey {
  event?: KeyboardEvent | null;
  node: RowNode;
  api: Grid;
  column: Column;
}
type Key = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">;

const TREE_KEYS = new Set(["Enter", "ArrowLeft", "ArrowRight"]);

const isPlain = (event: Key) =>
  TREE_KEYS.has(event.key) && !(event.ctrlKey || event.metaKey || event.altKey || event.shiftKey);

/** Whether a key in the first column opens, closes or leaves a group, and therefore does nothing else. */
export const isTreeKey = ({ event, node }: { event: Key; node: Pick<RowNode, "data" | "rowPinned"> }): boolean =>
  isPlain(event) && !node.rowPinned &&
  (isGroup(node.data)
    ? event.key !== "ArrowRight" || !node.data["@open"]
    : event.key === "ArrowLeft" && isInside(node.data));

/** Enter follows a row to the Timeline, and opens and closes groups; the arrows open, close and leave them. */
export function takeKey({ event, node, api, column }: CellKey): void {
  if (!event || !isPlain(event) || node.rowPinned || column !== api.getAllDisplayedColumns()[0]) return;
  const { key, target } = event;
  if (isGroup(node.data)) setOpen(api, node, key === "Enter" ? !node.data["@open"] : key === "ArrowRight");
  else if (key === "ArrowLeft") {
    const group = groupOf(api, node.data);
    if (group && group.rowIndex !== null) api.setFocusedCell(group.rowIndex, column);
  } else if (key === "Enter" && target instanceof Element) {
    target.querySelector<HTMLElement>("a.profile-at[href]")?.click();
  }
}
