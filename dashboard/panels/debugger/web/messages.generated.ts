// Made from stepscope.dashboard.panels.debugger.messages by `python -m tools.generate_page`; change them there.

export const FIGURES = ["size", "nan", "positive_infinity", "negative_infinity", "zeros", "negatives", "minimum", "maximum", "mean", "variance", "l2", "absolute_mean", "underflow", "overflow"];
export const MOST_ROWS = 1000;

/** All recordings and dumps. */
export interface Recordings {
  revision: number;
  recordings: Recording[];
}

/** Overview of an opened recording; if it cannot be shown, `problem` is the reason and the rest is empty. */
export interface Overview {
  id: string;
  problem: string;
  source: string;
  version: string;
  tensors: number;
  observations: number;
  bad: number;
  steps: number;
  first_step: number;
  last_step: number;
  phases: ("forward" | "backward" | "update" | "parameter" | "shown" | "eager" | "graph")[];
  operations: Operation[];
  modules: string[];
  devices: string[];
  figures: ("size" | "nan" | "positive_infinity" | "negative_infinity" | "zeros" | "negatives" | "minimum" | "maximum" | "mean" | "variance" | "l2" | "absolute_mean" | "underflow" | "overflow")[];
  figure: "size" | "nan" | "positive_infinity" | "negative_infinity" | "zeros" | "negatives" | "minimum" | "maximum" | "mean" | "variance" | "l2" | "absolute_mean" | "underflow" | "overflow";
  problems: string[];
  files: number;
}

/** Everything that went wrong, first to last. */
export interface Alerts {
  verdict: Verdict;
  alerts: AlertRow[];
  total: number;
  rules: RuleCount[];
}

/** A part of the map. `worst`, `mean`, `bad`, `rows` and `steps` are places of columns in `arrays`. */
export interface MapAnswer {
  search_problem: string;
  figure: "size" | "nan" | "positive_infinity" | "negative_infinity" | "zeros" | "negatives" | "minimum" | "maximum" | "mean" | "variance" | "l2" | "absolute_mean" | "underflow" | "overflow";
  total: number;
  begin: number;
  end: number;
  names: MapRow[];
  all_steps: number;
  step_begin: number;
  step_end: number;
  low: number | string | null;
  high: number | string | null;
  least: number | string | null;
  signed: boolean;
  first_bad: MapCell | null;
  lines: number;
  columns: number;
  worst: number;
  mean: number;
  bad: number;
  rows: number;
  edges: number;
  steps: number;
}

/** A figure of a tensor over steps. `steps`, `high`, `low`, `mean` and `bad` are places of columns in `arrays`. */
export interface Curve {
  tensor: TensorFacts;
  figure: "size" | "nan" | "positive_infinity" | "negative_infinity" | "zeros" | "negatives" | "minimum" | "maximum" | "mean" | "variance" | "l2" | "absolute_mean" | "underflow" | "overflow";
  observations: number;
  not_finite: number;
  exact: boolean;
  steps: number;
  high: number;
  low: number;
  mean: number;
  bad: number;
  latest: number | null;
  first_bad: number | null;
}

/** Distribution of a tensor's elements at a step. */
export interface SpreadAnswer {
  step: number;
  edges: number[];
  counts: number[];
  nan: number;
  infinite: number;
  missing: string;
}

/** Some of the observations that pass a filter. */
export interface ObservationPage {
  search_problem: string;
  total: number;
  offset: number;
  rows: ObservationRow[];
}

/** Position of an observation among those that pass a filter. */
export interface ObservationPlace {
  place: number;
  total: number;
}

/** Everything known about one observation. */
export interface ObservationDetails {
  number: number;
  tensor: TensorFacts;
  step: number;
  wall: number | string | null;
  device: string;
  health: "good" | "not_finite" | "infinite" | "nan";
  figures: FigureOf[];
  stack: CodeLine[];
  excerpt: Excerpt | null;
  inputs: Related[];
  consumers: Related[];
  inside: Related | null;
  bad_input: number | null;
  previous: number | null;
  following: number | null;
  verdict: string;
  has_value: boolean;
  graph: string;
}

/** The place in a graph where a tensor is made. */
export interface GraphPlace {
  graph: string;
  node: string;
  problem: string;
}

/** A kept value. `slice`, `numbers`, `edges` and `counts` are places of columns in `arrays`. */
export interface ValueAnswer {
  shape: number[];
  dtype: string;
  leading: number[];
  at: number[];
  rows: number;
  columns: number;
  block: [number, number];
  nan: number;
  infinite: number;
  spread_of: number;
  slice: number;
  numbers: number;
  edges: number;
  counts: number;
}

