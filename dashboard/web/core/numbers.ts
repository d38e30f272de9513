/** Numbers, counts, bytes and durations as text. */

/** 12345.6 as "12,346". */
export const integer = (value: number): string => Math.round(value).toLocaleString("en-US");

/**
 * A number with the given significant digits, without noise: "−1,234", "0.03125", "1.2e−5". Very small and very large
 * numbers have an exponent; in others, no digit before the decimal point is rounded.
 */
export function shortNumber(value: number, digits = 4): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  const text = size !== 0 && (size < 1e-4 || size >= 1e7)
    ? value.toExponential(digits - 1).replace(/(?:(\.\d*[1-9])|\.)0*e\+?/, "$1e")
    : size >= 10 ** (digits - 1)
    ? integer(value)
    : Number(value.toPrecision(digits)).toLocaleString("en-US", { maximumFractionDigits: 12 });
  return text.replaceAll("-", "−");
}

/** "1 node", "2 nodes"; or "1 vertex", "2 vertices" if the plural is given. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${integer(count)} ${count === 1 ? one : many}`;

/** For people; exactly what `file_size` in dashboard/server/numbers.py writes, and negative sizes with their sign. */
export function fileSize(size: number): string {
  if (size < 0) return `-${fileSize(-size)}`;
  if (size < 1000) return `${size} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let scaled = size / 1000;
  let at = 0;
  for (; scaled >= 999.5 && at < units.length - 1; at += 1) scaled /= 1000;
  return `${scaled >= 999.5 ? Math.round(scaled) : Number(scaled.toPrecision(3))} ${units[at]}`;
}

/** The exact number of bytes. */
export const exactBytes = (size: number): string => counted(size, "byte");

const rounded = (value: number) => Number(value.toPrecision(4));
const MILLIONS: [unit: string, size: number][] = [["P", 1e15], ["T", 1e12], ["G", 1e9], ["M", 1e6]];

/** At most four significant digits, with separators if more precede the point: `digits` in profile/texts.py. */
export function digits(value: number): string {
  for (const [unit, size] of MILLIONS) if (Math.abs(value) >= size) return `${digits(value / size)} ${unit}`;
  if (Math.abs(rounded(value)) >= 1000) return integer(value);
  if (value !== 0 && Math.abs(value) < 1e-4) return value.toExponential(2).replace(/e([+-])(\d)$/, "e$10$2");
  return String(rounded(value));
}

/** Nanoseconds as seconds or a smaller unit, without trailing zeros: `duration` in profile/texts.py. */
export function shortDuration(ns: number): string {
  // What rounds to a thousand is one of the next unit.
  const [size, unit] = SHORT.find(([size]) => Math.abs(rounded(ns)) >= size) ?? [1, "ns"];
  return `${digits(ns / size)} ${unit}`;
}

const DURATIONS: [size: number, unit: string][] = [
  [86_400e9, "d"],
  [3600e9, "h"],
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];

const SHORT = DURATIONS.filter(([size]) => size <= 1e9);

/** The unit of a duration: its size in nanoseconds, and its symbol. */
export const unitOf = (ns: number): readonly [size: number, unit: string] =>
  DURATIONS.find(([size]) => Math.abs(ns) >= size) ?? [1, "ns"];

/**
 * Nanoseconds in the unit that keeps them short: "12.00 µs".
 * @param digits significant digits
 */
export function durationText(ns: number, digits = 4): string {
  if (ns === 0) return "0 ns";
  const written = Number(ns.toPrecision(digits));
  // What rounds to a thousand is one of the next unit.
  const [size, unit] = unitOf(written);
  if (size === 1) return `${written} ns`;
  const value = ns / size;
  const decimals = digits - 1 - Math.floor(Math.log10(Math.max(1, Math.abs(value))));
  return `${value.toFixed(Math.min(Math.max(0, decimals), 9))} ${unit}`;
}

/** A duration to the nanosecond, without trailing zeros. */
export function exactDurationText(ns: number): string {
  const [size, unit] = unitOf(ns);
  return `${Number((ns / size).toFixed(9)).toLocaleString("en-US", { maximumFractionDigits: 9 })} ${unit}`;
}
