/** The rows of a comparison of two texts: which are shown, and in which order (panels/text/diff.py). */

import type { Comparison } from "./messages.generated.ts";

/** The change, the line numbers in the old and new text, and the pieces there, each with whether it has changed. */
export type Row = Comparison["rows"][number];
export type Segment = Row[3][number];
/** A row, or a stretch of unchanged rows that is hidden. */
export type Piece = Row | { hidden: Row[] };

const CONTEXT = 3;
const LEAST_HIDDEN = 3;

export const isGap = (piece: Piece): piece is { hidden: Row[] } => "hidden" in piece;

/** Rows near a change, and the stretches of unchanged rows in between. */
export function near(rows: Row[]): Piece[] {
  const kept = new Uint8Array(rows.length);
  rows.forEach(([change], at) => {
    if (change !== "same") kept.fill(1, Math.max(0, at - CONTEXT), at + CONTEXT + 1);
  });
  const pieces: Piece[] = [];
  for (let at = 0; at < rows.length;) {
    let end = at;
    while (end < rows.length && kept[end] === kept[at]) end += 1;
    const stretch = rows.slice(at, end);
    if (kept[at] || stretch.length < LEAST_HIDDEN) pieces.push(...stretch);
    else pieces.push({ hidden: stretch });
    at = end;
  }
  return pieces;
}

/** Orders rows for a single column: all removed lines of a change come before the added ones. */
export function ordered(pieces: Piece[]): Piece[] {
  const found: Piece[] = [];
  let removed: Row[] = [];
  let added: Row[] = [];
  const flush = () => {
    found.push(...removed, ...added);
    removed = [];
    added = [];
  };
  for (const piece of pieces) {
    if (isGap(piece) || piece[0] === "same") {
      flush();
      found.push(piece);
      continue;
    }
    const [, oldNumber, newNumber, old, now] = piece;
    if (oldNumber !== null) removed.push(["removed", oldNumber, null, old, []]);
    if (newNumber !== null) added.push(["added", null, newNumber, [], now]);
  }
  flush();
  return found;
}
