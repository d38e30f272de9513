import assert from "node:assert/strict";
import { combined, maskOf, rowsIn, sameShown, strengthsOf } from "./row_sets.ts";

const rows = (...all: number[]) => Uint32Array.from(all);

Deno.test("rows replace the selection, join it, or leave it", () => {
  assert.deepEqual(combined(rows(1, 20), rows(9, 3), {}), rows(3, 9));
  assert.deepEqual(combined(rows(1, 20), rows(20, 3), { add: true }), rows(1, 3, 20));
  assert.deepEqual(combined(rows(1, 20), rows(20, 3), { remove: true }), rows(1));
});

Deno.test("rows are found by their values", () => {
  assert.deepEqual(rowsIn([2, 0, 2], (value) => value === 2), rows(0, 2));
});

Deno.test("all points are drawn where nothing leaves one out", () => {
  assert.equal(maskOf(3, { isolated: null, hidden: new Set(), found: null, isOff: null }), null);
});

Deno.test("points are drawn where they are isolated, neither hidden nor off, and faded where a search missed them", () => {
  const mask = maskOf(6, {
    isolated: rows(0, 1, 2, 3),
    hidden: new Set([1]),
    found: rows(0, 1, 5),
    isOff: (row) => row === 2,
  });
  assert.deepEqual(mask, Uint8Array.of(1, 0, 0, 2, 0, 0));
});

Deno.test("what is faded is shown; a mask that leaves nothing out is as none", () => {
  assert.equal(sameShown(Uint8Array.of(1, 2, 0), Uint8Array.of(2, 1, 0)), true);
  assert.equal(sameShown(Uint8Array.of(1, 1), Uint8Array.of(1, 0)), false);
  assert.equal(sameShown(null, Uint8Array.of(1, 2)), true);
  assert.equal(sameShown(Uint8Array.of(1, 0), null), false);
});

Deno.test("the nearest is lit most; of inner products that is the largest", () => {
  assert.deepEqual(strengthsOf({ distances: [1, 2, 5], metric: "cosine" }), Float32Array.of(1, 0.75, 0));
  assert.deepEqual(strengthsOf({ distances: [5, 2, 1], metric: "inner" }), Float32Array.of(1, 0.25, 0));
  assert.deepEqual(strengthsOf({ distances: [3, 3], metric: "cosine" }), Float32Array.of(1, 1));
});
