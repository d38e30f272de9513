/** Sets of points: how one changes another, and which points are drawn. */

/** Rows with others added or removed; just the others if neither is requested. */
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

/** Returns the rows whose values meet a condition. */
export function rowsIn(values: ArrayLike<number>, holds: (value: number) => boolean): Uint32Array {
  const rows: number[] = [];
  for (let row = 0; row < values.length; row += 1) if (holds(values[row])) rows.push(row);
  return Uint32Array.from(rows);
}

/** Whether two masks leave out the same points. */
export function sameShown(one: Uint8Array | null, other: Uint8Array | null): boolean {
  if (!one || !other) return !(one ?? other)?.includes(0);
  return one.length === other.length && one.every((value, row) => Boolean(value) === Boolean(other[row]));
}

/** The conditions that determine which points are drawn. */
export interface Shown {
  isolated: Uint32Array | null;
  hidden: ReadonlySet<number>;
  found: Uint32Array | null;
  /** Whether a row's category is switched off. */
  isOff: ((row: number) => boolean) | null;
}

/** 0 for points left out, 1 for points drawn, 2 for points faded by a search; null if all are drawn. */
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

/** How strongly neighbors are lit: 1 for the nearest, 0 for the farthest. */
export function strengthsOf({ distances, metric }: { distances: number[]; metric: string }): Float32Array {
  const [low, high] = [Math.min(...distances), Math.max(...distances)];
  return Float32Array.from(distances, (distance) => {
    const share = high > low ? (distance - low) / (high - low) : 0;
    // The nearer two points are, the larger their inner product.
    return metric === "inner" ? share : 1 - share;
  });
}
