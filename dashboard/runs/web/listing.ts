/** What the server tells of runs (dashboard/runs/listing.py). */

/** A value of a run in a column; numbers that JSON has not are "NaN", "Infinity" and "-Infinity". */
export type Value = number | string | boolean | null;

/** What is drawn in one colour in the light scheme, and in another in the dark one. */
export interface Painted {
  light: string;
  dark: string;
}

/** A run as the server tells it. */
export interface RunRow extends Painted {
  run: string;
  /** What it is called on the screen. */
  label: string;
  /** Its place among all runs by their first events. */
  order: number;
  /** Seconds since 1970 of its first event. */
  started: number;
  /** Its place among the groups. */
  group: number | null;
  /** One for each column. */
  values: Value[];
}

/** A hyperparameter or metric that runs are described by. */
export interface RunColumn {
  spec: string;
  label: string;
  kind: "hparam" | "metric";
}

export interface RunGroup extends Painted {
  label: string;
  count: number;
}

/** What colours tell: a scale of numbers, light and dark along it, */
export interface ScaleLegend {
  label: string;
  low: number;
  high: number;
  logarithmic: boolean;
  light: string[];
  dark: string[];
}

/** or some values, and how many there are besides. */
export interface ValuesLegend {
  label: string;
  entries: (Painted & { value: string })[];
  more: number;
}

/** What surrounds the rows. */
export interface Surroundings {
  columns: RunColumn[];
  groups: RunGroup[];
  groupError: string;
  legend: ScaleLegend | ValuesLegend | null;
  /** How many settings were trained with several seeds, and with how many runs. */
  seeds: { settings: number; runs: number };
  total: number;
  loading: boolean;
  defaultRuns: number;
}

/** All rows that pass the search, or those that changed since the version `base`. */
export interface Listing extends Surroundings {
  whole: boolean;
  rows: RunRow[];
  gone: string[];
  base: string;
  version: string;
}

/** What runs can be described by (dashboard/runs/routes.py). */
export interface RunFields {
  builtIn: string[];
  hparams: (RunColumn & { differs: boolean })[];
  metrics: { tag: string; spec: string }[];
  statistics: string[];
  depth: number;
}
