/** The cards of the PR curves panel: what the server told of each, and what stands below its chart. */
import type { Axis, StepData } from "../../../web/cards/step_slider.ts";
import { type Curve, isCurve, type Row, type Run, type View } from "./curves.ts";

/** What the layout of a chart has as `meta` (`draw` of dashboard/panels/pr_curves/panel.py). */
export interface ChartMeta {
  view: View;
  runs: Run[];
  slider: StepData;
}
/** A slider over steps in its row. */
export interface StepRow {
  row: HTMLElement;
  slider: { element: HTMLElement; update: (data: StepData, axis: Axis) => void };
}
export interface Parts {
  fill: HTMLElement;
  sliders: HTMLElement;
  /** By run; that of all runs under "". */
  steps: Map<string, StepRow>;
  bar: HTMLElement;
  slider: HTMLInputElement;
  output: HTMLElement;
  marks: HTMLElement;
  table: HTMLElement;
  matrices: HTMLElement;
}
export interface Card {
  readonly key: string;
  meta: ChartMeta;
  parts: Parts | null;
  /** The threshold under the hand. */
  moving: number | null;
  /** What the curves say at the threshold. */
  dots: { run: Curve; row: Row }[];
}

export const cards: Map<string, Card> = new Map();

export const curvesOf = ({ meta }: Card): Curve[] => meta.runs.filter(isCurve);
