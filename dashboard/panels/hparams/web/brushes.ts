/** Brushes on axes: the bounds within which the values of rows must lie; for a category, its numbers. */
import type { Row, ShownColumn } from "./payload.ts";
import { numberOn, type Scale } from "./scales.ts";

export type Bounds = [low: number, high: number];
export type Brushes = Map<string, Bounds>;

/** Reads brushes from "low:high", by column. */
export function brushesIn(pairs: ReadonlyMap<string, string>): Brushes {
  const found: Brushes = new Map();
  for (const [key, rest] of pairs) {
    const [low, high] = rest.split(":").map(Number);
    if (low <= high) found.set(key, [low, high]);
  }
  return found;
}

const digits = (value: number) => String(Number(value.toPrecision(6)));
export const written = (brushes: Brushes): Map<string, string> =>
  new Map([...brushes].map(([key, [low, high]]) => [key, `${digits(low)}:${digits(high)}`]));

function rounded(value: number, round: (value: number) => number): number {
  const size = 10 ** (Math.floor(Math.log10(Math.abs(value) || 1)) - 5);
  return round(value / size) * size;
}

/** Bounds that still hold after being written with few digits. */
export const widened = ([low, high]: Bounds): Bounds => [rounded(low, Math.floor), rounded(high, Math.ceil)];

/** Indices of the rows that lie inside every brush. */
export function inside(
  rows: readonly Pick<Row, "v">[],
  axes: readonly { column: Pick<ShownColumn, "key" | "place">; scale: Scale }[],
  brushes: Brushes,
): Set<number> {
  const tests = axes.flatMap(({ column, scale }) => {
    const bounds = brushes.get(column.key);
    if (!bounds) return [];
    return [(row: Pick<Row, "v">) => {
      const value = numberOn(scale, row.v[column.place]);
      return Number.isFinite(value) && value >= bounds[0] && value <= bounds[1];
    }];
  });
  return new Set(rows.flatMap((row, at) => (tests.every((passes) => passes(row)) ? [at] : [])));
}

/** A list with one entry moved to another place. */
export function moved<T>(list: readonly T[], from: number, to: number): T[] {
  const rest = list.toSpliced(from, 1);
  return rest.toSpliced(Math.min(Math.max(to, 0), list.length - 1), 0, list[from]);
}
