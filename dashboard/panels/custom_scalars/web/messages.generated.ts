// Made from stepscope.dashboard.panels.custom_scalars.messages by `python -m tools.generate_page`; change them there.

/** The layouts of all runs merged into one, and where another one would be written. */
export interface LayoutAnswer {
  folder: string;
  layout: SentLayout;
  version: string;
}

/** What became of a layout that was sent. */
export interface SavedLayout {
  folder: string;
  saved: boolean;
  version: string;
  stays: string[];
}

/** Scalar tags that an expression matches: their number, the first of them, and the error in the expression. */
export interface Matches {
  count: number;
  tags: string[];
  error: string;
}

/** A layout as protobuf writes it as JSON: without empty fields. */
export interface SentLayout {
  category?: SentCategory[];
}

/** Charts under a title; closed by default, or not. */
export interface SentCategory {
  title?: string;
  closed?: boolean;
  chart?: SentChart[];
}

/** A chart of either kind. */
export interface SentChart {
  title?: string;
  multiline?: SentMultiline;
  margin?: SentMargins;
}

/** Regular expressions for tags. */
export interface SentMultiline {
  tag?: string[];
}

/** Lines with margins. */
export interface SentMargins {
  series?: SentMargin[];
}

/** Tags of a line and of the edges of its band. */
export interface SentMargin {
  value?: string;
  lower?: string;
  upper?: string;
}
