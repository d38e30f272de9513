/** Curves of binary classifiers as the server tells them, what they say at a threshold, and that in words. */
import { numbers } from "../../../web/core/dom.ts";
import { integer, shortNumber } from "../../../web/core/numbers.ts";
import { lowerBound } from "../../../web/core/steps.ts";
import type { CardMeta, CurveMeta, RunMeta } from "./messages.generated.ts";

export const COUNTS = ["tp", "fp", "tn", "fn"] as const;
export const RATES = ["precision", "recall", "f1", "accuracy", "mcc"] as const;
export type Rate = typeof RATES[number];
type Measured = typeof COUNTS[number] | Rate;

export type Run = RunMeta | CurveMeta;
export type View = CardMeta["view"];

export const isCurve = (run: Run): run is CurveMeta => "thresholds" in run;

/** What a run says at one of its thresholds, which is its i-th. */
export type Row = Record<Measured, number> & { i: number; threshold: number; predicted: boolean };

export function rowAt(curve: CurveMeta, i: number): Row {
  const value = (name: Measured | "thresholds") => numbers(curve[name])[i];
  const predicted = i < curve.shown;
  return {
    i,
    predicted,
    threshold: value("thresholds"),
    tp: value("tp"),
    fp: value("fp"),
    tn: value("tn"),
    fn: value("fn"),
    // Nothing is predicted positive: precision is not defined, whatever was written.
    precision: predicted ? value("precision") : NaN,
    recall: value("recall"),
    f1: value("f1"),
    accuracy: value("accuracy"),
    mcc: value("mcc"),
  };
}

/** Place of the threshold nearest to t, the lower of two that are as near. */
export function nearestThreshold(thresholds: ArrayLike<number>, t: number): number {
  const at = Math.min(lowerBound(thresholds, t), thresholds.length - 1);
  return at > 0 && t - thresholds[at - 1] <= thresholds[at] - t ? at - 1 : at;
}

/** The number that a chart ranks runs by. */
export const rankOf = (view: View): "auc" | "ap" => (view === "roc" ? "auc" : "ap");

/** Runs by the number of the chart, highest first; those without one last. */
export function ranked<R extends Run>(runs: readonly R[], view: View): R[] {
  const rank = (run: Run) => (isCurve(run) ? run[rankOf(view)] : null) ?? -1;
  return [...runs].sort((one, other) => rank(other) - rank(one));
}

/** The threshold that entries "KEY:THRESHOLD" have for a key, or else 0.5. */
export function thresholdOf(entries: readonly string[], key: string): number {
  for (const entry of entries) {
    const colon = entry.lastIndexOf(":");
    const value = Number(entry.slice(colon + 1));
    if (colon >= 0 && entry.slice(0, colon) === key && value >= 0 && value <= 1) return value;
  }
  return 0.5;
}

/** A ratio; a dash where there is none. */
export const ratio = (value: number | null, digits = 4): string =>
  value === null || Number.isNaN(value) ? "–" : value.toFixed(digits).replace("-", "−");

/** Counts are whole unless samples are weighted. */
export const amount = (value: number): string =>
  Number.isInteger(value) && value < 1e15 ? integer(value) : shortNumber(value, 5);

/** A part of all, in percent; a dash where there is nothing. */
export const share = (value: number, all: number): string => (all > 0 ? ((value / all) * 100).toFixed(1) + "%" : "–");

/** A threshold with as many digits as it needs. */
export const thresholdText = (value: number): string => String(Number(value.toFixed(3)));
