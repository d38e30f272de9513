/** Stretches of time. */

const LEAST_SPAN = 0.0005;

/** In seconds. */
export interface Span {
  start: number;
  stop: number;
}

/** A stretch inside a clip of some length; null for the whole. */
export function clamp(span: Span | null, length: number): Span | null {
  if (!span || !(span.stop > span.start) || !length) return null;
  const wide = Math.min(length, Math.max(LEAST_SPAN, span.stop - span.start));
  const start = Math.min(Math.max(0, span.start), length - wide);
  return wide >= length * 0.999 ? null : { start, stop: start + wide };
}

/** A stretch some times as long in which a moment keeps its place; none begins before 0. */
export function zoomed({ start, stop }: Span, around: number, factor: number): Span {
  const left = Math.max(0, around - (around - start) * factor);
  return { start: left, stop: left + (stop - start) * factor };
}

/** The stretch a share of its length later. */
export function moved({ start, stop }: Span, share: number): Span {
  const left = Math.max(0, start + share * (stop - start));
  return { start: left, stop: left + stop - start };
}
