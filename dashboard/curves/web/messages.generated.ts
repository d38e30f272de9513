// Made from stepscope.dashboard.curves.messages by `python -m tools.generate_page`; change them there.

/** What is told of a line besides its points. */
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

/** The charts that changed of those that were asked for; and whether the log directory has traces. */
export interface ChartsAnswer {
  revision: number;
  traces: boolean;
  charts: Record<string, SentChart>;
}

/** The points nearest to a place, among all of the lines, by the lines' ids. */
export interface ValuesAnswer {
  points: Record<string, PointAt>;
}

/** Scalar tags of the shown runs. */
export interface NamesAnswer {
  tags: string[];
}

/** Steps of all traces that are known so far, unless they are those of the version that the page has. */
export interface StepsNews {
  revision: number;
  version: string;
  pending: boolean;
  traces?: StepsOfTrace[];
}

/** A chart with its version; ``raw_version`` is equal where nothing but the smoothing differs. */
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

/** What a line has at a place; numbers that JSON has not are texts. */
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

/** Which steps of its runs a trace covers. */
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

/** What a horizontal axis is; of a metric its tag is the label. */
export interface AxisAbout {
  kind: "step" | "relative" | "wall" | "metric";
  scale: "linear" | "log" | "time";
  suffix: string;
  integer: boolean;
  offset_seconds: number;
  label: string;
}

/** A line: how many points it has, in all and in the visible part, and where its columns are in the pack. */
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

/** A place on the horizontal axis that something is to be said of. */
export interface Rule {
  light: string;
  dark: string;
  x: number;
  title: string;
}
