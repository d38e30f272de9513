// Made from stepscope.dashboard.panels.timeline.messages by `python -m tools.generate_page`; change them there.

/** The traces of the log directory. */
export interface TracesAnswer {
  revision: number;
  traces: TraceRow[];
}

/** A trace that cannot be shown. */
export interface ClosedTrace {
  id: string;
  problem: string;
}

/** Facts about a trace that the panel needs before drawing. */
export interface TraceSummary {
  lanes: LaneRow[];
  lanes_total: number;
  groups: LaneGroup[];
  lane_labels: string[];
  counter_labels: string[];
  id: string;
  label: string;
  run: string;
  start_ns: string;
  end: number;
  work: [number, number];
  slices: number;
  steps: [number, string, number, number][];
  steps_total: number;
  counters: CounterRow[];
  categories: string[];
  longest: number;
  losses: Record<string, number>;
  counted: Record<string, string>;
  examples: Record<string, string>;
  meanings: Record<string, string>;
  notes: string[];
  coverage: Coverage;
}

/** Some lanes of a trace, with labels for them and for all counters. */
export interface LanesAnswer {
  lanes: LaneRow[];
  lanes_total: number;
  groups: LaneGroup[];
  lane_labels: string[];
  counter_labels: string[];
}

/** The header of a window of slices, whose columns follow. */
export interface WindowHeader {
  n: number;
  start: number;
  end: number;
  bucket: number;
  names: string[];
  categories: string[];
  value: boolean;
  rows: number[];
  rows_left_out: number;
}

/** The slices that a search found, ordered by start: their number, a page of them, and their positions. */
export interface Matches {
  count: number;
  rank: number;
  offset: number;
  index: number[];
  start: number[];
  duration: number[];
  lane: number[];
  depth: number[];
  names: string[];
  minimap: number[];
}

/** A counter between two times: all points, or the extremes per bucket. */
export interface CounterWindow {
  counter: number;
  time: number[];
  value: (number | null)[];
  points: number;
  reduced: boolean;
}

/** A slice: its arguments, the slices around and in it, the occurrences of its name, flows and neighbors. */
export interface SliceDetails {
  index: number;
  name: string;
  lane: number;
  depth: number;
  start: number;
  duration: number;
  category: string;
  process: string;
  lane_name: string;
  arguments: Record<string, unknown>;
  occurrences: Occurrences;
  incoming: FlowEnds;
  outgoing: FlowEnds;
  previous: number | null;
  next: number | null;
  step: number | null;
  stack: SliceRow[];
  children: Children;
}

/** Relations of a slice to others. */
export interface Relations {
  index: number;
  kind: string;
  launch: SliceRow | null;
  launched: Launched;
  operator: SliceRow | null;
  call_stack: string[];
  queue_ns: number | null;
  table: TableRow | null;
}

/** Statistics of the slices that share a slice's name. */
export interface OccurrencesAnswer {
  place: number;
  previous: number | null;
  next: number | null;
  index: number;
  name: string;
  scope: "all" | "lane" | "step";
  count: number;
  total: number;
  mean: number;
  median: number;
  p95: number;
  min: number;
  max: number;
  std: number;
  histogram: DurationHistogram;
  rank: number;
  percentile: number;
  longest: SliceRow[];
  steps: OccurrencesByStep | null;
}

/** Alignment of traces. */
export interface AlignmentAnswer {
  by: string;
  traces: AlignedTrace[];
  notes: string[];
}

/** Collectives that at least two traces have. */
export interface CollectivesAnswer {
  traces: string[];
  count: number;
  rows: CollectiveRow[];
}

/** Comparison of two traces by name, as parallel lists, largest change first. */
export interface DifferencesAnswer {
  window: number;
  rows: number;
  verdicts: Record<string, number>;
  totals: Record<string, [number, number]>;
  name: string[];
  category: string[];
  side: string[];
  count: [number[], number[]];
  total: [number[], number[]];
  mean: [(number | null)[], (number | null)[]];
  change: number[];
  verdict: string[];
}

/** The critical path of one step or of all. */
export interface PathAnswer {
  bounds: string[];
  explained: string[];
  names: string[];
  slice: number[];
  lane: number[];
  depth: number[];
  start: number[];
  end: number[];
  bound: number[];
  name: number[];
  count: number[];
  origin: number[];
  origin_lane: number[];
  origin_depth: number[];
  totals: Record<string, SumOf>;
  parts: number;
  total: number;
  begin: number;
  finish: number;
  step: number | null;
}

