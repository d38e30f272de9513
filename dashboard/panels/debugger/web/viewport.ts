/** Which rows and which steps of the map are seen. Steps are places among those that were observed. */

export interface Span {
  begin: number;
  end: number;
}

/** A span that lies within the whole and is not shorter than the least. */
export function within(span: Span, whole: number, least: number): Span {
  const length = Math.min(Math.max(span.end - span.begin, least), whole);
  const begin = Math.min(Math.max(span.begin, 0), whole - length);
  return { begin, end: begin + length };
}

/** Nearer by a factor around a place, which stays where it is. */
export function zoomed(span: Span, at: number, factor: number, whole: number, least: number): Span {
  const length = Math.min(Math.max((span.end - span.begin) * factor, least), whole);
  const share = (at - span.begin) / (span.end - span.begin || 1);
  return within({ begin: at - share * length, end: at + (1 - share) * length }, whole, least);
}

export const moved = (span: Span, by: number, whole: number): Span =>
  within({ begin: span.begin + by, end: span.end + by }, whole, 1);

/** The last edge that is not behind a place, by bisection; -1 before the first. */
export function cellAt(edges: ArrayLike<number>, place: number, count: number): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (edges[middle] <= place) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
