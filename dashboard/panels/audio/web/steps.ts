// @ts-nocheck
// The audio panel: the steps of runs and of cards, which is nearest to another, and which clip that is.
import { elements } from "../../../web/core/dom.ts";

/** a run's clips; `nth` counts repeats of a step */
export interface Point {
  step: number;
  nth: number;
  index: number;
  wall: number;
}
export interface Clip {
  run: string;
  tag: string;
  index: number;
  step: number;
  wall: number;
  sample: number;
}

/** A run's points in order of their steps. */
export function points(run): Point[] {
  const steps = elements.numbers(run.steps);
  const walls = elements.numbers(run.walls);
  const found = Array.from(steps, (step, index) => ({ step, index, wall: walls[index], nth: 0 }));
  found.sort((a, b) => a.step - b.step || a.index - b.index);
  for (let i = 1; i < found.length; i += 1) {
    if (found[i].step === found[i - 1].step) found[i].nth = found[i - 1].nth + 1;
  }
  return found;
}

/** All steps of all runs of a card. */
export function positions(runs) {
  const all = new Map();
  for (const run of runs) {
    for (const point of run.points) {
      const at = `${point.step}:${point.nth}`;
      if (!all.has(at)) all.set(at, point);
    }
  }
  return [...all.values()].sort((a, b) => a.step - b.step || a.nth - b.nth);
}

/** Index of the point nearest to a step; of several at that step the one of the same repeat, or the last. */
export function nearest(sorted, step, nth) {
  let low = 0;
  let high = sorted.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle].step < step) low = middle + 1;
    else high = middle;
  }
  if (low > 0 && Math.abs(sorted[low - 1].step - step) < Math.abs(sorted[low].step - step)) low -= 1;
  const at = sorted[low].step;
  while (low + 1 < sorted.length && sorted[low + 1].step === at && sorted[low].nth < nth) low += 1;
  while (low > 0 && sorted[low - 1].step === at && sorted[low].nth > nth) low -= 1;
  return low;
}

/** The query that names a clip. With its moment the answer may be kept for good. */
export function query(clip, more) {
  const parameters = new URLSearchParams([["run", clip.run], ["tag", clip.tag], ["index", String(clip.index)], [
    "sample",
    String(clip.sample),
  ]]);
  // A time that is not finite cannot be part of a URL.
  if (Number.isFinite(clip.wall)) {
    parameters.set("step", String(clip.step));
    parameters.set("wall_time", String(clip.wall));
  }
  for (const [name, value] of Object.entries(more || {})) parameters.set(name, String(value));
  return parameters;
}

export const clipUrl = (clip, more) => "/api/audio/clip?" + query(clip, more);
