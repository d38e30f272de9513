// The positions and labels of an axis's ticks.

import type { Kind, Range } from "./scale.ts";

export interface Ticks {
  /** data units, ascending */
  values: number[];
  /** one per tick; "" is a grid line without a label */
  labels: string[];
  /** the part that all labels share and omit: a date, or "" */
  context: string;
}

const MOST = 60;
const MINUS = "\u2212";
const UNITS: [number, string][] = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
  [1, ""],
];

const trim = (text: string) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
const signed = (value: number, text: string) => (value < 0 && /[1-9]/.test(text) ? MINUS + text : text);
const exponentOf = (value: number) => Math.floor(Math.log10(value) + 1e-12);

/** Digits after the decimal point that show multiples of `step` exactly; steps are 1, 2 or 5 times a power of ten. */
const places = (step: number) => Math.min(100, Math.max(0, -exponentOf(step)));

function scientific(size: number, step: number, count = exponentOf(size) - exponentOf(step)) {
  const [digits, power] = size.toExponential(Math.min(15, Math.max(0, count))).split("e");
  const exponent = Number(power);
  return `${trim(digits)}e${exponent < 0 ? MINUS : ""}${Math.abs(exponent)}`;
}

function abbreviated(size: number, step: number) {
  const [unit, letter] = UNITS.find(([least]) => size >= least * (1 - 1e-12)) || [1, ""];
  return trim((size / unit).toFixed(places(step / unit))) + letter;
}

const grouped = (size: number, step: number) => {
  const [whole, part] = size.toFixed(places(step)).split(".");
  return trim(whole.replace(/\B(?=(\d{3})+$)/g, ",") + (part ? "." + part : ""));
};

/**
 * Labels of multiples of `step`, all in the same notation and with the digits that tell them apart:
 * 0.2, 1.5k, 2M, 1e\u22125, or grouped digits if a short form would need more than three decimals.
 */
export function tickLabels(values: number[], step: number) {
  const largest = Math.max(...values.map(Math.abs));
  if (!(largest > 0)) return values.map(() => "0");
  const spread = exponentOf(largest) - exponentOf(step);
  let write = abbreviated;
  if (largest < 9.99e-4 || largest >= 9.99e14) write = spread > 6 && largest < 1e21 ? grouped : scientific;
  else if (largest >= 1e3) {
    const [unit] = UNITS.find(([least]) => largest >= least * (1 - 1e-12)) || [1];
    if (places(step / unit) > 3 || step < 1) write = grouped;
  }
  return values.map((v) => (v === 0 ? "0" : signed(v, write(Math.abs(v), step))));
}

/** A number for people: up to `digits` significant digits, in the style of the tick labels. */
export function formatNumber(value: number, digits: number = 4) {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "\u221e" : MINUS + "\u221e";
  if (value === 0) return "0";
  const size = Number(Math.abs(value).toPrecision(digits));
  const step = 10 ** (exponentOf(size) - digits + 1);
  if (size < 9.99e-4 || size >= 9.99e14) return signed(value, scientific(size, step, digits - 1));
  return signed(value, size < 1e6 && digits > 4 ? trim(String(size)) : abbreviated(size, step));
}

