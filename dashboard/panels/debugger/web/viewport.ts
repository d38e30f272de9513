/** Which rows and steps of the map are visible. Steps are places among the observed ones. */

export interface Span {
  begin: number;
  end: number;
}

/** Returns a span within the whole that is no shorter than the least. */
export function within(span: Span, whole: number, least: number): Span {
  const length = Math.min(Math.max(span.end - span.begin, least), whole);
  const begin = Math.min(Math.max(span.begin, 0), whole - length);
  return { begin, end: begin + length };
}

/** Zooms a span by a factor around a place, which stays where it is. */
export function zoomed(span: Span, at: number, factor: number, whole: number, least: number): Span {
  const length = Math.min(Math.max((span.end - span.begin) * factor, least), whole);
  const share = (at - span.begin) / (span.end - span.begin || 1);
  return within({ begin: at - share * length, end: at + (1 - share) * length }, whole, least);
}

export const moved = (span: Span, by: number, whole: number): Span =>
  within({ begin: span.begin + by, end: span.end + by }, whole, 1);

/** Finds the last edge that is not after a place, by bisection; -1 before the first. */
export function cellAt(edges: ArrayLike<number>, place: number, count: number): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (edges[middle] <= place) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
