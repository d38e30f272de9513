import assert from "node:assert/strict";
import { colorsOf, following, ordered, through } from "./polylines.ts";

Deno.test("lines lead to the next row, but neither to itself nor to one that is not there", () => {
  assert.deepEqual(following([1, 1, -1, 9, 0.5], null), Uint32Array.of(0, 1));
});

Deno.test("where rows of the file were left out, lines lead to those that are points", () => {
  assert.deepEqual(following([3, 2, NaN], Uint32Array.of(0, 1, 3)), Uint32Array.of(0, 2));
});

Deno.test("numbers make one line in their order, categories one each in the order of the rows", () => {
  assert.deepEqual(ordered([3, NaN, 1, 2]), Uint32Array.of(2, 3, 3, 0));
  assert.deepEqual(through({ values: Int32Array.of(0, 1, 0, -1, 1, 0) }), Uint32Array.of(0, 2, 1, 4, 2, 5));
});

Deno.test("a line has the color of the point that it begins at, and lets through what is below", () => {
  const rgba = Uint8Array.of(1, 2, 3, 255, 4, 5, 6, 255);
  assert.deepEqual(colorsOf(Uint32Array.of(1, 0, 0, 1), rgba), Uint8Array.of(4, 5, 6, 150, 1, 2, 3, 150));
});
