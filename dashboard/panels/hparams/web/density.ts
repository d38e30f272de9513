/** The distribution of all sessions over pairs of axes, as numbers: bins, and what is drawn from their counts. */
import type { Column } from "../../../web/core/binary.ts";
import type { SentDensity } from "./messages.generated.ts";
import type { ShownColumn } from "./payload.ts";
import type { Scale } from "./scales.ts";

const FAINTEST = 0.05;
const STRONGEST = 0.75;
const EXPONENT = 0.35;

/** A column on an axis. */
export interface Side {
  column: Pick<ShownColumn, "key">;
  scale: Scale;
}

/** The most labels of a column that the server counts. */
const MOST_LABELS = 512;

/** Whether the server can count in bins of a scale. */
export const isCounted = ({ kind, labels, ticks }: Scale): boolean =>
  kind === "category" ? labels.length <= MOST_LABELS : ticks.length > 0;

/** A column divided into bins: the request to the server, and the middle of each bin on its axis, from 0 to 1. */
export interface Bins {
  asked: { key: string; labels: string[] } | { key: string; cuts: number[]; positive: boolean };
  middles: number[];
}

/** Divides a column into a number of bins; fewer if several would have the same values. */
export function binsOf({ column: { key }, scale }: Side, most: number): Bins {
  const { kind, labels, place, value } = scale;
  if (kind === "category") {
    return { asked: { key, labels }, middles: labels.map((_label, at) => (at + 0.5) / labels.length) };
  }
  const ends = [value(0), value(1)];
  const cuts: number[] = [];
  for (let at = 1; at < most && ends[0] < ends[1]; at += 1) {
    const cut = value(at / most);
    if (cut > (cuts.at(-1) ?? ends[0])) cuts.push(cut);
  }
  const edges = [0, ...cuts.map(place), 1];
  const middles = edges.slice(1).map((edge, at) => (edge + edges[at]) / 2);
  return { asked: { key, cuts, positive: kind === "log" }, middles };
}

/** The ends of columns that extend beyond the ends of their scales. */
export function outside(sides: readonly Side[], ends: SentDensity["ends"]): Map<string, number[]> {
  const found = new Map<string, number[]>();
  for (const { column: { key }, scale } of sides) {
    const own = ends[key];
    if (!own || scale.kind === "category") continue;
    const [low, high] = [scale.value(0), scale.value(1)];
    const least = 1e-9 * Math.max(Math.abs(low), Math.abs(high));
    if (own[0] < low - least || own[1] > high + least) found.set(key, own);
  }
  return found;
}

/** The greatest of some counts or strengths; 0 if there are none. */
export function greatest(numbers: ArrayLike<number>): number {
  let most = 0;
  for (let at = 0; at < numbers.length; at += 1) most = Math.max(most, numbers[at]);
  return most;
}

/** The opacity of a count relative to the greatest one: a few among thousands must also be visible. */
export const alphaOf = (count: number, most: number): number =>
  FAINTEST + (STRONGEST - FAINTEST) * (count / most) ** EXPONENT;

/**
 * How many sessions pass through each pixel between two axes. `ys` are the heights of the bins' middles; the last is
 * for sessions without a place.
 */
export function between(
  counts: Column,
  ys: readonly [ArrayLike<number>, ArrayLike<number>],
  width: number,
  height: number,
): Float32Array {
  const [left, right] = ys;
  const found = new Float32Array(width * height);
  for (let i = 0; i < left.length; i += 1) {
    for (let j = 0; j < right.length; j += 1) {
      const count = counts[i * right.length + j];
      if (!count) continue;
      const slope = (right[j] - left[i]) / width;
      // Two and a half pixels: the distance between bins.
      for (let x = 0; x < width; x += 1) {
        const y = left[i] + slope * (x + 0.5) - 1.25;
        const row = Math.floor(y);
        const share = y - row;
        if (row < 0 || row + 3 >= height) continue;
        found[row * width + x] += count * (1 - share);
        found[(row + 1) * width + x] += count;
        found[(row + 2) * width + x] += count * Math.min(1, share + 0.5);
        found[(row + 3) * width + x] += count * Math.max(0, share - 0.5);
      }
    }
  }
  return found;
}
