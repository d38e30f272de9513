/** Curves of binary classifiers from the server, their values at a threshold, and how these are formatted. */
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

/** The values of a run at its i-th threshold. */
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
    // If nothing is predicted positive, precision is undefined, whatever was logged.
    precision: predicted ? value("precision") : NaN,
    recall: value("recall"),
    f1: value("f1"),
    accuracy: value("accuracy"),
    mcc: value("mcc"),
  };
}

/** Index of the threshold nearest to t; of two equally near ones, the lower. */
export function nearestThreshold(thresholds: ArrayLike<number>, t: number): number {
  const at = Math.min(lowerBound(thresholds, t), thresholds.length - 1);
  return at > 0 && t - thresholds[at - 1] <= thresholds[at] - t ? at - 1 : at;
}

/** The number by which a chart ranks runs. */
export const rankOf = (view: View): "auc" | "ap" => (view === "roc" ? "auc" : "ap");

/** Runs sorted by the number of the chart, highest first; those without one come last. */
export function ranked<R extends Run>(runs: readonly R[], view: View): R[] {
  const rank = (run: Run) => (isCurve(run) ? run[rankOf(view)] : null) ?? -1;
  return [...runs].sort((one, other) => rank(other) - rank(one));
}

/** The threshold for a key in entries "KEY:THRESHOLD", or 0.5 by default. */
export function thresholdOf(entries: readonly string[], key: string): number {
  for (const entry of entries) {
    const colon = entry.lastIndexOf(":");
    const value = Number(entry.slice(colon + 1));
    if (colon >= 0 && entry.slice(0, colon) === key && value >= 0 && value <= 1) return value;
  }
  return 0.5;
}

/** Formats a ratio; a dash if there is none. */
export const ratio = (value: number | null, digits = 4): string =>
  value === null || Number.isNaN(value) ? "–" : value.toFixed(digits).replace("-", "−");

/** Formats a count, which is whole unless samples are weighted. */
export const amount = (value: number): string =>
  Number.isInteger(value) && value < 1e15 ? integer(value) : shortNumber(value, 5);

/** Formats a share of all in percent; a dash if there are none. */
export const share = (value: number, all: number): string => (all > 0 ? ((value / all) * 100).toFixed(1) + "%" : "–");

/** Formats a threshold with as many digits as needed. */
export const thresholdText = (value: number): string => String(Number(value.toFixed(3)));
