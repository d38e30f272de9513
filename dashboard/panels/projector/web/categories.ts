/** Categories of points: which ones are switched off, and how many points each has. */
import type { Entry } from "./colors.ts";

/** The categories that are off after a click on one; with `alone`, it alone stays on, or all come back. */
export function offAfter(off: readonly string[], labels: readonly string[], label: string, alone: boolean): string[] {
  const others = labels.filter((one) => one !== label);
  if (alone) return off.length === others.length && !off.includes(label) ? [] : others;
  return off.includes(label) ? off.filter((one) => one !== label) : [...off, label];
}

/** How many of some rows belong to each category, most frequent first. */
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
