import assert from "node:assert/strict";
import type { SentChart } from "./messages.generated.ts";
import { inliers, keysOf, type Looks, modelOf, received, smooth, smoothed } from "./model.ts";

const LOOKS: Looks = {
  mostKeys: 0,
  weight: 0,
  scheme: "dark",
  hidden: new Set(),
  selected: new Set(),
  outliers: false,
  yScale: "linear",
  range: null,
  spans: [],
};

const sent = (...lines: Partial<SentChart["lines"][0]>[]): SentChart => ({
  is_picture: false,
  x: { kind: "relative", scale: "log", suffix: " s", integer: false, label: "" },
  lines: lines.map((more, index) => ({
    id: String(index),
    kind: "run",
    label: "abc"[index],
    tag: "loss",
    side: "left",
    dash: index,
    light: "#00" + index,
    dark: "#ff" + index,
    run: "abc"[index],
    total: 3,
    visible: 3,
    columns: { x: 0, y: 1, low: 2, high: 2 },
    ...more,
  })),
  marks: [[0, 1, "NaN"]],
  best: [[0, 0, 3], [1, 0, 3]],
  rules: [{ x: 5, title: "a resumed", light: "#000", dark: "#fff" }],
  note: "",
  empty: "",
  version: "1",
  raw_version: "1",
  points: 1000,
});
const ARRAYS = [Float64Array.of(0, 1, 2), Float64Array.of(4, NaN, 2), Float64Array.of(1, 1, 1)];
const rounded = (values: ArrayLike<number>) => Array.from(values, (value) => Number(value.toFixed(6)));

Deno.test("smoothing has no bias of its start, and skips what is not finite", () => {
  // 4, then (0.5 * 0.5 * 4 + 0.5 * 2) / 0.75.
  assert.deepEqual(rounded(smooth([4, NaN, 2], 0.5)), [4, NaN, 2.666667]);
});

Deno.test("points that were left out count by their mean", () => {
  const all = smooth([1, 5, 5, 5], 0.9);
  const thinned = smooth([1, 5], 0.9, [1, 5], [1, 3]);
  assert.deepEqual(rounded(thinned), rounded([all[0], all[3]]));
});

Deno.test("a line without smoothing, or of one value, is itself", () => {
  const [line] = received(sent({}), ARRAYS, 0.6).lines;
  assert.equal(smoothed(line, 0), line.y);
  const flat = { ...line, y: Float64Array.of(2, 2) };
  assert.equal(smoothed(flat, 0.9), flat.y);
});

Deno.test("a thinned line is as the server smoothed it, until the hand asks for another smoothing", () => {
  const [line] = received(sent({ columns: { x: 0, y: 2, mean: 2, count: 2, smooth: 1 } }), ARRAYS, 0.6).lines;
  assert.equal(smoothed(line, 0.6), ARRAYS[1]);
  assert.deepEqual(rounded(smoothed(line, 0.5)), [1, 1, 1]);
});

Deno.test("outliers are beyond the 5th and 95th of a hundred, with a margin", () => {
  const y = Float64Array.from({ length: 101 }, (_, i) => (i === 100 ? 1e9 : i));
  assert.deepEqual(inliers([{ y }], false), [5 - 4.5, 95 + 4.5]);
  assert.equal(inliers([{ y: Float64Array.of(1, 2, NaN) }], false), null);
  assert.deepEqual(inliers([{ y: Float64Array.of(-1, 10, 10, 10) }], true)?.map(Math.log10), [0.9, 1.1]);
});

Deno.test("a hidden run takes its line and its marks along", () => {
  const chart = received(sent({}, {}), ARRAYS, 0);
  const { lines, marks } = modelOf(chart, { ...LOOKS, hidden: new Set(["a"]) });
  assert.deepEqual([lines.map((line) => line.label), marks], [["b"], [
    { x: 0, y: 3, shape: "diamond", color: "#ff1", title: "b: 3", axis: "y" },
  ]]);
});

Deno.test("only selected runs have bands, and a group is selected with one of its runs", () => {
  const chart = received(sent({}, { kind: "group", run: undefined, runs: ["x", "y"] }), ARRAYS, 0);
  const banded = (...runs: string[]) =>
    modelOf(chart, { ...LOOKS, selected: new Set(runs) }).lines.map((line) => line.low !== undefined);
  assert.deepEqual([banded(), banded("a"), banded("y")], [[true, true], [true, false], [false, true]]);
});

Deno.test("lines on the right have an axis and marks of their own", () => {
  const chart = received(sent({}, { side: "right" }), ARRAYS, 0);
  const { lines, marks, x, y, y2 } = modelOf(chart, { ...LOOKS, range: { y2: [0, 9] } });
  assert.deepEqual(
    { axes: lines.map((line) => line.axis), marks: marks.map((mark) => mark.axis ?? mark.edge), x, y, y2 },
    {
      axes: ["y", "y2"],
      marks: ["bottom", "y", "y2"],
      x: { scale: "log", suffix: " s", integer: false, range: null },
      y: { scale: "linear", range: null },
      y2: { scale: "linear", range: [0, 9] },
    },
  );
});

Deno.test("members are thin and never smoothed; runs show what they were before", () => {
  const chart = received(sent({ kind: "member" }, {}), ARRAYS, 0);
  const { lines } = modelOf(chart, { ...LOOKS, weight: 0.5 });
  assert.deepEqual(lines.map(({ width, raw, y }) => [width, raw, rounded(y)]), [
    [0.8, null, [4, NaN, 2]],
    [1.6, ARRAYS[1], [4, NaN, 2.666667]],
  ]);
});

Deno.test("colors are runs, or tags of one run; of several of both, dashes are tags and colors runs", () => {
  const texts = (...lines: Parameters<typeof sent>) => {
    const { keys, tags } = keysOf(received(sent(...lines), ARRAYS, 0).lines, "light");
    return [keys.map(({ label, color, dash }) => [label, color, dash?.length]), tags];
  };
  const [one, other] = [{ label: "x/a", run: "x/a" }, { label: "x/b", run: "x/b", dash: 0 }];
  assert.deepEqual(texts(one, other), [[["a", "#000", 0], ["b", "#001", 0]], 0]);
  assert.deepEqual(texts({ ...one, tag: "loss/train" }, { ...one, tag: "loss/val", side: "right" }), [
    [["train (left axis)", "#000", 0], ["val (right axis)", "#001", 2]],
    2,
  ]);
  const both = [{ ...one, tag: "loss" }, { ...other, tag: "loss" }, { ...one, tag: "lr", dash: 1 }];
  assert.deepEqual(texts(...both), [[["loss", null, 0], ["lr", null, 2], ["a", "#000", undefined], [
    "b",
    "#001",
    undefined,
  ]], 2]);
});

Deno.test("a chart of few lines has its legend on it, one of many only what their dashes are", () => {
  const chart = received(sent({ dash: 0 }, { dash: 0 }, { tag: "lr", dash: 1 }), ARRAYS, 0);
  const legend = (mostKeys: number) => modelOf(chart, { ...LOOKS, mostKeys }).legend.map(({ label }) => label);
  assert.deepEqual([legend(8), legend(3), legend(0)], [["loss", "lr", "a", "b", "c"], ["loss", "lr"], []]);
  const alone = received({ ...sent({}), best: [] }, ARRAYS, 0);
  assert.deepEqual(modelOf(alone, { ...LOOKS, mostKeys: 8 }).legend, []);
});
