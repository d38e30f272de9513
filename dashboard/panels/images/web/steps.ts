// @ts-nocheck
// The images panel: the steps of series and of cards, and which is nearest to another.
import { elements } from "../../../web/core/dom.ts";

/** a picture of a series; `nth` counts repeats of a step */
export interface Point {
  step: number;
  nth: number;
  index: number;
}

const sorted = new WeakMap();

/** The pictures in order of their steps, from a typed array of steps. */
export function points(spec): Point[] {
  let found = sorted.get(spec);
  if (found) return found;
  found = Array.from(elements.numbers(spec), (step, index) => ({ step, index, nth: 0 }));
  found.sort((a, b) => a.step - b.step || a.index - b.index);
  for (let i = 1; i < found.length; i += 1) {
    if (found[i].step === found[i - 1].step) found[i].nth = found[i - 1].nth + 1;
  }
  sorted.set(spec, found);
  return found;
}

/** All steps of several lists of points. */
export function positions(lists: Point[][]) {
  const different = [...new Set(lists)];
  if (different.length === 1) return different[0];
  const all = new Map();
  for (const point of different.flat()) {
    const at = `${point.step}:${point.nth}`;
    if (!all.has(at)) all.set(at, point);
  }
  return [...all.values()].sort((a, b) => a.step - b.step || a.nth - b.nth);
}

/** Index of the point nearest to a step; of several at that step the one of the same repeat, or the last. */
export function nearest(points_, step, nth) {
  let low = 0;
  let high = points_.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points_[middle].step < step) low = middle + 1;
    else high = middle;
  }
  if (low > 0 && Math.abs(points_[low - 1].step - step) < Math.abs(points_[low].step - step)) low -= 1;
  const at = points_[low].step;
  while (low + 1 < points_.length && points_[low + 1].step === at && points_[low].nth < nth) low += 1;
  while (low > 0 && points_[low - 1].step === at && points_[low].nth > nth) low -= 1;
  return low;
}
