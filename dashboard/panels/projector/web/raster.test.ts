import assert from "node:assert/strict";
import * as camera from "./camera.ts";
import { type Cloud, cutLine, LEVELS, mixed, pixel, Raster } from "./raster.ts";

const look = { radius: 4, background: 0, opacity: 1, every: 1, smooth: true, rings: [], ring: 1, margin: 0 };

function cloudOf(places: number[], change: Partial<Cloud> = {}): Cloud {
  const count = places.length / 3;
  const to = Float32Array.from(places);
  const marks = new Uint8Array(count);
  return {
    count,
    from: to,
    to,
    share: 1,
    colors: new Uint32Array(count),
    visible: null,
    sizes: null,
    marks,
    reach: 1,
    ...change,
  };
}

function placed(cloud: Cloud, p: camera.Projection): Raster {
  const raster = new Raster();
  [raster.width, raster.height] = [p.width, p.height];
  raster.place(cloud, p, look);
  return raster;
}

Deno.test("a color is a pixel in the order of the canvas's bytes, and two are mixed by channels", () => {
  const [red, blue] = [pixel([255, 0, 0]), pixel([0, 0, 255])];
  assert.deepEqual([red, blue, mixed(red, blue, 64), mixed(red, blue, 32)], [0xff0000ff, 0xffff0000, red, 0xff800080]);
});

Deno.test("points are painted from the back, and those that stand out last", () => {
  const p = camera.projection({ ...camera.first(3), az: 0, el: 0, perspective: false }, 3, 100, 100);
  const raster = placed(cloudOf([0, 0, 0.5, 0, 0, -0.5, 0, 0, 0], { marks: Uint8Array.of(0, 1, 0) }), p);
  assert.deepEqual([...raster.order.subarray(0, raster.painted)], [2, 0, 1]);
});

Deno.test("hidden points and those outside the picture are not painted, and faded ones are behind all", () => {
  const cloud = cloudOf([0, 0, 0, 0, 0, 0, 9, 0, 0, 0.1, 0, 0], { visible: Uint8Array.of(1, 0, 1, 2) });
  const raster = placed(cloud, camera.projection(camera.first(2), 2, 100, 100));
  assert.deepEqual([0, 1, 2, 3].map((row) => raster.isPainted(row)), [true, false, false, true]);
  assert.deepEqual([...raster.order.subarray(0, raster.painted)], [3, 0]);
  assert.deepEqual([raster.x[0], raster.y[0], raster.level[3] < LEVELS], [50, 50, true]);
});

Deno.test("half way of an animation a point is half way", () => {
  const p = camera.projection(camera.first(2), 2, 100, 100);
  const cloud = cloudOf([0.5, 0, 0], { from: Float32Array.of(-0.5, 0, 0), share: 0.5 });
  assert.equal(placed(cloud, p).x[0], 50);
});

Deno.test("a line is cut at the edges of the picture", () => {
  assert.deepEqual(cutLine(-10, 5, 20, 5, 10, 10), [0, 5, 10, 5]);
  assert.equal(cutLine(-10, -5, 20, -5, 10, 10), null);
});
