/** The rows of the table: runs, and groups above their members. */
import type { Listing, RunGroup, RunRow } from "./messages.generated.ts";

export interface RunItem extends RunRow {
  id: string;
  kind: "run";
  source: RunRow;
  /** Whether it is listed below the run that it belongs to. */
  below: boolean;
  /** Runs that belong to this one. */
  helpers: readonly string[];
}

export interface GroupItem extends RunGroup {
  id: string;
  kind: "group";
  /** Its index among the groups. */
  group: number;
  /** Its runs that are on the page. */
  members: string[];
}

export type Item = RunItem | GroupItem;

export const isHead = (item: Item): item is GroupItem => item.kind === "group";
export const idOf = (run: string): string => `r:${run}`;

/** All items by id. Unchanged runs keep their object, so that the grid redraws only what differs. */
export function itemsOf(
  rows: Iterable<RunRow>,
  { groups }: Pick<Listing, "groups">,
  known: ReadonlyMap<string, Item>,
): Map<string, Item> {
  const items = new Map<string, Item>();
  const members: RunRow[][] = groups.map(() => []);
  const byName = new Map([...rows].map((row) => [row.run, row]));
  const helpers = Map.groupBy(byName.values(), ({ parent }) => parent);
  for (const row of byName.values()) {
    const below = row.parent !== null && byName.has(row.parent);
    if (row.group !== null && !below) members[row.group].push(row);
    const id = idOf(row.run);
    const before = known.get(id);
    const own = (helpers.get(row.run) ?? []).map(({ run }) => run);
    const same = before?.kind === "run" && before.source === row && before.below === below &&
      before.helpers.join("\n") === own.join("\n");
    items.set(id, same ? before : { ...row, id, kind: "run", source: row, below, helpers: own });
  }
  groups.forEach((group, place) => {
    const id = `g:${group.label}`;
    items.set(id, { ...group, id, kind: "group", group: place, members: members[place].map(({ run }) => run) });
  });
  return items;
}

/**
 * Puts members below their group, and runs below the run they belong to, in any sort order; without sorting, the order
 * is that of the first events.
 */
export function arranged<N extends { data: Item }>(nodes: readonly N[], isSorted: boolean): N[] {
  const ordered = isSorted ? [...nodes] : nodes.toSorted((a, b) => a.data.order - b.data.order);
  const heads = ordered.filter(({ data }) => isHead(data));
  const runs = new Set(ordered.map(({ data }) => isHead(data) ? "" : data.run));
  const ownerOf = ({ data }: N) => !isHead(data) && data.parent !== null && runs.has(data.parent) ? data.parent : "";
  const helpers = Map.groupBy(ordered, ownerOf);
  const families = new Map<number | null, N[]>(heads.map((head) => [head.data.group, [head]]));
  const rest: N[] = [];
  for (const node of helpers.get("") ?? []) {
    if (isHead(node.data)) continue;
    (families.get(node.data.group) ?? rest).push(node, ...helpers.get(node.data.run) ?? []);
  }
  return [...[...families.values()].flat(), ...rest];
}
