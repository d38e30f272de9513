/** How far a search is, in words. */
import { stepText } from "../../../web/core/dom.ts";
import type { SearchAnswer } from "./messages.generated.ts";

/** What was found so far. */
export interface Search extends SearchAnswer {
  /** the hit that is shown; -1 for none */
  at: number;
  busy: boolean;
  /** Whether the last request had no answer. */
  isLost: boolean;
}

const counted = (count: number, what: string) => `${stepText(count)} ${what}${count === 1 ? "" : "s"}`;

export function progress(
  { hits, searched, total, unreadable, place, busy }: Omit<Search, "at" | "error" | "isLost">,
): string {
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
