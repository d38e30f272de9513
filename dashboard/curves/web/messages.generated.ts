// Made from stepscope.dashboard.curves.messages by `python -m tools.generate_page`; change them there.

/** A line without its points. */
export interface LineAbout {
  light: string;
  dark: string;
  id: string;
  kind: "run" | "group" | "member";
  label: string;
  tag: string;
  side: "left" | "right";
  dash: number;
  run?: string;
  first?: number | null;
  runs?: string[];
}

/** The requested charts that changed, and whether the log directory has traces. */
export interface ChartsAnswer {
  revision: number;
  traces: boolean;
  charts: Record<string, SentChart>;
}

/** By line id, the point nearest to a position, among all points of the line. */
export interface ValuesAnswer {
  points: Record<string, PointAt>;
}

/** Scalar tags of the shown runs. */
export interface NamesAnswer {
  tags: string[];
}

/** Steps of all traces, as far as known; left out if the page already has this version. */
export interface StepsNews {
  revision: number;
  version: string;
  pending: boolean;
  traces?: StepsOfTrace[];
}

/** A chart with its version; ``raw_version`` is the same if only the smoothing differs. */
export interface SentChart {
  is_picture: boolean;
  x: AxisAbout;
  lines: SentLine[];
  marks: ([number, number, "NaN" | "+Inf" | "-Inf"])[];
  best: [number, number, number][];
  rules: Rule[];
  note: string;
  empty: string;
  version: string;
  raw_version: string;
  points: number;
}

/** A line's point at a position; numbers that JSON cannot represent are strings. */
export interface PointAt {
  x?: number | string;
  value?: number | string;
  y?: number | string;
  low?: number | string;
  high?: number | string;
  seconds?: number | string;
  step?: number | string;
  members?: number | string;
}

/** Steps of its runs that a trace covers. */
export interface StepsOfTrace {
  id: string;
  run: string;
  label: string;
  kind: string;
  state: "ready" | "waiting" | "large" | "unreadable" | "none";
  problem: string;
  runs: string[];
  joined: "step" | "time" | "marked";
  steps: ([number, number | null, number | null, number, number | null, number | null])[];
  left_out: number;
  range: [number, number] | null;
  wall: [number, number] | null;
}

/** A horizontal axis; for a metric, the label is its tag. */
export interface AxisAbout {
  kind: "step" | "relative" | "wall" | "metric";
  scale: "linear" | "log" | "time";
  suffix: string;
  integer: boolean;
  label: string;
}

/** A line: its number of points, in total and in the visible part, and the places of its columns in the pack. */
export interface SentLine {
  light: string;
  dark: string;
  id: string;
  kind: "run" | "group" | "member";
  label: string;
  tag: string;
  side: "left" | "right";
  dash: number;
  run?: string;
  first?: number | null;
  runs?: string[];
  total: number;
  visible: number;
  columns: Record<string, number>;
}

/** A vertical rule with a title, at a position on the horizontal axis. */
export interface Rule {
  light: string;
  dark: string;
  x: number;
  title: string;
}
