/** Column scales: mapping values to places on an axis and back, and their ticks. */
import { shortNumber } from "../../../web/core/numbers.ts";
import { upperBound } from "../../../web/core/steps.ts";
import type { Column } from "./messages.generated.ts";
import type { Cell } from "./payload.ts";

export interface Tick {
  at: number;
  label: string;
}

/**
 * `place` is 0 at the lower end and 1 at the upper, and NaN for a value that is not on the axis: none, NaN, infinity,
 * and, on a log scale, any non-positive number. `value` is its inverse; for a category, its number.
 */
export interface Scale {
  kind: "linear" | "log" | "quantile" | "category";
  place: (value: Cell) => number;
  value: (place: number) => number;
  ticks: Tick[];
  labels: string[];
}

/** A scale for numbers only. */
interface Line {
  place: (value: number) => number;
  value: (place: number) => number;
  ticks: Tick[];
}

/** A number as short as it can be while staying distinguishable: 5 digits. */
export function short(value: Cell | undefined): string {
  return typeof value === "number" ? shortNumber(value, 5) : value ?? "";
}

/** The finite numbers among the values, ascending. */
export const finiteOf = (values: readonly (Cell | undefined)[]): Float64Array =>
  Float64Array.from(values.filter((value): value is number => Number.isFinite(value))).sort();

/** Up to this many values, each is a tick: a tick at a batch size of 48 would be one that was never tried. */
const FEW_VALUES = 8;
/** Minimum distance between ticks, as a share of the axis. */
const TICK_APART = 0.05;

/** Ticks at the values of an axis if they are few and far enough apart; null otherwise. */
function ticksAtValues(finite: Float64Array, place: (value: number) => number): Tick[] | null {
  const distinct = [...new Set(finite)];
  if (distinct.length > FEW_VALUES) return null;
  const ticks = distinct.map((value) => ({ at: place(value), label: short(value) })).filter(({ at }) => at >= 0);
  return ticks.every(({ at }, i) => !i || at - ticks[i - 1].at >= TICK_APART) ? ticks : null;
}

function linear(low: number, high: number): Line {
  const span = high - low;
  if (!(span > 0)) return { place: () => 0.5, value: () => low, ticks: [{ at: 0.5, label: short(low) }] };
  const rough = span / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough) || 1;
  const ticks: Tick[] = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-9 && ticks.length < 12; n += 1) {
    ticks.push({ at: (n * step - low) / span, label: short(Number((n * step).toPrecision(12))) });
  }
  return { place: (value) => (value - low) / span, value: (place) => low + place * span, ticks };
}

function logarithmic(low: number, high: number): Line {
  const [a, b] = [Math.log10(low), Math.log10(high)];
  if (a === b) return linear(low, high);
  const place = (value: number) => (value > 0 ? (Math.log10(value) - a) / (b - a) : NaN);
  const first = Math.ceil(a - 1e-9);
  const last = Math.floor(b + 1e-9);
  const every = Math.max(1, Math.ceil((last - first + 1) / 6));
  const ticks: Tick[] = [];
  for (let n = first; n <= last; n += every) ticks.push({ at: (n - a) / (b - a), label: short(10 ** n) });
  const ends = [low, Math.sqrt(low * high), high];
  return {
    place,
    value: (at) => 10 ** (a + at * (b - a)),
    ticks: ticks.length < 2
      ? ends.map((value) => ({ at: place(value), label: short(Number(value.toPrecision(2))) }))
      : ticks,
  };
}

