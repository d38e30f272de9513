import assert from "node:assert/strict";
import { amount, nearestThreshold, ranked, ratio, rowAt } from "./curves.ts";
import { share, thresholdOf, thresholdText } from "./curves.ts";
import type { CurveMeta, RunMeta } from "./messages.generated.ts";

const spec = (...values: number[]) => ({
  dtype: "f8" as const,
  bdata: btoa(String.fromCharCode(...new Uint8Array(new Float64Array(values).buffer))),
});
const bare = (run: string): RunMeta => ({
  run,
  light: "",
  dark: "",
  color: "",
  said: "",
  wall: null,
  seconds: null,
  index: null,
  step: null,
});
const curve = (run: string, ap: number | null, auc: number | null): CurveMeta => ({
  ...bare(run),
  index: 0,
  step: 0,
  thresholds: spec(0, 0.5, 1),
  tp: spec(4, 3, 0),
  fp: spec(6, 1, 0),
  tn: spec(0, 5, 6),
  fn: spec(0, 1, 4),
  precision: spec(0.4, 0.75, 1),
  recall: spec(1, 0.75, 0),
  f1: spec(0.57, 0.75, 0),
  accuracy: spec(0.4, 0.8, 0.6),
  mcc: spec(0, 0.58, 0),
  fpr: null,
  tpr: null,
  shown: 2,
  best: 1,
  baseline: 0.4,
  ap,
  auc,
});

Deno.test("a row has the counts and rates of its threshold", () => {
  assert.deepEqual(rowAt(curve("a", 1, 1), 1), {
    i: 1,
    predicted: true,
    threshold: 0.5,
    tp: 3,
    fp: 1,
    tn: 5,
    fn: 1,
    precision: 0.75,
    recall: 0.75,
    f1: 0.75,
    accuracy: 0.8,
    mcc: 0.58,
  });
});

Deno.test("where nothing is predicted positive there is no precision, whatever was written", () => {
  const { predicted, precision } = rowAt(curve("a", 1, 1), 2);
  assert.deepEqual([predicted, precision], [false, NaN]);
});

Deno.test("the nearest threshold is the lower of two that are as near", () => {
  const at = [-1, 0.2, 0.25, 0.3, 0.75, 9].map((t) => nearestThreshold([0, 0.5, 1], t));
  assert.deepEqual(at, [0, 0, 0, 1, 1, 2]);
  assert.equal(nearestThreshold([0.3], 0.9), 0);
});

Deno.test("runs are ranked by the number of their chart, those without one last", () => {
  const runs = [bare("none"), curve("a", 0.2, 0.9), curve("b", 0.8, 0.1), curve("c", null, 0.5)];
  assert.deepEqual(ranked(runs, "pr").map(({ run }) => run), ["b", "a", "none", "c"]);
  assert.deepEqual(ranked(runs, "roc").map(({ run }) => run), ["a", "c", "b", "none"]);
});

Deno.test("the threshold of a card is that of its key, and 0.5 without one or with nonsense", () => {
  const entries = ["a:b:0.25", "c:1.5", "d:x"];
  assert.deepEqual(["a:b", "c", "d", "e"].map((key) => thresholdOf(entries, key)), [0.25, 0.5, 0.5, 0.5]);
});

Deno.test("ratios, counts and parts are written as they are read", () => {
  assert.deepEqual([ratio(0.98765), ratio(-0.5, 2), ratio(null), ratio(NaN)], ["0.9877", "−0.50", "–", "–"]);
  assert.deepEqual([0, 12345, 1.5, 123456.789, 2.5e-5, 1.5e7 + 0.5].map(amount), [
    "0",
    "12,345",
    "1.5",
    "123,457",
    "2.5e−5",
    "1.5e7",
  ]);
  assert.deepEqual([share(1, 3), share(0, 0), thresholdText(0.5004)], ["33.3%", "–", "0.5"]);
});
