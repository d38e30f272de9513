/** What the server tells of sessions (`payload` of dashboard/panels/hparams/table.py). */

/** A value of a session: numbers that JSON has not are numbers here, texts belong to columns of texts. */
export type Cell = number | string | null;

export interface Column {
  key: string;
  label: string;
  about: string;
  kind: "hparam" | "metric";
  type: "number" | "text";
  shown: boolean;
  constant: boolean;
  /** Texts of its values, the first 200 of `count`. */
  values: string[];
  count: number;
}

/** A column that the table shows, with its place in the values of a row. */
export interface ShownColumn extends Column {
  place: number;
}

/** A session, or a group of them. */
export interface Row {
  id: string;
  runs: string[];
  group: string;
  /** How many sessions it stands for. */
  n: number;
  status: string;
  start: number;
  duration: number | null;
  light: string;
  dark: string;
  v: Cell[];
  /** The steps of metrics. */
  s: (number | null)[];
  /** Of a group, by column, the values in which its sessions differ. */
  several: Record<string, string>;
}

export interface Data {
  all: Column[];
  /** Keys of those that are shown. */
  columns: string[];
  /** Hyperparameters that are the same everywhere: name and text. */
  constant: [string, string][];
  target: string;
  /** Whether lower values of the target are better. */
  lower: boolean;
  rows: Row[];
  sessions: number;
  passing: number;
  groups: number;
  statuses: Record<string, number>;
  folders: string[];
  folder: string;
  /** Colours for the light and the dark scheme. */
  palette: [string, string][];
}

export function shownColumns({ all, columns }: Pick<Data, "all" | "columns">): ShownColumn[] {
  const byKey = new Map(all.map((column) => [column.key, column]));
  return columns.flatMap((key, place) => {
    const column = byKey.get(key);
    return column ? [{ ...column, place }] : [];
  });
}

/** What came, with numbers in the place of those that JSON has as text. */
export function received(sent: Data): Data {
  const numeric = shownColumns(sent).filter(({ type }) => type === "number").map(({ place }) => place);
  for (const row of sent.rows) {
    for (const place of numeric) if (row.v[place] !== null) row.v[place] = Number(row.v[place]);
    row.start = Number(row.start);
    if (row.duration !== null) row.duration = Number(row.duration);
  }
  return sent;
}