/** Ticks at multiples of 1, 2 or 5 times a power of ten, about `count` of them. */
export function linearTicks(lo: number, hi: number, count: number, integer: boolean = false): Ticks {
  const rough = (hi - lo) / Math.max(1, count);
  if (!(rough > 0) || !Number.isFinite(rough)) return { values: [lo], labels: [formatNumber(lo)], context: "" };
  let exponent = Math.floor(Math.log10(rough));
  let mantissa = rough / 10 ** exponent;
  // The nearest of 1, 2, 5 and 10 on a log scale, so that there are at most about 1.4 times too many or too few ticks.
  mantissa = mantissa < Math.SQRT2 ? 1 : mantissa < Math.sqrt(10) ? 2 : mantissa < Math.sqrt(50) ? 5 : 10;
  if (mantissa === 10) [mantissa, exponent] = [1, exponent + 1];
  if (integer && exponent < 0) [mantissa, exponent] = [1, 0];
  const step = Number(`${mantissa}e${exponent}`);
  const values = [];
  const first = Math.ceil(lo / step - 1e-9);
  for (let k = first; values.length < MOST; k += 1) {
    // Dividing by a whole power of ten gives the number nearest to the decimal value; multiplying does not.
    const value = exponent < 0 && exponent > -300 ? (k * mantissa) / 10 ** -exponent : k * step;
    if (value > hi + step * 1e-9 || (values.length && value <= values[values.length - 1])) break;
    values.push(value === 0 ? 0 : value);
  }
  return { values, labels: tickLabels(values, step), context: "" };
}

/**
 * Ticks of a log axis: powers of ten, their multiples by 2 and 5 if `count` allows, and linear ticks within less than
 * a power of ten.
 * @param lo above zero
 */
export function logTicks(lo: number, hi: number, count: number): Ticks {
  const [a, b] = [Math.log10(lo), Math.log10(hi)];
  if (b - a < 0.7) {
    const ticks = linearTicks(lo, hi, Math.max(2, count - 1));
    const kept = ticks.values.map((v) => v > 0);
    return {
      values: ticks.values.filter((_, i) => kept[i]),
      labels: ticks.labels.filter((_, i) => kept[i]),
      context: "",
    };
  }
  const decades = Math.max(1, b - a);
  const parts = decades * 3 <= count * 1.4 ? [1, 2, 5] : [1];
  const stride = parts.length > 1 ? 1 : Math.max(1, Math.ceil(decades / Math.max(1, count)));
  const values = [];
  for (let e = Math.floor(a); e <= Math.ceil(b); e += 1) {
    if (e % stride) continue;
    for (const part of parts) {
      const value = Number(`${part}e${e}`);
      if (value >= lo * (1 - 1e-9) && value <= hi * (1 + 1e-9) && value > 0) values.push(value);
    }
  }
  if (values.length < 2 && parts.length === 1 && decades < 2) return logTicks(lo, hi, Math.ceil(decades * 3));
  // All small values use the same notation.
  const tiny = values.length && values[0] < 9.99e-4;
  const label = (v: number) => (tiny && v < 1 ? scientific(v, v) : formatNumber(v, 1));
  return { values, labels: values.map(label), context: "" };
}

/** The precision of the labels of a time axis. */
type Unit = "second" | "minute" | "day" | "month" | "year";
const [SECOND, MINUTE, HOUR, DAY] = [1, 60, 3600, 86400];
const multiples = (counts: number[], of: number, unit: Unit) => counts.map((n): [number, Unit] => [n * of, unit]);
const STEPS: [number, Unit][] = [
  ...multiples([1, 2, 5, 10, 15, 30], SECOND, "second"),
  ...multiples([1, 2, 5, 10, 15, 30], MINUTE, "minute"),
  ...multiples([1, 2, 3, 6, 12], HOUR, "minute"),
  ...multiples([1, 2, 7, 14], DAY, "day"),
];
const MONTH = 30.44 * DAY;
const MONTHS = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200];
const NAMES = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

const two = (n: number) => String(n).padStart(2, "0");
const dayText = (d: Date) => `${d.getUTCDate()} ${NAMES[d.getUTCMonth()]}`;

/** Starts of months, `stride` apart, in [lo, hi], in local seconds. */
function monthStarts(lo: number, hi: number, stride: number) {
  const begin = new Date(lo * 1000);
  const found = [];
  let month = begin.getUTCFullYear() * 12 + begin.getUTCMonth();
  month = Math.floor(month / stride) * stride;
  for (; found.length < MOST; month += stride) {
    const date = new Date(0);
    date.setUTCFullYear(Math.floor(month / 12), ((month % 12) + 12) % 12, 1);
    const at = date.getTime() / 1000;
    if (!(at <= hi)) break;
    if (at >= lo) found.push(at);
  }
  return found;
}

