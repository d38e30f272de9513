// Made from stepscope.dashboard.runs.messages by `python -m tools.generate_page`; change them there.

/** What the table of runs shows; where it is not whole, what changed since the version ``base``. */
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

/** What runs can be described by. */
export interface RunFields {
  built_in: ("name" | "group" | "step")[];
  hparams: RunField[];
  metrics: MetricField[];
  statistics: ("last" | "min" | "max")[];
  examples: Example[];
  depth: number;
}

/** A run or a tag that was found, a tag with its kind of data; and where in the name the letters are. */
export interface Hit {
  kind: "run" | "tag";
  name: string;
  data: string;
  places: number[];
}

/** A run; of its values, numbers that JSON has not are "NaN", "Infinity" and "-Infinity". */
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

/** A hyperparameter or metric that runs are described by. */
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

/** What colors tell: a scale of numbers, with the colors along it, light and dark. */
export interface ScaleLegend {
  label: string;
  low: number;
  high: number;
  logarithmic: boolean;
  light: string[];
  dark: string[];
}

/** What colors tell: some values, and how many there are besides. */
export interface ValuesLegend {
  label: string;
  entries: PaintedValue[];
  more: number;
}

/** How many settings were trained with several seeds, and with how many runs. */
export interface Seeds {
  settings: number;
  runs: number;
}

/** A hyperparameter that runs can be described by; one that differs has not one value in all runs. */
export interface RunField {
  spec: string;
  label: string;
  kind: "hparam" | "metric";
  differs: boolean;
}

/** A metric that runs can be described by, and how its last value is written in the address. */
export interface MetricField {
  tag: string;
  spec: string;
}

/** A search, and what it shows. */
export interface Example {
  text: string;
  meaning: string;
}

/** A value, and its color. */
export interface PaintedValue {
  light: string;
  dark: string;
  value: string;
}
