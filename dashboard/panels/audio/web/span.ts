/** Ranges of time. */

const LEAST_SPAN = 0.0005;

/** In seconds. */
export interface Span {
  start: number;
  stop: number;
}

/** Limits a range to a clip of some length; null for the whole clip. */
export function clamp(span: Span | null, length: number): Span | null {
  if (!span || !(span.stop > span.start) || !length) return null;
  const wide = Math.min(length, Math.max(LEAST_SPAN, span.stop - span.start));
  const start = Math.min(Math.max(0, span.start), length - wide);
  return wide >= length * 0.999 ? null : { start, stop: start + wide };
}

/** Scales a range around a fixed moment; no range begins before 0. */
export function zoomed({ start, stop }: Span, around: number, factor: number): Span {
  const left = Math.max(0, around - (around - start) * factor);
  return { start: left, stop: left + (stop - start) * factor };
}

/** Moves a range by a share of its length. */
export function moved({ start, stop }: Span, share: number): Span {
  const left = Math.max(0, start + share * (stop - start));
  return { start: left, stop: left + stop - start };
}
