import assert from "node:assert/strict";
import { extent, fitRange, joinRanges, makeScale, movedRange, usableRange, zoomedRange } from "./scale.ts";

Deno.test("a place on an axis is a pixel and back", () => {
  const linear = makeScale("linear", [0, 10], 100, 200);
  assert.deepEqual([linear.toPx(5), linear.toData(150)], [150, 5]);
  const upward = makeScale("linear", [0, 10], 200, 100);
  assert.equal(upward.toPx(10), 100);
  const log = makeScale("log", [1, 100], 0, 100);
  assert.deepEqual([log.toPx(10), log.toData(50), log.toPx(0), log.toPx(-1)], [50, 10, NaN, NaN]);
});

Deno.test("the extent is of finite numbers, and of those a log axis shows", () => {
  const values = [NaN, -2, 5, Infinity, 0.5, -Infinity];
  assert.deepEqual([extent(values), extent(values, true), extent(values, false, 2, 4)], [[-2, 5], [0.5, 5], [5, 5]]);
  assert.equal(extent([NaN, Infinity]), null);
  assert.deepEqual(joinRanges([0, 1], joinRanges(null, [-1, 0.5])), [-1, 1]);
});

Deno.test("data get a margin, one value a window, and none a default", () => {
  assert.deepEqual(fitRange("linear", [0, 10], 0.1), [-1, 11]);
  assert.deepEqual(fitRange("linear", [5, 5], 0.1), [4.5, 5.5]);
  assert.deepEqual(fitRange("linear", [0, 0], 0), [-1, 1]);
  assert.deepEqual(fitRange("linear", [7, 7], 0, true), [6, 8]);
  assert.deepEqual(fitRange("log", [9, 9], 0), [3, 27]);
  assert.deepEqual(fitRange("time", [100, 100], 0), [70, 130]);
  assert.deepEqual([fitRange("linear", null, 0), fitRange("log", null, 0)], [[0, 1], [1, 10]]);
});

Deno.test("a span of the largest numbers is still finite", () => {
  const [low, high] = fitRange("linear", [-Number.MAX_VALUE, Number.MAX_VALUE], 0.05);
  assert.ok(Number.isFinite(high - low) && low < -7e307 && high > 7e307);
});

Deno.test("a range has to be ascending, finite, and above zero on a log axis", () => {
  const usable = ([[0, 1], [1, 0], [1, 1], [0, Infinity], [1, 1 + 1e-16]] as [number, number][])
    .map((range) => usableRange("linear", range));
  assert.deepEqual(usable, [true, false, false, false, false]);
  assert.deepEqual([usableRange("log", [0, 1]), usableRange("log", [0.1, 1]), usableRange("log", null)], [
    false,
    true,
    false,
  ]);
});

Deno.test("a zoom keeps what is under the pointer, a move takes it along", () => {
  const scale = makeScale("linear", [0, 10], 0, 100);
  assert.deepEqual(zoomedRange(scale, 20, 0.5), [1, 6]);
  assert.deepEqual(movedRange(scale, 20), [-2, 8]);
  const fine = makeScale("linear", [1, 1 + 1e-15], 0, 100);
  assert.deepEqual(zoomedRange(fine, 50, 0.01), [1, 1 + 1e-15]);
});
