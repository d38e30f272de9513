// Made from stepscope.dashboard.panels.projector.messages by `python -m tools.generate_page`; change them there.

/** The embeddings, and how many series of checkpoints are too many to be opened. */
export interface EmbeddingsAnswer {
  embeddings: EmbeddingRow[];
  unlisted: number;
}

/** One embedding at one step. */
export interface DatasetInfo {
  id: string;
  label: string;
  run: string;
  step: number | null;
  steps: number[];
  count: number;
  dimensions: number;
  digest: string;
  left_out: number[];
  problems: DatasetProblem[];
  columns: ColumnInfo[];
  sprite: Sprite | null;
  bookmarks: unknown[];
  limits: Record<string, number>;
}

/** A column before its values: numbers, or the category of each point, -1 for none. */
export interface ColumnHeader {
  name: string;
  kind: "text" | "number";
  categories: string[] | null;
}

/** What a column says of some points. */
export interface LabelsAnswer {
  texts: string[];
}

/** How many rows a table has, and some of them: "#" is the place, the others are the columns. */
export interface TableAnswer {
  count: number;
  rows: (Record<string, string | number | null>)[];
}

/** Points that are kept under a key. */
export interface RowsKept {
  key: string;
  count: number;
}

/** All that is known of one point; rows of the file may have been left out. */
export interface RowAnswer {
  row: number;
  file_row: number;
  values: Record<string, string>;
  norm: number | null;
}

/** The points nearest to one; null where a distance is not finite. */
export interface NeighborsAnswer {
  rows: number[];
  distances: (number | null)[];
  metric: "cosine" | "euclidean" | "inner";
  exact: boolean;
  milliseconds: number;
}

/** What a search found, before the rows; what is wrong with its pattern; the key of the rows. */
export interface SearchHeader {
  count: number;
  shown: number;
  error: string | null;
  key: string;
}

/** A computation that was begun or found; null where it was only looked for. */
export interface BegunJob {
  job: string | null;
  state?: "queued" | "running" | "paused" | "done" | "cancelled" | "failed";
  cached?: boolean;
  notes?: string[];
}

/** What a computation is after it was acted on. */
export interface ChangedJob {
  state: "queued" | "running" | "paused" | "done" | "cancelled" | "failed";
}

/** How far a computation is; before the coordinates, and which points they are of, where they have changed. */
export interface FrameHeader {
  job: string;
  version: number;
  state: "queued" | "running" | "paused" | "done" | "cancelled" | "failed";
  phase: string;
  iteration: number;
  total: number;
  progress: number | null;
  loss: number | null;
  seconds_left: number | null;
  updates_per_second: number | null;
  message: string;
  notes: string[];
  step: number | null;
  frame: number | null;
  frames: (number | null)[] | null;
  frames_done: number;
  dimensions?: number;
  components?: ComponentsFound | null;
  seed?: number | null;
  settings?: Record<string, number | string>;
  column?: string;
}

/** How well a picture keeps neighbors, once that is done; before arrays of all points, named by ``arrays_of``. */
export interface QualityHeader {
  job: string;
  version: number;
  state: "queued" | "running" | "paused" | "done" | "cancelled" | "failed";
  phase: string;
  iteration: number;
  total: number;
  progress: number | null;
  loss: number | null;
  seconds_left: number | null;
  updates_per_second: number | null;
  message: string;
  notes: string[];
  step: number | null;
  frame: number | null;
  frames: (number | null)[] | null;
  frames_done: number;
  trustworthiness?: number;
  continuity?: number;
  hit?: number | null;
  neighbors_kept?: number;
  count?: number;
  sampled?: number | null;
  arrays_of: string[];
}

/** The first embedding of a file that was taken, and all of them. */
export interface Dropped {
  id: string;
  ids: string[];
}

/** An embedding of the log directory, or a file that was dropped. */
export interface EmbeddingRow {
  id: string;
  run: string;
  label: string;
  kind: string;
  steps: number[];
  shape: number[] | null;
  problem: string | null;
}

/** Something that was wrong with the files, and was worked around. */
export interface DatasetProblem {
  kind: string;
  message: string;
  count: number;
}

/** A column: how many categories it has, if it has any, and whether clusters made it. */
export interface ColumnInfo {
  name: string;
  kind: "text" | "number";
  categories: number | null;
  minimum: number | null;
  maximum: number | null;
  missing: number;
  derived: boolean;
}

/** The pictures of points in one, line by line: the size of one, how many a line has, and where they are. */
export interface Sprite {
  width: number;
  height: number;
  across: number;
  url: string;
}

/** Of a principal component analysis, what each component explains. */
export interface ComponentsFound {
  variances: number[];
  ratios: number[];
  exact: boolean;
}
