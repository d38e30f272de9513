/** The cards of the PR curves panel: the server's data for each, and what is below its chart. */
import type { slider } from "../../../web/cards/step_slider.ts";
import { isCurve, type Row } from "./curves.ts";
import type { CardMeta, CurveMeta } from "./messages.generated.ts";

/** A step slider in its row. */
export interface StepRow {
  row: HTMLElement;
  slider: ReturnType<typeof slider>;
}
export interface Parts {
  fill: HTMLElement;
  sliders: HTMLElement;
  /** By run; the slider for all runs is under "". */
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
  meta: CardMeta;
  parts: Parts | null;
  /** The threshold that the user is moving. */
  moving: number | null;
  /** The values of the curves at the threshold. */
  dots: { run: CurveMeta; row: Row }[];
}

export const cards: Map<string, Card> = new Map();

export const curvesOf = ({ meta }: Card): CurveMeta[] => meta.runs.filter(isCurve);
