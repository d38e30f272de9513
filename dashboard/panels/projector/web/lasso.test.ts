import assert from "node:assert/strict";
import { contains, rowsIn, Trail } from "./lasso.ts";

const HOOK = [0, 0, 30, 0, 30, 30, 20, 30, 20, 10, 0, 10];

Deno.test("a place in the bay of a hook is outside", () => {
  assert.equal(contains([], 1, 1), false);
  assert.deepEqual([[5, 5], [25, 25], [5, 25]].map(([x, y]) => contains(HOOK, x, y)), [true, true, false]);
});

Deno.test("rows inside are in ascending order", () => {
  const [x, y] = [Float32Array.of(5, 25, 5, 25), Float32Array.of(5, 25, 25, 5)];
  assert.deepEqual(rowsIn(HOOK, [3, 2, 1, 0], x, y), Uint32Array.of(0, 1, 3));
});

Deno.test("a box is closed from any corner, and a click is none", () => {
  const box = new Trail("box", 10, 10);
  box.to(12, 11);
  assert.equal(box.line(), null);
  box.to(2, 30);
  assert.deepEqual(box.line(), [10, 10, 2, 10, 2, 30, 10, 30]);
});

Deno.test("corners of a lasso are some pixels apart", () => {
  const lasso = new Trail("lasso", 0, 0);
  for (const [x, y] of [[1, 0], [10, 0], [11, 1], [10, 10]]) lasso.to(x, y);
  assert.deepEqual(lasso.line(), [0, 0, 10, 0, 10, 10]);
});
