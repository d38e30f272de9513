// @ts-nocheck
// Scales of the hparams panel: from values to places on an axis and back, their ticks, and colours.
import { columnOf, dark, data, pairs, setPairs, setting } from "./index.ts";
import { view } from "../../../web/page/view.ts";

/** `place` is 0 at the lower end and 1 at the upper, NaN for a value that the axis has not: none, NaN, infinity, and on a
 * log scale what is not positive. `value` is its inverse; of a category, its number. */
export interface Scale {
  kind: "linear" | "log" | "quantile" | "category";
  place: (value: any) => number;
  value: (place: number) => number;
  ticks: { at: number; label: string }[];
  labels: string[];
}

/** A number as short as it can be told from others: 5 digits. */
export function short(value) {
  if (typeof value !== "number") return value === null || value === undefined ? "" : String(value);
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "\u221e" : "-\u221e";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) {
    return value.toExponential(3).replace(/\.?0+e/, "e").replace("e+", "e");
  }
  return String(Number(value.toPrecision(5)));
}

function linear(low, high) {
  const span = high - low;
  const rough = span / 5;
  const power = 10 ** Math.floor(Math.log10(rough || 1));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough) || 1;
  const ticks = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-9 && ticks.length < 12 && span > 0; n++) {
    ticks.push({ at: (n * step - low) / span, label: short(Number((n * step).toPrecision(12))) });
  }
  return {
    place: (value) => (span > 0 ? (value - low) / span : 0.5),
    value: (place) => low + place * span,
    ticks: span > 0 ? ticks : [{ at: 0.5, label: short(low) }],
  };
}

function logarithmic(low, high) {
  const [a, b] = [Math.log10(low), Math.log10(high)];
  if (a === b) return linear(low, high);
  const first = Math.ceil(a - 1e-9);
  const last = Math.floor(b + 1e-9);
  const every = Math.max(1, Math.ceil((last - first + 1) / 6));
  let ticks = [];
  for (let n = first; n <= last; n += every) ticks.push({ at: (n - a) / (b - a), label: short(10 ** n) });
  if (ticks.length < 2) {
    ticks = [low, Math.sqrt(low * high), high].map((value) => ({
      at: (Math.log10(value) - a) / (b - a),
      label: short(Number(value.toPrecision(2))),
    }));
  }
  return {
    place: (value) => (value > 0 ? (Math.log10(value) - a) / (b - a) : NaN),
    value: (place) => 10 ** (a + place * (b - a)),
    ticks,
  };
}

/** Equal shares of the values take equal room; between two values it is linear. */
function quantiles(sorted) {
  const distinct = [...new Set(sorted)];
  const last = distinct.length - 1;
  if (last < 1) return linear(distinct[0], distinct[0]);
  // A value's place is the middle of its ranks, so that equal ones stand together.
  const counts = new Map();
  for (const value of sorted) counts.set(value, (counts.get(value) || 0) + 1);
  let below = 0;
  let places = distinct.map((value) => {
    const at = below + (counts.get(value) - 1) / 2;
    below += counts.get(value);
    return at;
  });
  const [begin, end] = [places[0], places[last]];
  places = places.map((at) => (at - begin) / (end - begin));
  function between(list, other, x) {
    let low = 0;
    let high = last;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (list[middle] <= x) low = middle;
      else high = middle;
    }
    return other[low] + ((x - list[low]) / (list[high] - list[low])) * (other[high] - other[low]);
  }
  const place = (value) => between(distinct, places, value);
  const value = (at) => between(places, distinct, Math.min(1, Math.max(0, at)));
  const marks = [...new Set([0, 0.25, 0.5, 0.75, 1].map((share) => sorted[Math.round(share * (sorted.length - 1))]))];
  return { place, value, ticks: marks.map((mark) => ({ at: place(mark), label: short(mark) })) };
}

function categories(labels) {
  const places = new Map(labels.map((label, at) => [label, (at + 0.5) / labels.length]));
  const every = Math.ceil(labels.length / 24);
  return {
    place: (value) => (value === null ? NaN : (places.get(value) ?? NaN)),
    value: (place) => place * labels.length - 0.5,
    ticks: labels.map((label, at) => ({ at: (at + 0.5) / labels.length, label: label === "" ? '""' : label })).filter((
      _tick,
      at,
    ) => at % every === 0),
  };
}

