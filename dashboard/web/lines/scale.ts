// The axes of curves: conversion between numbers and pixels, the range that data needs, and how a range is moved.

/** The span between two numbers of this size is still finite. */
const LARGEST = 8e307;
const SMALLEST = 1e-300;
/** The smallest span, as a share of its numbers, whose ends are still distinct. */
const FINEST = 4e-16;

export type Kind = "linear" | "log" | "time";
/** The least and the largest value. */
export type Range = [number, number];
type Warp = (value: number) => number;

const warp = (kind: Kind): Warp => (kind === "log" ? Math.log10 : (v) => v);
const unwarp = (kind: Kind): Warp => (kind === "log" ? (v) => 10 ** v : (v) => v);

export interface Scale {
  kind: Kind;
  /** data value at `p0` */
  lo: number;
  /** data value at `p1` */
  hi: number;
  /** `lo` on a linear scale (its log10 on a log axis) */
  t0: number;
  /** pixel of `lo` */
  p0: number;
  /** pixels per unit: pixel = p0 + factor * (t(value) - t0) */
  factor: number;
  /** NaN for values that the axis cannot show */
  toPx: (value: number) => number;
  toData: (px: number) => number;
}

/** @param range finite, ascending, above zero on a log axis */
export function makeScale(kind: Kind, [lo, hi]: Range, p0: number, p1: number): Scale {
  const [into, out] = [warp(kind), unwarp(kind)];
  const t0 = into(lo);
  const factor = (p1 - p0) / (into(hi) - t0);
  const toPx = (value: number) => (kind === "log" && !(value > 0) ? NaN : p0 + factor * (into(value) - t0));
  const toData = (px: number) => out(t0 + (px - p0) / factor);
  return { kind, lo, hi, t0, p0, factor, toPx, toData };
}

/**
 * The [least, largest] of an array's finite numbers at the indices `from..to`; null if there are none.
 * @param positive only numbers above zero count
 */
export function extent(
  values: ArrayLike<number>,
  positive: boolean = false,
  from = 0,
  to = values.length,
): Range | null {
  let [lo, hi] = [Infinity, -Infinity];
  for (let i = from; i < to; i += 1) {
    const v = values[i];
    // The comparisons are false for NaN; the bounds exclude infinities.
    if (v < lo && v >= -LARGEST && (!positive || v > 0)) lo = v;
    if (v > hi && v <= LARGEST && (!positive || v > 0)) hi = v;
  }
  return lo <= hi ? [lo, hi] : null;
}

const join = (one: Range | null, other: Range | null): Range | null =>
  !one ? other : !other ? one : [Math.min(one[0], other[0]), Math.max(one[1], other[1])];

/** The range to show around a single value. */
function windowAround(kind: Kind, value: number, integer: boolean): Range {
  if (kind === "log") return [value / 3, value * 3];
  if (kind === "time") return [value - 30, value + 30];
  if (integer) return [value - Math.max(1, Math.abs(value) * 1e-12), value + Math.max(1, Math.abs(value) * 1e-12)];
  const half = Math.abs(value) * 0.1 || 1;
  return [value - half, value + half];
}

/**
 * A range that an axis can show: `found` with a margin, a window around one value, or a default for none.
 * @param found the extent of the data
 * @param margin as a share of the span
 */
export function fitRange(
  kind: Kind,
  found: Range | null,
  margin: number,
  integer = false,
): Range {
  if (!found) return kind === "log" ? [1, 10] : [0, 1];
  let [lo, hi] = found.map((v) => Math.min(Math.max(v, kind === "log" ? SMALLEST : -LARGEST), LARGEST));
  const size = Math.max(Math.abs(lo), Math.abs(hi));
  // Steps may be huge and few; a curve that differs only in its last digits is flat.
  if (!(hi - lo > size * (margin ? 1e-14 : FINEST))) [lo, hi] = windowAround(kind, lo, integer);
  else if (margin) {
    const [a, b] = [warp(kind)(lo), warp(kind)(hi)];
    const pad = (b - a) * margin;
    [lo, hi] = [unwarp(kind)(a - pad), unwarp(kind)(b + pad)];
  }
  const bound = (v: number) => Math.min(Math.max(v, kind === "log" ? SMALLEST : -LARGEST), LARGEST);
  return [bound(lo), bound(hi)];
}

/** Whether an axis of this kind can show the range. */
function usable(kind: Kind, range: Range | null | undefined): range is Range {
  if (!range || !range.every(Number.isFinite)) return false;
  const [lo, hi] = range;
  return hi > lo && hi <= LARGEST && lo >= -LARGEST && (kind !== "log" || lo > 0) &&
    hi - lo > Math.max(Math.abs(lo), Math.abs(hi)) * FINEST;
}

/** The range of a scale zoomed around a pixel: `share` < 1 shows less. If it would be too small, the old one stays. */
function zoomed(scale: Scale, px: number, share: number): Range {
  const [a, b] = [scale.p0, scale.toPx(scale.hi)];
  const range: Range = [scale.toData(px + (a - px) * share), scale.toData(px + (b - px) * share)];
  return usable(scale.kind, range) ? range : [scale.lo, scale.hi];
}

/** The range of a scale whose content has moved by `px`. */
function moved(scale: Scale, px: number): Range {
  const range: Range = [scale.toData(scale.p0 - px), scale.toData(scale.toPx(scale.hi) - px)];
  return usable(scale.kind, range) ? range : [scale.lo, scale.hi];
}

export { join as joinRanges, moved as movedRange, usable as usableRange, zoomed as zoomedRange };