function timeLabel(local: number, unit: Unit, fraction: number) {
  const d = new Date(Math.round(local * 1e6) / 1e3);
  if (unit === "month") return d.getUTCMonth() === 0 ? String(d.getUTCFullYear()) : NAMES[d.getUTCMonth()];
  if (unit === "day" || (unit === "minute" && local % DAY === 0)) return dayText(d);
  const clock = `${two(d.getUTCHours())}:${two(d.getUTCMinutes())}`;
  if (unit === "minute") return clock;
  const part = fraction ? (((local % 1) + 1) % 1).toFixed(fraction).slice(1) : "";
  return `${clock}:${two(d.getUTCSeconds())}${part}`;
}

/** Seconds that the browser's local time is ahead of UTC at a moment. */
const localOffset = (seconds: number): number => -60 * new Date(seconds * 1000).getTimezoneOffset();

/**
 * Ticks of a time axis at whole seconds, minutes, hours, days or months of local time. The context is the date when the
 * axis begins, or the year if its first tick is a day.
 * @param lo Unix seconds
 * @param offset seconds that local time is ahead of UTC at a moment
 */
export function timeTicks(lo: number, hi: number, count: number, offset = localOffset): Ticks {
  const FURTHEST = 8.64e12;
  if (Math.abs(lo) > FURTHEST || Math.abs(hi) > FURTHEST) return linearTicks(lo, hi, count);
  const [a, b] = [lo + offset(lo), hi + offset(hi)];
  const rough = (b - a) / Math.max(1, count);
  const begin = new Date(a * 1000);
  let locals;
  let unit: Unit = "second";
  let fraction = 0;
  if (rough <= 0.5) {
    // Counted from a whole second: multiples of a millionth of 1.7e9 would lose their last digits.
    const whole = Math.floor(a);
    const ticks = linearTicks(a - whole, b - whole, count);
    fraction = Math.min(6, Math.max(0, ...ticks.labels.map((text) => (text.split(".")[1] || "").length)));
    if (ticks.values.length > 1) fraction = Math.min(6, places(ticks.values[1] - ticks.values[0]));
    locals = ticks.values.map((v) => whole + v);
  } else {
    const found = STEPS.find(([seconds]) => seconds >= rough * 0.999);
    if (found) {
      const [step] = found;
      unit = found[1];
      // Weeks start on Mondays; the first of them after 1970-01-01 was the 5th.
      const zero = step % (7 * DAY) === 0 ? 4 * DAY : 0;
      locals = [];
      for (let k = Math.ceil((a - zero) / step); k * step + zero <= b && locals.length < MOST; k += 1) {
        locals.push(k * step + zero);
      }
    } else {
      unit = "month";
      locals = monthStarts(a, b, MONTHS.find((n) => n * MONTH >= rough * 0.999) || 2400);
    }
  }
  const labels = locals.map((local) => timeLabel(local, unit, fraction));
  const year = String(begin.getUTCFullYear());
  const years = labels.every((text) => /^\d+$/.test(text));
  // Below the name of a day, the name of the previous day would contradict it.
  const isDay = unit === "day" || (unit === "minute" && locals.length > 0 && locals[0] % DAY === 0);
  const context = unit === "month"
    ? (years || labels.includes(year) ? "" : year)
    : isDay
    ? year
    : `${dayText(begin)} ${year}`;
  return { values: locals.map((local) => local - offset(local - offset(lo))), labels, context };
}

/** Ticks of an axis of any kind. `axis` is model.x, model.y or model.y2. */
export function axisTicks(
  axis: { scale: Kind; integer?: boolean },
  [lo, hi]: Range,
  count: number,
): Ticks {
  if (axis.scale === "log") return logTicks(lo, hi, count);
  if (axis.scale === "time") return timeTicks(lo, hi, count);
  return linearTicks(lo, hi, count, axis.integer);
}
