import assert from "node:assert/strict";
import { when } from "../../../web/core/dom.ts";
import { bandFacts, heatFacts, heightAt, lineFacts, show } from "./facts.ts";

const spec = (...values: number[]) => ({
  dtype: "f8" as const,
  bdata: btoa(String.fromCharCode(...new Uint8Array(new Float64Array(values).buffer))),
});
const asPx = (place: number) => place * 10;
const COLUMNS = { steps: spec(0, 7), walls: spec(1, 2), indices: spec(0, 3), places: spec(0, 7), totals: spec(4, 8) };

Deno.test("values have five digits, and what is none says so", () => {
  assert.deepEqual([1234.5678, -0.5, 0.00001, -2e9, 0, null, NaN, "Infinity"].map(show), [
    "1,234.6",
    "−0.5",
    "1e−5",
    "−2e9",
    "0",
    "–",
    "NaN",
    "Infinity",
  ]);
});

Deno.test("the height of a ridge lies on its line, and beside it there is none", () => {
  const heights = [-1, 0, 0.5, 2, 3, 4].map((x) => heightAt([0, 1, 1, 3], [0, 2, 4, 8], x));
  assert.deepEqual(heights, [null, 0, 1, 6, 8, null]);
  assert.equal(heightAt([], [], 0), null);
});

Deno.test("the bucket of a line is that of the stair under the pointer", () => {
  const meta = { step: 1200, wall: 5, index: 2, total: 8, at: 0, counts: spec(2, 6), run: "a" };
  const stairs = [0, 0, 1, 1, 3, 3];
  assert.deepEqual(lineFacts(stairs, meta, 1.5), {
    index: 2,
    run: "a",
    rows: [
      ["Step", "1,200"],
      ["From", "1"],
      ["To", "3"],
      ["Count", "6 (75%)"],
      ["Total count", "8"],
      ["Time", when(5)],
    ],
  });
  assert.deepEqual(lineFacts(stairs, meta, 0.5)?.rows[3], ["Count", "2 (25%)"]);
  assert.equal(lineFacts([0, 1], meta, 0.5), null);
});

Deno.test("the cell of a heat map is that of the nearest column and the row at the pointer's height", () => {
  const meta = { ...COLUMNS, edges: spec(0, 1, 2), counts: spec(1, 3, 6, 2) };
  const rows = (px: number, y: number) => heatFacts(meta, asPx, px, y)?.rows.slice(0, 5);
  assert.deepEqual(rows(60, 0.5), [
    ["Step", "7"],
    ["From", "0"],
    ["To", "1"],
    ["Count", "6 (75%)"],
    ["Total count", "8"],
  ]);
  assert.deepEqual(rows(10, 1.5)?.[3], ["Count", "3 (75%)"]);
  assert.deepEqual([rows(0, -0.1), rows(0, 2)], [undefined, undefined]);
});

Deno.test("percentiles are told from the largest down", () => {
  const meta = { ...COLUMNS, points: [0, 5000, 9332, 10000], values: spec(0, 1, 2, 3, 10, 11, 12, 13) };
  assert.deepEqual(bandFacts(meta, asPx, 60), {
    index: 3,
    rows: [
      ["Step", "7"],
      ["Max", "13"],
      ["93.32%", "12"],
      ["Median", "11"],
      ["Min", "10"],
      ["Total count", "8"],
      ["Time", when(2)],
    ],
  });
});
