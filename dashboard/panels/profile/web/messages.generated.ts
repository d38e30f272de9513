// Made from stepscope.dashboard.panels.profile.messages by `python -m tools.generate_page`; change them there.

export interface RowMarks {
  "@row"?: string;
  "@group"?: number;
  "@size"?: number;
  "@in"?: number;
  "@at"?: string;
  "@slice"?: number;
  "@search"?: string;
  "@trace"?: string;
  "@spread"?: number[];
  "@short"?: string;
}

/** Parameters for the cells of a table's first column: whether any row is on the Timeline, and of which trace. */
export interface NameParams {
  linked: boolean;
  trace: string;
  tree: boolean;
}

/** What is being read or computed, and for how long. */
export interface Progress {
  what: string;
  seconds: number;
}

/** The reading of ranks that the page follows, as far as the page shows it. */
export interface FollowedRanks {
  job: string;
  version: string;
  running: boolean;
}

/** Progress of reading ranks. */
export interface RanksRead {
  version: string;
  words: string;
}

/** Requested rows of a table that is too long for the page. */
export interface ChosenRows {
  rows: Record<string, unknown>[];
  note: string;
}