/** Idle gaps of devices or lanes. */
export interface IdleAnswer {
  causes: string[];
  lane: number[];
  start: number[];
  end: number[];
  cause: number[];
  share: number[];
  count: number[];
  slice: number[];
  left_out: number;
  totals: Record<string, SumOf>;
  lanes: Record<string, number[]>;
  of: string;
  scope: string;
}

/** Totals of the slices of some lanes between two times. */
export interface AreaAnswer {
  start: number;
  end: number;
  slices: number;
  names_total: number;
  categories_total: number;
  by_name: AreaRow[];
  by_category: AreaRow[];
  lanes_total: number;
  by_lane: AreaLane[];
  counters: AreaCounter[];
}

/** A trace to choose. */
export interface TraceRow {
  id: string;
  run: string;
  label: string;
  kind: string;
  step: number | null;
  size: number | null;
  recorded: number | null;
}

/** A lane; ``lane`` is its number in the trace, and ``depths`` are the rows that are drawn. */
export interface LaneRow {
  lane: number;
  process: string;
  name: string;
  pid: number | string;
  tid: number | string;
  kind: "host" | "device" | "stream" | "memcpy" | "other";
  depths: number;
}

/** Lanes and counters that belong together, in display order. */
export interface LaneGroup {
  title: string;
  short: string;
  kind: "host" | "device" | "counters" | "tensors" | "profiler";
  lanes: number[];
  counters: number[];
}

/** A counter of a trace. */
export interface CounterRow {
  process: string;
  name: string;
  series: string;
  points: number;
  min: number | null;
  max: number | null;
}

/** Strips of the minimap. */
export interface Coverage {
  start: number;
  end: number;
  strips: Strip[];
}

/** Durations of the slices of one name. */
export interface Occurrences {
  count: number;
  total: number;
  mean: number;
  min: number;
  max: number;
}

/** Arrows to or from a slice; if there are many, the first ones. */
export interface FlowEnds {
  total: number;
  slices: FlowEnd[];
}

/** A slice as shown in lists and tables. */
export interface SliceRow {
  index: number;
  name: string;
  lane: number;
  depth: number;
  start: number;
  duration: number;
}

/** Direct children of a slice on its lane, longest first. */
export interface Children {
  count: number;
  own_ns: number;
  slices: SliceRow[];
}

/** Slices that a slice launched on devices, in order of start. */
export interface Launched {
  count: number;
  total_ns: number;
  slices: SliceRow[];
}

/** Location of a slice in the Profile panel. */
export interface TableRow {
  page: string;
  row: string;
}

/** Number of durations between edges. */
export interface DurationHistogram {
  edges: number[];
  counts: number[];
}

/** The slices of one name per step, as parallel lists. */
export interface OccurrencesByStep {
  number: number[];
  count: number[];
  total: number[];
  mean: (number | null)[];
}

/** Offset by which a trace is moved. */
export interface AlignedTrace {
  id: string;
  offset: number;
}

/** A collective: for each trace, its slice, its duration, and how long it waited there for others. */
export interface CollectiveRow {
  name: string;
  step: number | null;
  number: number;
  slices: (SliceRow | null)[];
  duration: (number | null)[];
  wait: (number | null)[];
}

/** Total nanoseconds, and the number of parts. */
export interface SumOf {
  ns: number;
  count: number;
}

/** Totals of the slices of one name or one category in an area. */
export interface AreaRow {
  name?: string;
  category: string;
  count: number;
  total_ns: number;
  own_ns: number;
  mean_ns: number;
  min_ns: number;
  max_ns: number;
  longest: number;
}

/** Totals of the slices of a lane in an area. */
export interface AreaLane {
  lane: number;
  count: number;
  busy_ns: number;
  share: number;
}

/** The values of a counter in an area; the mean is over time. */
export interface AreaCounter {
  counter: number;
  min: number;
  mean: number;
  max: number;
}

/** How busy a lane or process is along the trace, from 0 to 100. */
export interface Strip {
  kind: "host" | "device" | "stream" | "memcpy" | "other";
  busy: number[];
}

/** A slice at the other end of an arrow. */
export interface FlowEnd {
  index: number;
  name: string;
  lane: number;
  depth: number;
  start: number;
  duration: number;
  category: string;
  kind: string | null;
}
