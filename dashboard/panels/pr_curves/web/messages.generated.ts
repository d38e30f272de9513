// Made from stepscope.dashboard.panels.pr_curves.messages by `python -m tools.generate_page`; change them there.

/** The runs of a chart, and what their shared slider offers. */
export interface CardMeta {
  view: "pr" | "roc" | "steps";
  runs: (RunMeta | CurveMeta)[];
  slider: StepData;
}

/** A run that has no curve, or none at the step. */
export interface RunMeta {
  run: string;
  light: string;
  dark: string;
  color: string;
  said: string;
  wall: number | null;
  seconds: number | null;
  slider?: StepData;
  key?: string;
  index: number | null;
  step: number | null;
}

/** A run with its curve: values by threshold, where F1 is highest, and from where nothing is predicted positive. */
export interface CurveMeta {
  run: string;
  light: string;
  dark: string;
  color: string;
  said: string;
  wall: number | null;
  seconds: number | null;
  slider?: StepData;
  key?: string;
  index: number;
  step: number;
  thresholds: TypedArray;
  tp: TypedArray;
  fp: TypedArray;
  tn: TypedArray;
  fn: TypedArray;
  precision: TypedArray;
  recall: TypedArray;
  f1: TypedArray;
  accuracy: TypedArray;
  mcc: TypedArray;
  fpr: TypedArray | null;
  tpr: TypedArray | null;
  shown: number;
  best: number | null;
  baseline: number | null;
  ap: number | null;
  auc: number | null;
}

/** A line over steps. */
export interface TrackMeta {
  role: "track";
  run: string;
  color: string;
  steps: TypedArray;
  walls: TypedArray;
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
