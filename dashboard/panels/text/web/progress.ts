/** How far a search is, in words. */
import { stepText } from "../../../web/core/dom.ts";

/** A text in which something was found (`Hit` of panels/text/search.py), and the place of its card. */
export interface Hit {
  tag: string;
  run: string;
  index: number;
  step: number;
  /** places in the text */
  count: number;
  before: string;
  found: string;
  after: string;
  key: string;
  group: string;
  page: number;
}
export interface Search {
  hits: Hit[];
  searched: number;
  total: number;
  unreadable: number;
  /** where the next request goes on */
  place: string | null;
  /** the hit that is shown; -1 for none */
  at: number;
  error: string;
  busy: boolean;
}

const counted = (count: number, what: string) => `${stepText(count)} ${what}${count === 1 ? "" : "s"}`;

export function progress({ hits, searched, total, unreadable, place, busy }: Omit<Search, "at" | "error">): string {
  const places = hits.reduce((sum, hit) => sum + hit.count, 0);
  const parts = [`${counted(places, "place")} in ${counted(hits.length, "text")}`];
  if (total && (place || busy)) parts.push(`searched ${stepText(searched)} of ${stepText(total)} texts`);
  else if (total) parts.push(`all ${stepText(total)} texts searched`);
  if (unreadable) parts.push(`${stepText(unreadable)} could not be read`);
  return parts.join(" · ");
}

/** The hit after or before one, round and round; the first or last where none is shown. */
export function hitBeside({ at, hits }: Pick<Search, "at" | "hits">, by: 1 | -1): number {
  if (at < 0) return by > 0 ? 0 : hits.length - 1;
  return (at + by + hits.length) % hits.length;
}
