/** How the table of event files writes and sorts what it has. */
import { integer } from "../../../web/core/numbers.ts";
import type { FileRow } from "./messages.generated.ts";

/** Nothing to see where there is nothing. */
export const some = (value: number, write: (value: number) => string = integer): string => (value ? write(value) : "");

const ORDER = { good: 0, open: 1, bad: 2 };
/** A row of the table, as far as it is sorted by. */
export type HealthRow = Pick<FileRow, "severity">;

/** By how bad it is, then by the words. */
export const byHealth = (one: string, other: string, oneRow: HealthRow, otherRow: HealthRow): number =>
  ORDER[oneRow.severity] - ORDER[otherRow.severity] || one.localeCompare(other);

/** A name in the part that may be cut, and its end, which tells names apart. */
export type CutName = [head: string, tail: string];

/** Event files all begin alike; what tells them apart is their end. */
export function fileParts(file: string): CutName {
  const name = file.replace(/^events\.out\.tfevents\.(?=.)/, "…");
  return [name.slice(0, -8), name.slice(-8)];
}
