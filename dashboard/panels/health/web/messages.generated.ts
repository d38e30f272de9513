// Made from stepscope.dashboard.panels.health.messages by `python -m tools.generate_page`; change them there.

/** An event file, as a row of the table. */
export interface FileRow {
  path: string;
  file: string;
  run: string;
  records: number;
  size: number;
  read: number;
  stretches: number;
  skipped: number;
  superseded: number;
  modified: number | null;
  state: string;
  severity: "bad" | "open" | "good";
}