/** All source files that were kept. */
export interface SourceList {
  files: SourceRow[];
}

/** A source file with its marks. */
export interface SourceAnswer {
  path: string;
  host: string;
  lines: string[];
  marks: LineMark[];
  left_out: number;
}

/** Comparison of two recordings, first difference first. */
export interface CompareAnswer {
  sentence: string;
  differences: DifferenceRow[];
  total: number;
  matched: number;
  only_first: string[];
  only_second: string[];
  only_first_total: number;
  only_second_total: number;
  compared: number;
  left_out: number;
}

/** A recording or dump of the log directory. */
export interface Recording {
  id: string;
  run: string;
  title: string;
  label: string;
  kind: "recording" | "tfdbg";
  modified: number;
  scalars: boolean;
}

/** A kind of operation, and the number of tensors it makes. */
export interface Operation {
  name: string;
  tensors: number;
}

/** Verdict on what went bad first. */
export interface Verdict {
  sentence: string;
  good: boolean;
  tensor: TensorFacts | null;
  observation: number | null;
  step: number;
  line: CodeLine | null;
}

/** Something that went wrong. */
export interface AlertRow {
  rule: string;
  title: string;
  step: number;
  wall: number | string | null;
  message: string;
  tensor: TensorFacts | null;
  observation: number | null;
  line: CodeLine | null;
}

/** Number of alerts that a rule raised. */
export interface RuleCount {
  rule: string;
  title: string;
  alerts: number;
}

/** The first tensor of a line of the map. */
export interface MapRow {
  number: number;
  name: string;
  phase: "forward" | "backward" | "update" | "parameter" | "shown" | "eager" | "graph";
  module: string;
  op: string;
}

/** A cell of the map. */
export interface MapCell {
  row: number;
  step: number;
  tensor: number;
  observation: number;
}

/** Facts about a tensor that do not depend on its value. */
export interface TensorFacts {
  number: number;
  name: string;
  phase: "forward" | "backward" | "update" | "parameter" | "shown" | "eager" | "graph";
  module: string;
  op: string;
  slot: number;
  dtype: string;
  shape: string;
  graph: string;
}

/** A row of the list of executions. */
export interface ObservationRow {
  number: number;
  step: number;
  wall: number | string | null;
  tensor: number;
  name: string;
  phase: "forward" | "backward" | "update" | "parameter" | "shown" | "eager" | "graph";
  module: string;
  op: string;
  dtype: string;
  shape: string;
  device: string;
  health: "good" | "not_finite" | "infinite" | "nan";
  nan: number | string | null;
  infinite: number | string | null;
  size: number | string | null;
  minimum: number | string | null;
  maximum: number | string | null;
  l2: number | string | null;
}

/** A figure of an observation. */
export interface FigureOf {
  name: "size" | "nan" | "positive_infinity" | "negative_infinity" | "zeros" | "negatives" | "minimum" | "maximum" | "mean" | "variance" | "l2" | "absolute_mean" | "underflow" | "overflow";
  value: number | string | null;
}

/** A line of code on the call stack of an operation. */
export interface CodeLine {
  path: string;
  line: number;
  function: string;
  code: string;
  library: boolean;
  kept: boolean;
}

/** Lines of code around a given line. */
export interface Excerpt {
  path: string;
  first: number;
  line: number;
  lines: string[];
}

/** An input, or a tensor computed from the value, with the observation that belongs to it; null if there is none. */
export interface Related {
  tensor: TensorFacts;
  observation: number | null;
  step: number;
  health: "good" | "not_finite" | "infinite" | "nan" | null;
  minimum: number | string | null;
  maximum: number | string | null;
  l2: number | string | null;
  nan: number | string | null;
}

/** A source file. */
export interface SourceRow {
  index: number;
  path: string;
  host: string;
  lines: number;
  marked: number;
  bad: number;
  library: boolean;
}

/** Tensors made with a line on the call stack. */
export interface LineMark {
  line: number;
  tensors: number;
  observed: number;
  bad: number;
  first_bad: number | null;
  first_tensor: number;
  names: string[];
}

/** A tensor that differs between two recordings. */
export interface DifferenceRow {
  tensor: TensorFacts;
  step: number;
  observation: number;
  other_observation: number;
  figure: "size" | "nan" | "positive_infinity" | "negative_infinity" | "zeros" | "negatives" | "minimum" | "maximum" | "mean" | "variance" | "l2" | "absolute_mean" | "underflow" | "overflow";
  value: number | string | null;
  other_value: number | string | null;
  relative: number;
  largest: number;
  differing: number;
  compared: number;
}