/** A scale on which equal shares of the values take up equal space; between two values it is linear. */
function quantiles(sorted: Float64Array): Line {
  const distinct = [...new Set(sorted)];
  const last = distinct.length - 1;
  if (last < 1) return linear(distinct[0], distinct[0]);
  // A value's place is the middle of its ranks, so that equal values share one place.
  const counts = new Map<number, number>();
  for (const value of sorted) counts.set(value, (counts.get(value) ?? 0) + 1);
  let below = 0;
  const ranks = distinct.map((value) => {
    const count = counts.get(value) ?? 0;
    below += count;
    return below - (count + 1) / 2;
  });
  const places = ranks.map((rank) => (rank - ranks[0]) / (ranks[last] - ranks[0]));
  const between = (list: number[], other: number[], x: number) => {
    const at = Math.min(Math.max(upperBound(list, x) - 1, 0), last - 1);
    return other[at] + ((x - list[at]) / (list[at + 1] - list[at])) * (other[at + 1] - other[at]);
  };
  const place = (value: number) => between(distinct, places, value);
  const marks = new Set([0, 0.25, 0.5, 0.75, 1].map((share) => sorted[Math.round(share * (sorted.length - 1))]));
  return {
    place,
    value: (at) => between(places, distinct, Math.min(1, Math.max(0, at))),
    ticks: [...marks].map((mark) => ({ at: place(mark), label: short(mark) })),
  };
}

function categories(labels: string[]): Scale {
  const places = new Map<Cell, number>(labels.map((label, at) => [label, (at + 0.5) / labels.length]));
  const every = Math.ceil(labels.length / 24);
  const ticks = labels.map((label, at) => ({ at: (at + 0.5) / labels.length, label: label === "" ? '""' : label }));
  return {
    kind: "category",
    labels,
    place: (value) => places.get(value) ?? NaN,
    value: (place) => place * labels.length - 0.5,
    ticks: ticks.filter((_tick, at) => at % every === 0),
  };
}

/** A suitable scale: log for values that span powers of ten and whose median is nearer to the middle on a log scale. */
function suitable(kind: Column["kind"], finite: Float64Array): "log" | "linear" {
  const ends = [0, 0.5, 1].map((share) => finite[Math.round(share * (finite.length - 1))]);
  const [low, , high] = ends;
  if (!(low > 0 && high / low >= (kind === "hparam" ? 100 : 1000))) return "linear";
  const off = ([a, b, c]: number[]) => Math.abs((b - a) / (c - a) - 0.5);
  return off(ends.map(Math.log)) < off(ends) ? "log" : "linear";
}

const LINEAR = ["linear", "log", "quantile"] as const;
type LineKind = (typeof LINEAR)[number];
const isLine = (kind: string | undefined): kind is LineKind => LINEAR.some((one) => one === kind);

/** The next of the three scales for numbers. */
export const kindAfter = (kind: Scale["kind"]): LineKind =>
  LINEAR[(LINEAR.findIndex((one) => one === kind) + 1) % LINEAR.length];

/** The scale of a column for some values: the chosen one, or else a suitable one. */
export function scaleFor(
  column: Pick<Column, "kind" | "type" | "values">,
  values: readonly Cell[],
  chosen: string | undefined,
): Scale {
  if (column.type === "text") {
    const present = new Set(values.filter((value) => typeof value === "string"));
    return categories([...column.values.filter((value) => present.delete(value)), ...present]);
  }
  const finite = finiteOf(values);
  if (!finite.length) return { kind: "linear", labels: [], place: () => NaN, value: () => NaN, ticks: [] };
  const kind = isLine(chosen) ? chosen : suitable(column.kind, finite);
  const positive = finite.filter((value) => value > 0);
  const { place, ...line } = kind === "log" && positive.length
    ? logarithmic(positive[0], positive[positive.length - 1])
    : kind === "quantile"
    ? quantiles(finite)
    : linear(finite[0], finite[finite.length - 1]);
  const placeOf = (value: Cell) => (typeof value === "number" && Number.isFinite(value) ? place(value) : NaN);
  const ticks = (column.kind === "hparam" && ticksAtValues(finite, place)) || line.ticks;
  return { kind, labels: [], ...line, ticks, place: placeOf };
}

/** A value as a number on its scale; for a category, its index. NaN if there is none. */
export function numberOn({ kind, labels }: Scale, value: Cell): number {
  if (value === null) return NaN;
  return kind === "category" ? labels.indexOf(String(value)) : Number(value);
}
