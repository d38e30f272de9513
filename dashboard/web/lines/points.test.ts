import assert from "node:assert/strict";
import { decimate, inView, isSorted, nearestIndex, project, stretches } from "./points.ts";
import { makeScale } from "./scale.ts";

Deno.test("numbers are sorted that never go back, and none of which is NaN", () => {
  assert.deepEqual([[], [1, 1, 2], [1, NaN, 2], [NaN], [2, 1]].map(isSorted), [true, true, false, false, false]);
});

Deno.test("of equals the first is nearest; of what goes back, any that is", () => {
  const sorted = [1, 2, 2, 5];
  assert.deepEqual([-9, 1.4, 2, 3, 4, 99].map((value) => nearestIndex(sorted, value)), [0, 0, 1, 1, 3, 3]);
  assert.deepEqual([5, 2.2].map((value) => nearestIndex([5, NaN, 2, 9], value)), [0, 2]);
  assert.deepEqual([nearestIndex([], 1), nearestIndex([NaN], 1)], [-1, -1]);
});

Deno.test("in view are the points of the range and one more on either side", () => {
  assert.deepEqual(inView([0, 1, 2, 3, 4, 5], 2, 3), [1, 5]);
  assert.deepEqual(inView([0, 1, 2, 2, 2, 3], 0.5, 2), [0, 6]);
  assert.deepEqual(inView([3, 1, 2], 1, 1), [0, 3]);
});

Deno.test("points become pixels, and gaps where an axis has no place for them", () => {
  const [sx, sy] = [makeScale("linear", [0, 3], 0, 30), makeScale("log", [1, 100], 20, 0)];
  const { points, count, from } = project([0, 1, 2, 3], [1, 0, 100, Infinity], sx, sy, 2);
  assert.deepEqual([from, count, Array.from(points.slice(0, 8))], [0, 4, [0, 40, NaN, NaN, 40, 0, NaN, -1e9]]);
});

Deno.test("a column keeps its first, least, largest and last point in their order, and every gap", () => {
  const points = [0, 5, 0.2, 9, 0.4, 1, 0.6, 4, 0.8, 6, NaN, 0, 1.5, 3];
  assert.deepEqual(Array.from(decimate(points, 7)), [0, 5, 0.2, 9, 0.4, 1, 0.8, 6, NaN, 0, 1.5, 3]);
});

Deno.test("few points stay as they are, and a wider column takes in more", () => {
  const points = [0, 1, 1, 2, 2, 0, 3, 1];
  assert.deepEqual(Array.from(decimate(points, 4)), points);
  assert.deepEqual(Array.from(decimate([0, 1, 1, 1, 2, 1, 3, 1], 4, 4)), [0, 1, 3, 1]);
});

Deno.test("stretches lie between gaps", () => {
  assert.deepEqual(stretches([NaN, 0, 1, 0, 2, 0, NaN, 0, NaN, 0, 3, 0], 6), [[1, 3], [5, 6]]);
  assert.deepEqual(stretches([], 0), []);
});
