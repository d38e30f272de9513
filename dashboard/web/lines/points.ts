// Points of a line: the nearest to a position, those in view, their pixels, and fewer of them if there are too many.
import { lowerBound } from "../core/steps.ts";
import type { Range, Scale } from "./scale.ts";

const ascending: WeakMap<ArrayLike<number>, boolean> = new WeakMap();

/** Whether the numbers never decrease and none is NaN; remembered per array. */
export function isSorted(values: ArrayLike<number>) {
  let known = ascending.get(values);
  if (known === undefined) {
    known = true;
    for (let i = 0; i < values.length && known; i += 1) {
      known = i === 0 ? values[0] === values[0] : values[i] >= values[i - 1];
    }
    ascending.set(values, known);
  }
  return known;
}

/**
 * Index of the number nearest to `value`, the first of equals; -1 if there is none.
 * Arrays that decrease or contain NaN are searched linearly.
 */
export function nearestIndex(values: ArrayLike<number>, value: number) {
  if (!values.length) return -1;
  if (isSorted(values)) {
    const at = lowerBound(values, value);
    if (at === 0 || at === values.length) return at && lowerBound(values, values[at - 1]);
    return values[at] - value < value - values[at - 1] ? at : lowerBound(values, values[at - 1]);
  }
  let [best, distance] = [-1, Infinity];
  for (let i = 0; i < values.length; i += 1) {
    const d = Math.abs(values[i] - value);
    if (d < distance) [best, distance] = [i, d];
  }
  return best;
}

/** Indices [from, to) of the points in the x range, and one more on either side. */
export function inView(x: ArrayLike<number>, lo: number, hi: number): Range {
  if (!isSorted(x)) return [0, x.length];
  let to = lowerBound(x, hi);
  while (to < x.length && x[to] === hi) to += 1;
  return [Math.max(0, lowerBound(x, lo) - 1), Math.min(x.length, to + 1)];
}

/** A buffer for points, reused for every line, since a redraw makes millions of them. */
let room = new Float64Array(4096);

/**
 * Pixels of the points in view, alternating x and y. Values that an axis cannot show are NaN. The next call reuses the
 * array.
 * @param ratio device pixels per pixel
 */
export function project(
  x: ArrayLike<number>,
  y: ArrayLike<number>,
  sx: Scale,
  sy: Scale,
  ratio: number = 1,
): { points: Float64Array; count: number; from: number } {
  const [from, end] = inView(x, sx.lo, sx.hi);
  const to = Math.min(end, y.length);
  const count = Math.max(0, to - from);
  if (room.length < 2 * count) room = new Float64Array(4 * count);
  const [logX, logY] = [sx.kind === "log", sy.kind === "log"];
  const [fx, fy, tx, ty] = [sx.factor * ratio, sy.factor * ratio, sx.t0, sy.t0];
  const [px, py] = [sx.p0 * ratio, sy.p0 * ratio];
  for (let i = from, j = 0; i < to; i += 1, j += 2) {
    const u = logX ? (x[i] > 0 ? Math.log10(x[i]) : NaN) : x[i];
    const v = logY ? (y[i] > 0 ? Math.log10(y[i]) : NaN) : y[i];
    const a = px + fx * (u - tx);
    const b = py + fy * (v - ty);
    // An infinity is a gap, like NaN; a finite number may still be too far away for a pixel.
    room[j] = Number.isFinite(u) && Number.isFinite(v) ? Math.min(Math.max(a, -1e9), 1e9) : NaN;
    room[j + 1] = Math.min(Math.max(b, -1e9), 1e9);
  }
  return { points: room, count, from };
}

/**
 * Fewer points that cover the same pixels: the first, least, largest and last of every column of `column` pixels, and
 * every gap (NaN). Columns consist of consecutive points, so x may decrease.
 * @param points alternating x and y
 * @param count number of points
 * @returns alternating x and y
 */
export function decimate(points: ArrayLike<number>, count: number, column = 1): Float64Array {
  const out = new Float64Array(2 * count);
  let [size, i] = [0, 0];
  const put = (k: number) => {
    out[size++] = points[2 * k];
    out[size++] = points[2 * k + 1];
  };
  while (i < count) {
    if (Number.isNaN(points[2 * i])) {
      put(i++);
      continue;
    }
    const cell = Math.floor(points[2 * i] / column);
    const first = i;
    let [least, largest, last] = [i, i, i];
    for (; i < count && Math.floor(points[2 * i] / column) === cell; i += 1) {
      if (points[2 * i + 1] < points[2 * least + 1]) least = i;
      if (points[2 * i + 1] > points[2 * largest + 1]) largest = i;
      last = i;
    }
    const kept = [first, Math.min(least, largest), Math.max(least, largest), last];
    kept.forEach((k, n) => (n === 0 || k !== kept[n - 1]) && put(k));
  }
  return out.slice(0, size);
}

/** Stretches [from, to) of points without gaps. */
export function stretches(points: ArrayLike<number>, count: number) {
  const found = [];
  for (let i = 0; i < count;) {
    while (i < count && Number.isNaN(points[2 * i])) i += 1;
    const from = i;
    while (i < count && !Number.isNaN(points[2 * i])) i += 1;
    if (i > from) found.push([from, i]);
  }
  return found;
}
