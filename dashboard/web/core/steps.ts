/** Positions in sorted numbers, and the points of a run or a card in step order. */

/** Index of the first of sorted numbers that is not below a value; their count if all are below. */
export function lowerBound(sorted: ArrayLike<number>, value: number): number {
  return firstWhere(sorted.length, (at) => sorted[at] >= value);
}

/** Index of the first of sorted numbers that is above a value; their count if none is. */
export function upperBound(sorted: ArrayLike<number>, value: number): number {
  return firstWhere(sorted.length, (at) => sorted[at] > value);
}

/** The first index at which a condition holds, given that it holds for all later ones; `count` if it never does. */
export function firstWhere(count: number, holds: (at: number) => boolean): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** One event of a tag: `nth` counts repeats of its step; `index` is its position in order of arrival. */
export interface Point {
  step: number;
  nth: number;
  index: number;
  /** Seconds since 1970; NaN if unknown. */
  wall: number;
}

/** Points in step order, from steps (and times) in order of arrival. */
export function pointsOf(steps: ArrayLike<number>, walls?: ArrayLike<number>): Point[] {
  const found = Array.from(steps, (step, index) => ({ step, index, nth: 0, wall: walls ? walls[index] : NaN }));
  found.sort((a, b) => a.step - b.step || a.index - b.index);
  for (let i = 1; i < found.length; i += 1) {
    if (found[i].step === found[i - 1].step) found[i].nth = found[i - 1].nth + 1;
  }
  return found;
}

/** One point for each step and repeat in several lists of points. */
export function joined(lists: readonly Point[][]): Point[] {
  const different = [...new Set(lists)];
  if (different.length === 1) return different[0];
  const all = new Map<string, Point>();
  for (const point of different.flat()) {
    const at = `${point.step}:${point.nth}`;
    if (!all.has(at)) all.set(at, point);
  }
  return [...all.values()].sort((a, b) => a.step - b.step || a.nth - b.nth);
}

/**
 * Index of the point nearest to a step, or the later of two equally near; of several at that step, the one with the
 * same repeat, or the last before it.
 */
export function nearest(points: readonly Point[], step: number, nth: number): number {
  let at = Math.min(firstWhere(points.length, (index) => points[index].step >= step), points.length - 1);
  if (at > 0 && Math.abs(points[at - 1].step - step) < Math.abs(points[at].step - step)) at -= 1;
  const found = points[at]?.step;
  while (at + 1 < points.length && points[at + 1].step === found && points[at].nth < nth) at += 1;
  while (at > 0 && points[at - 1].step === found && points[at].nth > nth) at -= 1;
  return Math.max(at, 0);
}
