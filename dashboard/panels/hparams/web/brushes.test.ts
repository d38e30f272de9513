import assert from "node:assert/strict";
import { brushesIn, inside, moved, widened, written } from "./brushes.ts";
import type { Cell } from "./payload.ts";
import { scaleFor } from "./scales.ts";

const ROWS: { v: Cell[] }[] = [[0.1, "adam"], [0.2, "sgd"], [null, "sgd"], [NaN, "adam"], [0.3, null]].map((v) => ({
  v,
}));
const axis = (key: string, place: number, type: "number" | "text") => ({
  column: { key, place },
  scale: scaleFor({ kind: "hparam", type, values: [] }, ROWS.map((row) => row.v[place]), undefined),
});
const AXES = [axis("lr", 0, "number"), axis("opt", 1, "text")];

Deno.test("rows lie inside every brush, those without a value in none", () => {
  assert.deepEqual(inside(ROWS, AXES, new Map([["lr", [0.1, 0.3]]])), new Set([0, 1, 4]));
  assert.deepEqual(inside(ROWS, AXES, new Map([["opt", [1, 1]]])), new Set([1, 2]));
  assert.deepEqual(inside(ROWS, AXES, new Map([["lr", [0.2, 9]], ["opt", [0, 1]]])), new Set([1]));
  assert.deepEqual(inside(ROWS, AXES, new Map([["gone", [0, 1]]])), new Set([0, 1, 2, 3, 4]));
});

Deno.test("bounds are read where low is not above high, and written with six digits", () => {
  const brushes = brushesIn(new Map([["lr", "0.1:0.30000000001"], ["bad", "2:1"], ["odd", "x:1"]]));
  assert.deepEqual(brushes, new Map([["lr", [0.1, 0.30000000001]]]));
  assert.deepEqual(written(brushes), new Map([["lr", "0.1:0.3"]]));
});

Deno.test("widened bounds still hold what they held when they are written", () => {
  const widest = (low: number, high: number) => written(new Map([["lr", widened([low, high])]])).get("lr");
  assert.equal(widest(0.12345678, 0.98765432), "0.123456:0.987655");
  assert.equal(widest(-0.98765432, 0), "-0.987655:0");
});

Deno.test("bounds decades apart are each as exact as the other", () => {
  assert.deepEqual(written(new Map([["lr", widened([1.23456789e-7, 0.5])]])), new Map([["lr", "1.23456e-7:0.5"]]));
});

Deno.test("an axis is moved, not beyond the ends", () => {
  assert.deepEqual(moved(["a", "b", "c"], 0, 1), ["b", "a", "c"]);
  assert.deepEqual([moved(["a", "b", "c"], 2, -3), moved(["a", "b", "c"], 0, 9)], [["c", "a", "b"], ["b", "c", "a"]]);
});
