/** The server's data about sessions, with numbers in place of those that JSON represents as text. */
import type { Column, SentRow, SentTable } from "./messages.generated.ts";

/** A value of a session: texts belong to text columns. */
export type Cell = SentRow["v"][number];

/** A column that the table shows, with its index in the values of a row. */
export interface ShownColumn extends Column {
  place: number;
}

/** A session, or a group of them. */
export type Row = Omit<SentRow, "start" | "duration"> & { start: number; duration: number | null };

export type Data = Omit<SentTable, "rows"> & { rows: Row[] };

export function shownColumns({ all, columns }: Pick<Data, "all" | "columns">): ShownColumn[] {
  const byKey = new Map(all.map((column) => [column.key, column]));
  return columns.flatMap((key, place) => {
    const column = byKey.get(key);
    return column ? [{ ...column, place }] : [];
  });
}

const numberOf = <N extends null>(value: number | string | N): number | N => (value === null ? value : Number(value));

/** Converts received data, changing its rows in place because there may be many. */
export function received(sent: SentTable): Data {
  const numeric = shownColumns(sent).filter(({ type }) => type === "number").map(({ place }) => place);
  const rows = sent.rows.map((row) => {
    for (const place of numeric) row.v[place] = numberOf(row.v[place]);
    return Object.assign(row, { start: Number(row.start), duration: numberOf(row.duration) });
  });
  return { ...sent, rows };
}
