import assert from "node:assert/strict";
import { viridis } from "../../../web/core/color.ts";
import { heatScale } from "./scale.ts";

const near = (found: readonly number[], expected: readonly number[]) =>
  assert.deepEqual(found.map((value) => Number(value.toPrecision(6))), expected);

Deno.test("values of one side are told apart by their logarithm, zero and none by themselves", () => {
  const scale = heatScale({ low: 0, high: 1000, least: 0.1, signed: false }, "light");
  near([0.1, 1, 10, 1000, 1e9, 1e-9].map((value) => scale.share(value)), [0, 0.25, 0.5, 1, 1, 0]);
  assert.deepEqual([scale.share(0), scale.share(NaN)], [-1, NaN]);
  near(scale.ticks(5), [0.1, 1, 10, 100, 1000]);
  assert.deepEqual(scale.color(1000), viridis(1));
  assert.notDeepEqual(scale.color(0), viridis(0));
});

Deno.test("values of two sides are as far from the middle, whatever their sign", () => {
  const scale = heatScale({ low: -100, high: 10, least: 1, signed: true }, "dark");
  near([-100, -10, -1, 0, 1, 10, 100].map((value) => scale.share(value)), [0, 0.22, 0.44, 0.5, 0.56, 0.78, 1]);
  near(scale.ticks(3), [-100, 0, 100]);
});

Deno.test("a figure that may be negative and never is has one side", () => {
  const scale = heatScale({ low: 1, high: 100, least: 1, signed: true }, "light");
  near([1, 10, 100].map((value) => scale.share(value)), [0, 0.5, 1]);
});

Deno.test("a map of one value, of none, and one of more decades than can be told apart have a scale", () => {
  const one = heatScale({ low: 3, high: 3, least: 3, signed: false }, "light");
  assert.deepEqual([one.share(3), one.ticks(2)], [1, [3, 3]]);
  const none = heatScale({ low: NaN, high: NaN, least: NaN, signed: true }, "light");
  assert.deepEqual([none.share(1), none.share(0)], [1, -1]);
  const wide = heatScale({ low: 0, high: 1, least: 1e-300, signed: false }, "light");
  near([1e-300, 1e-12, 1e-6, 1].map((value) => wide.share(value)), [0, 0, 0.5, 1]);
});
