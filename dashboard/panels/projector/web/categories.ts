/** Categories that points are of: which are switched off, and how many points are of each. */
import type { Entry } from "./colors.ts";

/** The categories that are off after a click on one: with `alone` it is the only one that stays, or all come back. */
export function offAfter(off: readonly string[], labels: readonly string[], label: string, alone: boolean): string[] {
  const others = labels.filter((one) => one !== label);
  if (alone) return off.length === others.length && !off.includes(label) ? [] : others;
  return off.includes(label) ? off.filter((one) => one !== label) : [...off, label];
}

/** How many of some rows are of each category, those that most are of first. */
export function sharesOf<E extends Pick<Entry, "code">>(
  codes: ArrayLike<number>,
  entries: readonly E[],
  rows: Iterable<number>,
): { entry: E; count: number }[] {
  const counts = new Map<number, number>();
  for (const row of rows) counts.set(codes[row], (counts.get(codes[row]) ?? 0) + 1);
  return entries.map((entry) => ({ entry, count: counts.get(entry.code) ?? 0 })).filter(({ count }) => count)
    .sort((a, b) => b.count - a.count);
}
