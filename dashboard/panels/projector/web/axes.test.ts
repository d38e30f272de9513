import assert from "node:assert/strict";
import * as axes from "./axes.ts";
import * as camera from "./camera.ts";

Deno.test("lines of the grid are at round numbers", () => {
  assert.deepEqual(axes.ticks(3, 29, 5), [10, 20]);
  assert.deepEqual(axes.ticks(0.1, 1, 5), [0.2, 0.4, 0.6000000000000001, 0.8, 1]);
  assert.deepEqual(axes.ticks(1, 1, 5), []);
});

Deno.test("an axis is named with its share of the variance, where that is known", () => {
  const named = [{ name: "PC 1", share: 0.4321 }, { name: "PC 2", share: null }, { name: "PC 3", share: NaN }];
  assert.deepEqual(named.map(axes.textOf), ["PC 1  43.2%", "PC 2", "PC 3"]);
});

Deno.test("the origin is in the middle where it is in the middle of the points", () => {
  const drawn: number[][] = [];
  const p = camera.projection(camera.first(2), 2, 400, 300);
  const what = { axes: [{ name: "x" }], grid: false, frame: { center: [0, 0, 0], radius: 2 }, color: 7, ratio: 1 };
  axes.paint({ line: (...line) => drawn.push(line) }, p, what);
  assert.deepEqual(drawn, [[200, -8, 200, 308, 7, 34], [-8, 150, 408, 150, 7, 34]]);
});

Deno.test("names of axes stand at the edges of a flat picture", () => {
  const p = camera.projection(camera.first(2), 2, 400, 300);
  const named = [{ name: "left to right" }, { name: "bottom to top" }];
  assert.deepEqual(axes.names(p, { axes: named, grid: false, frame: { center: [0, 0, 0], radius: 2 } }), [
    { text: "left to right", x: 392, y: 141, align: "right" },
    { text: "bottom to top", x: 207, y: 52, align: "left" },
  ]);
});
