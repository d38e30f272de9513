/** The metadata of histogram charts, and the facts at a place in them, in numbers and words. */
import { type Numbers, numbers, stepText, when } from "../../../web/core/dom.ts";
import { shortNumber } from "../../../web/core/numbers.ts";
import type { BandMeta, ColumnMeta, HeatMeta, LineMeta, RunMeta, RunsMeta } from "./messages.generated.ts";

/** The `meta` of a chart's layout. */
export type ChartMeta = RunsMeta | RunMeta;

export type Rows = [name: string, value: string][];
/** A histogram under the pointer: its index in its series, its run if the chart has several, and the rows of text. */
export interface Facts {
  index: number;
  run?: string;
  rows: Rows;
}

/** Five significant digits, without noise. */
export function show(value: unknown): string {
  if (typeof value !== "number") return value === null ? "–" : String(value);
  return shortNumber(value, 5);
}

/** Height of a ridge at x along the drawn line; null where there is no line. */
export function heightAt(xs: ArrayLike<number>, ys: ArrayLike<number>, x: number): number | null {
  if (!xs.length || x < xs[0] || x > xs[xs.length - 1]) return null;
  let i = 0;
  while (i + 1 < xs.length && xs[i + 1] < x) i += 1;
  const j = Math.min(i + 1, xs.length - 1);
  const share = xs[j] > xs[i] ? (x - xs[i]) / (xs[j] - xs[i]) : 0;
  return ys[i] + (ys[j] - ys[i]) * share;
}

interface Bucket {
  left: number;
  right: number;
  count: number;
}

const bucketRows = (step: number, { left, right, count }: Bucket, total: number, wall: number): Rows => {
  const share = total > 0 ? ` (${Number(((100 * count) / total).toPrecision(3))}%)` : "";
  return [
    ["Step", stepText(step)],
    ["From", show(left)],
    ["To", show(right)],
    ["Count", show(count) + share],
    ["Total count", show(total)],
    ["Time", when(wall)],
  ];
};

/** The bucket of x in a line whose stair i lies between points 2i + 1 and 2i + 2; null if there is none. */
export function lineFacts(xs: ArrayLike<number>, meta: LineMeta, x: number): Facts | null {
  const counts = numbers(meta.counts);
  let i = 0;
  while (i + 1 < counts.length && xs[2 * i + 2] <= x) i += 1;
  if (2 * i + 2 >= xs.length) return null;
  const bucket = { left: xs[2 * i + 1], right: xs[2 * i + 2], count: counts[i] };
  return { index: meta.index, run: meta.run, rows: bucketRows(meta.step, bucket, meta.total, meta.wall) };
}

/** The column nearest to the pointer. */
function nearestColumn(places: Numbers, toPx: (place: number) => number, px: number): number {
  let best = 0;
  for (let i = 1; i < places.length; i += 1) {
    if (Math.abs(toPx(places[i]) - px) < Math.abs(toPx(places[best]) - px)) best = i;
  }
  return best;
}

/** The cell of a heat map at the pixel of a column and the value of a row; null above and below the rows. */
export function heatFacts(meta: HeatMeta, toPx: (place: number) => number, px: number, y: number): Facts | null {
  const column = nearestColumn(numbers(meta.places), toPx, px);
  const at = (name: keyof ColumnMeta) => numbers(meta[name])[column];
  const edges = numbers(meta.edges);
  const bins = edges.length - 1;
  const row = Math.floor(((y - edges[0]) / (edges[bins] - edges[0])) * bins);
  if (!(row >= 0 && row < bins)) return null;
  const bucket = { left: edges[row], right: edges[row + 1], count: numbers(meta.counts)[column * bins + row] };
  return { index: at("indices"), rows: bucketRows(at("steps"), bucket, at("totals"), at("walls")) };
}

const percentile = (point: number) =>
  point === 0 ? "Min" : point === 5000 ? "Median" : point === 10000 ? "Max" : `${(point / 100).toFixed(2)}%`;

/** The percentiles of the column nearest to a pixel. */
export function bandFacts(meta: BandMeta, toPx: (place: number) => number, px: number): Facts {
  const column = nearestColumn(numbers(meta.places), toPx, px);
  const at = (name: keyof ColumnMeta) => numbers(meta[name])[column];
  const { points } = meta;
  const values = numbers(meta.values);
  const rows: Rows = points.map((point, i) => [percentile(point), show(values[column * points.length + i])]);
  return {
    index: at("indices"),
    rows: [
      ["Step", stepText(at("steps"))],
      ...rows.reverse(),
      ["Total count", show(at("totals"))],
      ["Time", when(at("walls"))],
    ],
  };
}
