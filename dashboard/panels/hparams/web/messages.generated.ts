// Made from stepscope.dashboard.panels.hparams.messages by `python -m tools.generate_page`; change them there.

/** The table that the panel shows. */
export interface SentTable {
  all: Column[];
  columns: string[];
  constant: [string, string][];
  target: string;
  lower: boolean;
  rows: SentRow[];
  sessions: number;
  passing: number;
  whole_table: boolean;
  listed: number;
  all_rows: number;
  found: number;
  loading: boolean;
  statuses: Record<string, number>;
  groups: number;
  folders: string[];
  palette: [string, string][];
  folder: string;
}

/** Header of the counts of all sessions over pairs of columns. */
export interface SentDensity {
  sessions: number;
  ends: Record<string, [number, number]>;
}

/** A hyperparameter or metric, and the texts of its values: the first 200 of ``count``. */
export interface Column {
  key: string;
  label: string;
  about: string;
  kind: "hparam" | "metric";
  type: "number" | "text";
  shown: boolean;
  constant: boolean;
  values: string[];
  count: number;
}

/** A session or a group of sessions; numbers that JSON cannot represent are strings. */
export interface SentRow {
  id: string;
  runs: string[];
  group: string;
  n: number;
  status: "running" | "success" | "failure" | "unknown";
  start: number | string;
  duration: number | string | null;
  light: string;
  dark: string;
  v: (number | string | null)[];
  s: (number | null)[];
  deviations: Record<string, number | string>;
  several: Record<string, string>;
}
