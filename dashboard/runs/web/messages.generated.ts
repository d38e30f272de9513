// Made from stepscope.dashboard.runs.messages by `python -m tools.generate_page`; change them there.

/** Content of the run table; if it is not whole, the changes since version ``base``. */
export interface Listing {
  whole: boolean;
  rows: RunRow[];
  gone: string[];
  columns: RunColumn[];
  groups: RunGroup[];
  group_error: string;
  legend: ScaleLegend | ValuesLegend | null;
  seeds: Seeds;
  placeholder: string;
  total: number;
  loading: boolean;
  found: number;
  whole_table: boolean;
  unlisted: string[];
  searched: boolean;
  last_default: number;
  base: string;
  version: string;
}

/** Fields that can describe runs. */
export interface RunFields {
  built_in: ("name" | "group" | "step")[];
  hparams: RunField[];
  metrics: MetricField[];
  statistics: ("last" | "min" | "max")[];
  examples: Example[];
  depth: number;
}

/** A run or tag that was found, with a tag's kind of data and the positions of the matched letters in the name. */
export interface Hit {
  kind: "run" | "tag";
  name: string;
  data: string;
  places: number[];
}

/** A run; values that JSON cannot represent are "NaN", "Infinity" and "-Infinity". */
export interface RunRow {
  light: string;
  dark: string;
  run: string;
  label: string;
  parent: string | null;
  order: number;
  started: number;
  group: number | null;
  values: (number | string | boolean | null)[];
}

/** A hyperparameter or metric that describes runs. */
export interface RunColumn {
  spec: string;
  label: string;
  kind: "hparam" | "metric";
}

/** A group of runs. */
export interface RunGroup {
  light: string;
  dark: string;
  label: string;
  count: number;
  found: number;
  order: number;
  started: number;
  values: (number | string | boolean | null)[];
  means: boolean[];
}

/** Meaning of the colors: a numeric scale and the colors along it, for the light and the dark scheme. */
export interface ScaleLegend {
  label: string;
  low: number;
  high: number;
  logarithmic: boolean;
  light: string[];
  dark: string[];
}

/** Meaning of the colors: some values, and the number of further values. */
export interface ValuesLegend {
  label: string;
  entries: PaintedValue[];
  more: number;
}

/** Number of settings that were trained with several seeds, and the number of their runs. */
export interface Seeds {
  settings: number;
  runs: number;
}

/** A hyperparameter that can describe runs; ``differs`` is true if it has more than one value. */
export interface RunField {
  spec: string;
  label: string;
  kind: "hparam" | "metric";
  differs: boolean;
}

/** A metric that can describe runs; ``spec`` stands for its last value in the URL. */
export interface MetricField {
  tag: string;
  spec: string;
}

/** A search, and what it shows. */
export interface Example {
  text: string;
  meaning: string;
}

/** A value and its color. */
export interface PaintedValue {
  light: string;
  dark: string;
  value: string;
}