/** The scale that suits: log for what spans powers of ten and has its middle nearer to their middle. */
function suitable(column, finite) {
  const [low, middle, high] = [0, 0.5, 1].map((share) => finite[Math.round(share * (finite.length - 1))]);
  if (!(low > 0 && high / low >= (column.kind === "hparam" ? 100 : 1000))) return "linear";
  const off = (a, b, c) => Math.abs((b - a) / (c - a) - 0.5);
  return off(...[low, middle, high].map(Math.log)) < off(low, middle, high) ? "log" : "linear";
}

/** The scale of a column over the rows that are there: as the user chose it, else as suits it. */
export function scaleOf(column): Scale {
  const { rows } = data();
  const values = rows.map((row) => row.v[column.place]);
  if (column.type === "text") {
    const present = new Set(values.filter((value) => value !== null));
    const known = column.values.filter((value) => present.delete(value));
    const labels = [...known, ...present];
    return { kind: "category", labels, ...categories(labels) };
  }
  const finite = Float64Array.from(values.filter(Number.isFinite)).sort();
  if (!finite.length) return { kind: "linear", labels: [], place: () => NaN, value: () => NaN, ticks: [] };
  const chosen = pairs("scale").get(column.key);
  const kind = ["linear", "log", "quantile"].includes(chosen) ? chosen : suitable(column, finite);
  const positive = finite.filter((value) => value > 0);
  let made;
  if (kind === "log" && positive.length) made = logarithmic(positive[0], positive[positive.length - 1]);
  else if (kind === "quantile") made = quantiles([...finite]);
  else made = linear(finite[0], finite[finite.length - 1]);
  const { place } = made;
  return { kind, labels: [], ...made, place: (value) => (Number.isFinite(value) ? place(value) : NaN) };
}

const SCALES = ["linear", "log", "quantile"];
/** Takes the next of the three scales for a column. */
export function nextScale(column) {
  const kind = SCALES[(SCALES.indexOf(scaleOf(column).kind) + 1) % SCALES.length];
  view.update((_params, set) => setPairs(set, "scale", pairs("scale").set(column.key, kind)));
}

// --- colours -----------------------------------------------------------------------------------------------

// Viridis without the end that the background swallows.
const SHADES = {
  light: [[59, 33, 122], [47, 93, 159], [31, 142, 141], [65, 178, 98], [176, 194, 12]],
  dark: [[108, 92, 190], [64, 130, 200], [45, 175, 165], [115, 208, 86], [253, 231, 37]],
};
const MISSING = { light: "#a2a9b4", dark: "#666e7a" };

/** A colour between the two ends of the shades; `place` from 0 to 1. */
export function shade(place) {
  const stops = SHADES[dark() ? "dark" : "light"];
  const x = Math.min(1, Math.max(0, place)) * (stops.length - 1);
  const at = Math.min(stops.length - 2, Math.floor(x));
  const mix = stops[at].map((from, part) => Math.round(from + (x - at) * (stops[at + 1][part] - from)));
  return `rgb(${mix.join(" ")})`;
}

/** What colours tell, and the colour of each row: by a column, or the runs' own. */
export function coloring() {
  const { rows, target, palette } = data();
  const scheme = dark() ? "dark" : "light";
  const key = setting("color") || target;
  const column = key === "@run" ? undefined : columnOf(key) || columnOf(target);
  if (!column) return { key: "@run", column: null, scale: null, colors: rows.map((row) => row[scheme]) };
  const scale = scaleOf(column);
  const hue = (value) => palette[Math.max(0, scale.labels.indexOf(value)) % palette.length][dark() ? 1 : 0];
  const colors = rows.map((row) => {
    const place = scale.place(row.v[column.place]);
    if (Number.isNaN(place)) return MISSING[scheme];
    return scale.kind === "category" ? hue(row.v[column.place]) : shade(place);
  });
  return { key: column.key, column, scale, colors, hue, missing: MISSING[scheme] };
}
