/** Values of runs: formatting, order and age. */
import type { RunRow } from "./messages.generated.ts";

/** A value of a run in a column. */
export type Value = RunRow["values"][number];

const SPECIAL: Record<string, number> = { NaN: NaN, Infinity: Infinity, "-Infinity": -Infinity };

/** A value as a number, including those that JSON writes as text; null if it is not a number. */
export function asNumber(value: Value): number | null {
  if (typeof value === "number") return value;
  return typeof value === "string" && Object.hasOwn(SPECIAL, value) ? SPECIAL[value] : null;
}

/** Notations of numbers with few digits. */
const NOTATIONS = {
  whole: (value: number): string => value.toLocaleString("en-US"),
  /** 0.03125 */
  decimal: (value: number): string => String(Number(value.toPrecision(4))),
  /** 1.2e-5 */
  exponent: (value: number): string =>
    value === 0 ? "0" : value.toExponential(2).replace(/\.?0+e/, "e").replace("e+", "e"),
};

function notationOf(numbers: readonly number[]): keyof typeof NOTATIONS {
  const sizes = numbers.map(Math.abs).filter((size) => size > 0 && Number.isFinite(size));
  if (numbers.every(Number.isSafeInteger)) return "whole";
  return sizes.some((size) => size >= 1e6 || size < 1e-4) ? "exponent" : "decimal";
}

/** The format of a column's values: all its numbers use the same notation. */
export function formatOf(values: Iterable<Value>): (value: Value | undefined) => string {
  const numbers = [...values].filter((value) => typeof value === "number");
  const written = NOTATIONS[notationOf(numbers)];
  return (value) => {
    if (value === null || value === undefined) return "";
    if (typeof value === "number") return written(value);
    return value === "Infinity" ? "∞" : value === "-Infinity" ? "−∞" : String(value);
  };
}

export const full = (value: Value | undefined): string => String(value ?? "");

/** Compares numbers by size and texts alphabetically; missing values come last in either direction. */
export function compare(
  one: Value | undefined,
  other: Value | undefined,
  _nodeA?: unknown,
  _nodeB?: unknown,
  descending = false,
): number {
  const [left, right] = [one ?? null, other ?? null];
  const rank = (value: Value) => (value === null ? 2 : Number.isNaN(asNumber(value)) ? 1 : 0);
  const ranks = rank(left) - rank(right);
  if (ranks) return descending ? -ranks : ranks;
  if (rank(left)) return 0;
  const [a, b] = [asNumber(left), asNumber(right)];
  if (a !== null && b !== null) return a - b;
  return String(left).localeCompare(String(right), "en", { numeric: true });
}

const AGES: [number, string][] = [[86400 * 365, "y"], [86400, "d"], [3600, "h"], [60, "min"]];

/** The age of a time, such as "3 h ago". */
export function ago(seconds: number, now = Date.now() / 1000): string {
  if (!Number.isFinite(seconds)) return "";
  const age = now - seconds;
  const found = AGES.find(([size]) => age >= size);
  return found ? `${Math.floor(age / found[0])} ${found[1]} ago` : "now";
}
