import assert from "node:assert/strict";
import { difference, histogram, type Look, paint, resize, shrink, valuesAt } from "./pixels.ts";
import type { Pixels } from "./png.ts";

const PLAIN: Look = { brightness: 1, contrast: 1, gamma: 1, invert: false, channel: "all", map: "gray", amplify: 1 };
const pixels = (width: number, channels: number, values: number[]): Pixels => ({
  width,
  height: values.length / width / channels,
  channels,
  top: 255,
  data: new Uint8Array(values),
  note: "",
});
const painted = (of: Pixels, look: Partial<Look>) => [
  ...paint(of, { ...PLAIN, ...look }, 0, 0, of.width, of.height).data,
];

Deno.test("pixels are drawn as they are stored unless something is adjusted", () => {
  const color = pixels(1, 4, [10, 100, 200, 30]);
  assert.deepEqual(painted(color, {}), [10, 100, 200, 30]);
  assert.deepEqual(painted(color, { invert: true }), [245, 155, 55, 30]);
  assert.deepEqual(painted(color, { brightness: 2 }), [20, 200, 255, 30]);
  assert.deepEqual(painted(color, { contrast: 0 }), [128, 128, 128, 30]);
});

Deno.test("one channel is drawn gray or in the colors of a map", () => {
  const color = pixels(1, 3, [10, 100, 200]);
  assert.deepEqual(painted(color, { channel: "g" }), [100, 100, 100, 255]);
  assert.deepEqual(painted(color, { channel: "g", map: "viridis" }), [43, 118, 142, 255]);
  assert.deepEqual(painted(color, { channel: "luminance" }), [88, 88, 88, 255]);
});

Deno.test("a part of a picture is drawn", () => {
  const gray = pixels(3, 1, [1, 2, 3, 4, 5, 6]);
  assert.deepEqual([...paint(gray, PLAIN, 1, 1, 2, 1).data], [5, 5, 5, 255, 6, 6, 6, 255]);
});

Deno.test("large pictures have smaller copies, of means", async () => {
  const { smaller } = await shrink(pixels(2048, 1, Array(2 * 2048).fill([0, 10]).flat().slice(0, 2 * 2048)));
  assert.deepEqual(smaller?.map(({ width, height, data }) => [width, height, data[0]]), [[1024, 1, 5]]);
});

Deno.test("a picture at twice its size is mixed between its pixels", async () => {
  assert.deepEqual([...(await resize(pixels(2, 1, [0, 100]), 4, 1)).data], [0, 25, 75, 100]);
});

Deno.test("a histogram knows least, most and mean of each channel", async () => {
  const found = await histogram(pixels(2, 2, [10, 255, 30, 255]));
  assert.deepEqual(found.map(({ low, high, mean }) => [low, high, mean]), [[10, 30, 20], [255, 255, 255]]);
  assert.deepEqual(found.map(({ counts }) => [counts[10], counts[30], counts[255]]), [[1, 1, 0], [0, 0, 2]]);
});

Deno.test("a difference is over the part that both have, colors against gray", async () => {
  const { absolute, signed, stats } = await difference(pixels(1, 3, [13, 7, 10]), pixels(2, 1, [10, 99]));
  assert.deepEqual([...absolute.data], [3, 3, 0]);
  assert.deepEqual([...signed.data], [32768]);
  assert.deepEqual(stats, {
    mean: 2,
    max: 3,
    psnr: 10 * Math.log10(255 ** 2 / 6),
    differing: 1,
    count: 1,
    top: 255,
  });
});

Deno.test("pictures without a difference have no end of likeness", async () => {
  const { stats } = await difference(pixels(1, 1, [5]), pixels(1, 1, [5]));
  assert.deepEqual(stats, { mean: 0, max: 0, psnr: Infinity, differing: 0, count: 1, top: 255 });
});

Deno.test("outside of a picture there are no values", () => {
  const color = pixels(2, 3, [1, 2, 3, 4, 5, 6]);
  assert.deepEqual([valuesAt(color, 1, 0), valuesAt(color, 2, 0), valuesAt(color, 0, -1)], [[4, 5, 6], [], []]);
});
