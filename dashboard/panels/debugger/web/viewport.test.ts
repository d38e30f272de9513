import assert from "node:assert/strict";
import { cellAt, moved, within, zoomed } from "./viewport.ts";

Deno.test("a span stays within the whole, and is not shorter than the least", () => {
  assert.deepEqual(within({ begin: -5, end: 5 }, 100, 1), { begin: 0, end: 10 });
  assert.deepEqual(within({ begin: 95, end: 105 }, 100, 1), { begin: 90, end: 100 });
  assert.deepEqual(within({ begin: 10, end: 10.5 }, 100, 2), { begin: 10, end: 12 });
  assert.deepEqual(within({ begin: -5, end: 500 }, 100, 1), { begin: 0, end: 100 });
});

Deno.test("what is under the pointer stays there while zooming", () => {
  const near = zoomed({ begin: 0, end: 100 }, 25, 0.5, 100, 1);
  assert.deepEqual(near, { begin: 12.5, end: 62.5 });
  assert.equal((25 - near.begin) / (near.end - near.begin), 0.25);
  assert.deepEqual(zoomed({ begin: 40, end: 44 }, 42, 0.1, 100, 2), { begin: 41, end: 43 });
  assert.deepEqual(zoomed({ begin: 40, end: 60 }, 50, 100, 100, 1), { begin: 0, end: 100 });
  assert.deepEqual(zoomed({ begin: 3, end: 3 }, 3, 2, 10, 1), { begin: 3, end: 4 });
});

Deno.test("panning ends at the edges", () => {
  assert.deepEqual(moved({ begin: 10, end: 30 }, 5, 100), { begin: 15, end: 35 });
  assert.deepEqual(moved({ begin: 10, end: 30 }, -50, 100), { begin: 0, end: 20 });
  assert.deepEqual(moved({ begin: 10, end: 30 }, 500, 100), { begin: 80, end: 100 });
});

Deno.test("a place is in the last cell that does not begin behind it", () => {
  const edges = [2, 5, 5, 9];
  assert.deepEqual([1, 2, 4.9, 5, 8, 9, 100].map((place) => cellAt(edges, place, 4)), [-1, 0, 0, 2, 2, 3, 3]);
  assert.equal(cellAt(edges, 100, 2), 1);
  assert.equal(cellAt([], 1, 0), -1);
});
