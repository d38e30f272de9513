// @ts-nocheck
// The mesh panel: the steps of a mesh, and which is nearest to another.
import { elements } from "../../../web/core/dom.ts";

/** `nth` counts repeats of a step */
export interface Point {
  step: number;
  nth: number;
  index: number;
  wall: number;
}

/** The points in order of their steps. */
export function points(data): Point[] {
  const walls = elements.numbers(data.walls);
  const found = Array.from(
    elements.numbers(data.steps),
    (step, index) => ({ step, index, wall: walls[index], nth: 0 }),
  );
  found.sort((a, b) => a.step - b.step || a.index - b.index);
  for (let i = 1; i < found.length; i += 1) {
    if (found[i].step === found[i - 1].step) found[i].nth = found[i - 1].nth + 1;
  }
  return found;
}

/** Index of the point nearest to a step; of several at one step the one of the same repeat, or the last. */
export function nearest(sorted, step, nth) {
  const far = (point) => Math.abs(point.step - step);
  let best = 0;
  sorted.forEach((point, at) => {
    const closer = far(point) < far(sorted[best]);
    if (closer || (point.step === sorted[best].step && point.nth <= nth)) best = at;
  });
  return best;
}
