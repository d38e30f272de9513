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

const [SECOND, MINUTE, HOUR, DAY] = [1e9, 60e9, 3600e9, 86_400e9];
/** Units that steps of a second or more are whole numbers of, the largest first. */
const WHOLE: [size: number, unit: string][] = [[DAY, "d"], [HOUR, "h"], [MINUTE, "min"], [SECOND, "s"]];
/** Round times between a second and a day, in ns. */
const CLOCK: number[] = [
  ...[SECOND, MINUTE].flatMap((unit) => [1, 2, 5, 10, 15, 30].map((many) => many * unit)),
  ...[1, 2, 3, 6, 12].map((many) => many * HOUR),
];

/** The next round time: 1, 2 or 5 times a power of ten of nanoseconds or days, and what clocks show in between. */
function roundTime(ns: number): number {
  const least = ns * 0.9999;
  const decimal = (unit: number) => {
    const power = unit * 10 ** Math.floor(Math.log10(ns / unit));
    return [1, 2, 5].map((many) => many * power).find((step) => step >= least) ?? 10 * power;
  };
  return ns <= SECOND ? decimal(1) : CLOCK.find((step) => step >= least) ?? decimal(DAY);
}

/**
 * Ticks at round values over a range.
 * @param start ns
 * @param end ns
 * @param most how many ticks fit
 */
export function ticks(start: number, end: number, most: number): { step: number; first: number } {
  const step = roundTime(Math.max((end - start) / Math.max(most, 1), 1));
  return { step, first: Math.ceil(start / step) * step };
}

/**
 * A tick's exact label in a unit that suits the step; far from the origin it is relative to `base`.
 * @param time ns, a multiple of the step
 * @param step ns, round
 * @param base ns, 0 for absolute labels
 */
export function tickLabel(time: number, step: number, base: number) {
  const shown = time - base;
  if (shown === 0) return base ? "+0" : "0";
  const [size, unit] = WHOLE.find(([size]) => step % size === 0) ??
    unitOf(Math.min(Math.max(Math.abs(shown), step), SECOND));
  const decimals = Math.max(0, -Math.floor(Math.log10(step / size) + 1e-9));
  return `${base && shown > 0 ? "+" : ""}${(shown / size).toFixed(Math.min(decimals, 9))} ${unit}`;
}

/**
 * The moment that labels are relative to, or 0 if plain labels are short enough, and its own label.
 * @param start ns
 * @param end ns
 * @param step ns
 */
export function tickBase(start: number, end: number, step: number): { base: number; from: string } {
  const largest = Math.max(Math.abs(start), Math.abs(end));
  if (largest < step * 2e4) return { base: 0, from: "" };
  const [size] = unitOf(end - start);
  const coarse = roundTime(Math.max(size * 1000, end - start));
  const base = Math.floor(start / coarse) * coarse;
  return { base, from: base ? tickLabel(base, coarse, 0) : "" };
}
