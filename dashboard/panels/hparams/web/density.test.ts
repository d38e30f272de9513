import assert from "node:assert/strict";
import { alphaOf, between, binsOf, isCounted, outside } from "./density.ts";
import { scaleFor } from "./scales.ts";

const number = { key: "lr", kind: "hparam" as const, type: "number" as const, values: [] };
const side = (values: number[], chosen: string) => ({ column: number, scale: scaleFor(number, values, chosen) });

Deno.test("numbers are cut into bins of equal room on their scale", () => {
  assert.deepEqual(binsOf(side([0, 8], "linear"), 4), {
    asked: { key: "lr", cuts: [2, 4, 6], positive: false },
    middles: [0.125, 0.375, 0.625, 0.875],
  });
  const { asked, middles } = binsOf(side([-1, 1, 100], "log"), 2);
  assert.ok("cuts" in asked && asked.positive && Math.abs(asked.cuts[0] - 10) < 1e-9);
  assert.deepEqual(middles, [0.25, 0.75]);
});

Deno.test("one value is one bin in the middle, and equal cuts are one", () => {
  assert.deepEqual(binsOf(side([3, 3], "linear"), 4), {
    asked: { key: "lr", cuts: [], positive: false },
    middles: [0.5],
  });
  const { asked } = binsOf(side([0, 1, 1, 1, 1, 1, 1, 2], "quantile"), 8);
  assert.ok("cuts" in asked && asked.cuts.every((cut, at) => !at || cut > asked.cuts[at - 1]));
});

Deno.test("texts are a bin each", () => {
  const column = { key: "opt", kind: "hparam" as const, type: "text" as const, values: ["adam", "sgd"] };
  const scale = scaleFor(column, ["sgd", "adam"], undefined);
  assert.deepEqual(binsOf({ column, scale }, 96), {
    asked: { key: "opt", labels: ["adam", "sgd"] },
    middles: [0.25, 0.75],
  });
});

Deno.test("ends beyond those of a scale are told", () => {
  const sides = [side([1, 2], "linear")];
  assert.deepEqual(outside(sides, { lr: [1, 2] }), new Map());
  assert.deepEqual(outside(sides, { lr: [0.5, 2] }), new Map([["lr", [0.5, 2]]]));
  assert.deepEqual(outside(sides, {}), new Map());
});

Deno.test("as many sessions go through each column of pixels, along the lines between their bins", () => {
  const width = 4;
  // Three at the upper left go to the lower right, two have no place on the left.
  const counts = Uint32Array.from([0, 3, 0, 2, 0, 0]);
  const found = between(counts, [[10, 30], [10, 20, 30]], width, 40);
  const rows = Array.from(
    { length: width },
    (_, x) => Array.from({ length: 40 }, (_, y) => found[y * width + x]).map((value, y) => value * y),
  );
  const sums = rows.map((column) => column.reduce((one, other) => one + other));
  const totals = Array.from(
    { length: width },
    (_, x) => Array.from({ length: 40 }, (_, y) => found[y * width + x]).reduce((one, other) => one + other),
  );
  assert.deepEqual(totals.map((total) => Math.round(total * 1000) / 1000), Array(width).fill(5 * 2.5));
  // The mean height is that of the lines: 11.25, 13.75, 16.25, 18.75 and 27.5, 22.5, 17.5, 12.5.
  const expected = [0, 1, 2, 3].map((x) => (3 * (11.25 + 2.5 * x) + 2 * (27.5 - 5 * x)) / 5);
  sums.forEach((sum, x) => assert.ok(Math.abs(sum / totals[x] - expected[x]) < 1));
});

Deno.test("the fewest are seen beside the most", () => {
  assert.ok(alphaOf(1, 100_000) > 0.05);
  assert.equal(alphaOf(7, 7), 0.75);
});

Deno.test("a text for each of very many sessions, and no number at all, are not counted", () => {
  const text = (count: number) => {
    const labels = Array.from({ length: count }, (_, at) => `trial ${at}`);
    return scaleFor({ kind: "hparam", type: "text", values: [] }, labels, undefined);
  };
  assert.deepEqual([512, 513].map((count) => isCounted(text(count))), [true, false]);
  assert.deepEqual([[1], [NaN]].map((values) => isCounted(scaleFor(number, values, undefined))), [true, false]);
});
