// Made from stepscope.dashboard.panels.projector.messages by `python -m tools.generate_page`; change them there.

/** The embeddings, and the number of series of checkpoints left out because there are too many. */
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

/** Header of a column, before its values: numbers, or the category of each point, -1 for none. */
export interface ColumnHeader {
  name: string;
  kind: "text" | "number";
  categories: string[] | null;
}

/** Values of a column at some points, as text. */
export interface LabelsAnswer {
  texts: string[];
}

/** Number of rows of a table, and some of them: "#" is the position, the other keys are columns. */
export interface TableAnswer {
  count: number;
  rows: (Record<string, string | number | null>)[];
}

/** Points kept under a key. */
export interface RowsKept {
  key: string;
  count: number;
}

/** Everything known about one point; ``file_row`` may differ from ``row`` because rows of the file were left out. */
export interface RowAnswer {
  row: number;
  file_row: number;
  values: Record<string, string>;
  norm: number | null;
}

/** The nearest neighbors of a point; null for distances that are not finite. */
export interface NeighborsAnswer {
  rows: number[];
  distances: (number | null)[];
  metric: "cosine" | "euclidean" | "inner";
  exact: boolean;
  milliseconds: number;
}

/** Header before the rows that a search found: their number, any error in the pattern, and the key of the rows. */
export interface SearchHeader {
  count: number;
  shown: number;
  error: string | null;
  key: string;
}

/** A computation that was started or found; null if it was only looked up and is not known. */
export interface BegunJob {
  job: string | null;
  state?: "queued" | "running" | "paused" | "done" | "cancelled" | "failed";
  cached?: boolean;
  notes?: string[];
}

/** State of a computation after an action. */
export interface ChangedJob {
  state: "queued" | "running" | "paused" | "done" | "cancelled" | "failed";
}

/** Progress of a computation; precedes the coordinates and the points they are of, if the coordinates changed. */
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

/** How well a picture preserves neighbors, once known; precedes arrays over all points, named by ``arrays_of``. */
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

/** The first embedding of an accepted file, and all of its embeddings. */
export interface Dropped {
  id: string;
  ids: string[];
}

/** An embedding of the log directory, or a dropped file. */
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

/** A column: its number of categories, if it has any, and whether it comes from clustering. */
export interface ColumnInfo {
  name: string;
  kind: "text" | "number";
  categories: number | null;
  minimum: number | null;
  maximum: number | null;
  missing: number;
  derived: boolean;
}

/** Pictures of the points in one image, row by row: the size of one, the number per row, and the image's URL. */
export interface Sprite {
  width: number;
  height: number;
  across: number;
  url: string;
}

/** Variance that each component of a principal component analysis explains. */
export interface ComponentsFound {
  variances: number[];
  ratios: number[];
  exact: boolean;
}
