// Made from stepscope.dashboard.panels.histograms.messages by `python -m tools.generate_page`; change them there.

/** A chart of all runs of a tag at one step. */
export interface RunsMeta {
  mode: "runs";
  tag: string;
  runs: LegendRun[];
  slider: StepData;
}

/** A chart of one run over steps. */
export interface RunMeta {
  mode: "offset" | "overlay" | "heatmap" | "bands";
  tag: string;
  run: string;
  color: string;
}

/** A line of a chart with its baseline at ``at``; with its run if the chart has several. */
export interface LineMeta {
  step: number;
  wall: number;
  index: number;
  total: number;
  at: number;
  counts: TypedArray;
  run?: string;
}

/** The counts of a heat map, column by column, and the edges of its rows. */
export interface HeatMeta {
  steps: TypedArray;
  walls: TypedArray;
  indices: TypedArray;
  places: TypedArray;
  totals: TypedArray;
  edges: TypedArray;
  counts: TypedArray;
}

/** The values at percentiles, column by column; the percentiles are in hundredths of a percent. */
export interface BandMeta {
  steps: TypedArray;
  walls: TypedArray;
  indices: TypedArray;
  places: TypedArray;
  totals: TypedArray;
  values: TypedArray;
  points: number[];
}

/** A chart with a column for every step; arrays have one number for each. */
export interface ColumnMeta {
  steps: TypedArray;
  walls: TypedArray;
  indices: TypedArray;
  places: TypedArray;
  totals: TypedArray;
}

/** A histogram's outline and statistics; ``foot`` is the height that a logarithmic scale draws as 1, else 0. */
export interface DescribedHistogram {
  index: number;
  points: number;
  step: number;
  wall: number | string;
  error: "";
  x: TypedArray;
  y: TypedArray;
  counts: TypedArray;
  low: number;
  high: number;
  foot: number;
  bins: number;
  dropped: number;
  statistics: StatisticsRow;
  left_out: Record<string, number>;
}

/** Why a histogram cannot be read. */
export interface DamagedHistogram {
  index: number;
  points: number;
  step: number;
  wall: number | string;
  error: string;
}

/** A run of a card with all runs. */
export interface LegendRun {
  run: string;
  light: string;
  dark: string;
  said: string;
  drawn: boolean;
}

/** What a slider over steps offers: columns as long as each other, and how many steps there are. */
export interface StepData {
  steps: TypedArray;
  walls: TypedArray;
  seconds: TypedArray;
  of: number;
}

/** Numbers as Plotly takes them: their type and, in base64, their bytes. */
export interface TypedArray {
  dtype: "i1" | "i2" | "i4" | "u1" | "u2" | "u4" | "f4" | "f8";
  bdata: string;
}

/** Statistics of the values of a histogram. */
export interface StatisticsRow {
  count: number | string;
  smallest: number | string;
  largest: number | string;
  mean: number | string;
}
