/** How the table of event files formats and sorts its values. */
import { integer } from "../../../web/core/numbers.ts";
import type { FileRow } from "./messages.generated.ts";

/** Formats a value, with nothing for zero. */
export const some = (value: number, write: (value: number) => string = integer): string => (value ? write(value) : "");

const ORDER = { good: 0, open: 1, bad: 2 };
/** The part of a table row that sorting uses. */
export type HealthRow = Pick<FileRow, "severity">;

/** Compares by severity, then alphabetically. */
export const byHealth = (one: string, other: string, oneRow: HealthRow, otherRow: HealthRow): number =>
  ORDER[oneRow.severity] - ORDER[otherRow.severity] || one.localeCompare(other);

/** A name split into a part that may be cut off and its end, which distinguishes it from others. */
export type CutName = [head: string, tail: string];

/** Splits an event file's name: all names begin alike and differ at the end. */
export function fileParts(file: string): CutName {
  const name = file.replace(/^events\.out\.tfevents\.(?=.)/, "…");
  return [name.slice(0, -8), name.slice(-8)];
}
