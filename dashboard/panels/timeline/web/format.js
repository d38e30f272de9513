/** Numbers for people: durations, moments, bytes, and the ticks of a time axis. Pure. */

/** @type {[number, string][]} */
const UNITS = [
  [86_400e9, "d"],
  [3600e9, "h"],
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];

/** @param {number} ns @returns {[number, string]} */
function unitOf(ns) {
  return UNITS.find(([size]) => Math.abs(ns) >= size) || [1, "ns"];
}

/**
 * @param {number} ns
 * @param {number} [digits] significant digits
 */
export function duration(ns, digits = 4) {
  if (ns === 0) return "0 ns";
  const [size, unit] = unitOf(ns);
  if (unit === "ns") return `${Number(ns.toPrecision(digits))} ns`;
  const value = ns / size;
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value))));
  return `${value.toFixed(Math.min(decimals, 9))} ${unit}`;
}

/** To the nanosecond, without trailing zeros. @param {number} ns */
export function exact(ns) {
  const [size, unit] = unitOf(ns);
  return `${Number((ns / size).toFixed(9)).toLocaleString("en-US", { maximumFractionDigits: 9 })} ${unit}`;
}

/** @param {number} count */
export function integer(count) {
  return Math.round(count).toLocaleString("en-US");
}

/** @param {number} bytes */
export function bytes(bytes) {
  const names = ["B", "kB", "MB", "GB", "TB"];
  let level = 0;
  let value = bytes;
  while (Math.abs(value) >= 1000 && level < names.length - 1) {
    value /= 1000;
    level += 1;
  }
  return level === 0 ? `${integer(value)} B` : `${value.toFixed(value < 10 ? 2 : 1)} ${names[level]}`;
}

/** A short form of any number, for the labels of a counter. @param {number} value */
export function compact(value) {
  return Number.isInteger(value) && Math.abs(value) < 1e4
    ? String(value)
    : new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 2 }).format(value);
}

/** A counter's value: bytes as people read them. @param {string} name @param {number} value */
export function quantity(name, value) {
  return /\bbytes\b|\bmemory\b|\ballocated\b|\breserved\b/i.test(name) && !/%|percent|bytes\/s/i.test(name) && Math.abs(value) >= 1000 ? bytes(value) : compact(value);
}

/**
 * Round ticks over a range.
 * @param {number} start ns
 * @param {number} end ns
 * @param {number} most how many ticks fit
 * @returns {{step: number, first: number}}
 */
export function ticks(start, end, most) {
  const raw = Math.max((end - start) / Math.max(most, 1), 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.9999) || 10 * power;
  return { step, first: Math.ceil(start / step) * step };
}

/**
 * A tick's label in a unit that suits the step; far from the origin it is relative to `base`.
 * @param {number} time ns
 * @param {number} step ns
 * @param {number} base ns, 0 for absolute labels
 */
export function tickLabel(time, step, base) {
  const shown = time - base;
  if (shown === 0) return base ? "+0" : "0";
  const [size, unit] = unitOf(Math.max(Math.abs(shown), step));
  const decimals = Math.max(0, -Math.floor(Math.log10(step / size) + 1e-9));
  return `${base && shown > 0 ? "+" : ""}${(shown / size).toFixed(Math.min(decimals, 9))} ${unit}`;
}

/**
 * The moment that labels count from, or 0 when plain labels are short enough.
 * @param {number} start ns
 * @param {number} end ns
 * @param {number} step ns
 */
export function tickBase(start, end, step) {
  const largest = Math.max(Math.abs(start), Math.abs(end));
  if (largest < step * 2e4) return 0;
  const [size] = unitOf(end - start);
  const coarse = Math.max(size * 1000, 10 ** Math.ceil(Math.log10(end - start)));
  return Math.floor(start / coarse) * coarse;
}
