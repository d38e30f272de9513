/** Human-readable numbers: ordinals, counters, and the ticks of a time axis. Pure. */
import { digits, fileSize, integer, unitOf } from "../../../web/core/numbers.ts";

/** An ordinal number: "2nd". */
export function ordinal(rank: number) {
  const suffix = rank % 100 > 10 && rank % 100 < 14 ? "th" : ["th", "st", "nd", "rd"][rank % 10] ?? "th";
  return `${integer(rank)}${suffix}`;
}

/** A counter's value, with bytes in human-readable form. */
export function quantity(name: string, value: number) {
  return /\bbytes\b|\bmemory\b|\ballocated\b|\breserved\b/i.test(name) && !/%|percent|bytes\/s/i.test(name) &&
      Math.abs(value) >= 1000
    ? fileSize(value)
    : digits(value);
}

/**
 * Ticks at round values over a range.
 * @param start ns
 * @param end ns
 * @param most how many ticks fit
 */
export function ticks(start: number, end: number, most: number): { step: number; first: number } {
  const raw = Math.max((end - start) / Math.max(most, 1), 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.9999) || 10 * power;
  return { step, first: Math.ceil(start / step) * step };
}

/**
 * A tick's label in a unit that suits the step; far from the origin it is relative to `base`.
 * @param time ns
 * @param step ns
 * @param base ns, 0 for absolute labels
 */
export function tickLabel(time: number, step: number, base: number) {
  const shown = time - base;
  if (shown === 0) return base ? "+0" : "0";
  const [size, unit] = unitOf(Math.max(Math.abs(shown), step));
  const decimals = Math.max(0, -Math.floor(Math.log10(step / size) + 1e-9));
  return `${base && shown > 0 ? "+" : ""}${(shown / size).toFixed(Math.min(decimals, 9))} ${unit}`;
}

/**
 * The moment that labels are relative to, or 0 if plain labels are short enough.
 * @param start ns
 * @param end ns
 * @param step ns
 */
export function tickBase(start: number, end: number, step: number) {
  const largest = Math.max(Math.abs(start), Math.abs(end));
  if (largest < step * 2e4) return 0;
  const [size] = unitOf(end - start);
  const coarse = Math.max(size * 1000, 10 ** Math.ceil(Math.log10(end - start)));
  return Math.floor(start / coarse) * coarse;
}
