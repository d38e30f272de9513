/** Sets of points: how one changes another, and which points are drawn. */

/** Rows with others added or taken out; the others alone where neither is said. */
export function combined(
  rows: Uint32Array,
  others: Uint32Array,
  { add = false, remove = false }: { add?: boolean; remove?: boolean },
): Uint32Array {
  if (!add && !remove) return Uint32Array.from(others).sort();
  const all = new Set(rows);
  for (const row of others) {
    if (remove) all.delete(row);
    else all.add(row);
  }
  return Uint32Array.from(all).sort();
}

/** Where values meet a condition. */
export function rowsIn(values: ArrayLike<number>, holds: (value: number) => boolean): Uint32Array {
  const rows: number[] = [];
  for (let row = 0; row < values.length; row += 1) if (holds(values[row])) rows.push(row);
  return Uint32Array.from(rows);
}

/** Whether two masks leave the same points out. */
export function sameShown(one: Uint8Array | null, other: Uint8Array | null): boolean {
  if (!one || !other) return !(one ?? other)?.includes(0);
  return one.length === other.length && one.every((value, row) => Boolean(value) === Boolean(other[row]));
}

/** What decides which points are drawn. */
export interface Shown {
  isolated: Uint32Array | null;
  hidden: ReadonlySet<number>;
  found: Uint32Array | null;
  /** Of categories that are switched off. */
  isOff: ((row: number) => boolean) | null;
}

/** 0 of points that are left out, 1 of those that are drawn, 2 of those that a search fades; null where all are drawn. */
export function maskOf(count: number, { isolated, hidden, found, isOff }: Shown): Uint8Array | null {
  if (!isolated && !hidden.size && !found && !isOff) return null;
  const mask = new Uint8Array(count).fill(isolated ? 0 : 1);
  for (const row of isolated ?? []) mask[row] = 1;
  for (const row of hidden) mask[row] = 0;
  const lit = found && new Uint8Array(count);
  for (const row of found ?? []) if (lit) lit[row] = 1;
  for (let row = 0; row < count; row += 1) {
    if (isOff?.(row)) mask[row] = 0;
    else if (mask[row] && lit && !lit[row]) mask[row] = 2;
  }
  return mask;
}

/** How strongly neighbors are lit: 1 for the nearest, 0 for the furthest. */
export function strengthsOf({ distances, metric }: { distances: number[]; metric: string }): Float32Array {
  const [low, high] = [Math.min(...distances), Math.max(...distances)];
  return Float32Array.from(distances, (distance) => {
    const share = high > low ? (distance - low) / (high - low) : 0;
    // An inner product is the larger the nearer two points are.
    return metric === "inner" ? share : 1 - share;
  });
}
