/** The progress of a search, in words. */
import { counted, integer } from "../../../web/core/numbers.ts";
import type { SearchAnswer } from "./messages.generated.ts";

/** The results so far. */
export interface Search extends SearchAnswer {
  /** the current hit; -1 for none */
  at: number;
  busy: boolean;
  /** Whether the last request went unanswered. */
  isLost: boolean;
}

export function progress(
  { hits, searched, total, unreadable, place, busy }: Omit<Search, "at" | "error" | "isLost">,
): string {
  const places = hits.reduce((sum, hit) => sum + hit.count, 0);
  const parts = [`${counted(places, "match", "matches")} in ${counted(hits.length, "entry", "entries")}`];
  if (total && (place || busy)) parts.push(`searched ${integer(searched)} of ${counted(total, "entry", "entries")}`);
  else if (total) parts.push(`all ${counted(total, "entry", "entries")} searched`);
  if (unreadable) parts.push(`${integer(unreadable)} could not be read`);
  return parts.join(" · ");
}

/** The hit after or before the current one, wrapping around; without a current one, the first or last. */
export function hitBeside({ at, hits }: Pick<Search, "at" | "hits">, by: 1 | -1): number {
  if (at < 0) return by > 0 ? 0 : hits.length - 1;
  return (at + by + hits.length) % hits.length;
}
