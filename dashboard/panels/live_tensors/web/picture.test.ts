import assert from "node:assert/strict";
import type { LiveTensor } from "../../../web/page/messages.generated.ts";
import { decoded, drawn, enlargement, indexOf, valueOf } from "./picture.ts";

const tensor = (more: Partial<LiveTensor>): LiveTensor => ({
  name: "weights",
  layout: "plane",
  shape: [2, 2],
  dtype: "float32",
  width: 2,
  height: 2,
  shown: 4,
  axes: [[0, 1], [1, 1]],
  not_finite: 0,
  mean: 0,
  lowest: -1,
  highest: 1,
  change: 0,
  pixels: "",
  ...more,
});

Deno.test("pixels are decoded from base64", () => {
  assert.deepEqual([...decoded(btoa("\u0000\u00ff\u0002"))], [0, 255, 2]);
});

Deno.test("lines between tiles are transparent, and what is not finite has a color of its own", () => {
  const { colors } = drawn(tensor({}), Uint8Array.of(0, 1, 2, 255));
  assert.equal(colors[0], 0xffa000ff);
  assert.equal(colors[1] >>> 24, 0);
  assert.equal(colors[2] >>> 24, 255);
  assert.notEqual(colors[2], colors[3]);
});

Deno.test("colors are red, green and blue", () => {
  const { colors } = drawn(tensor({ layout: "colors", width: 1, height: 1 }), Uint8Array.of(1, 2, 3));
  assert.deepEqual([...colors], [0xff030201]);
});

Deno.test("bars stand on 0 where the scale has it", () => {
  const filled = (more: Partial<LiveTensor>, pixel: number) => {
    const { colors, height } = drawn(tensor({ layout: "bars", width: 1, height: 1, ...more }), Uint8Array.of(pixel));
    return [
      colors.findIndex((color) => color !== 0),
      height - 1 - [...colors].reverse().findIndex((color) => color !== 0),
    ];
  };
  assert.deepEqual(filled({}, 255), [0, 24]);
  assert.deepEqual(filled({}, 2), [24, 47]);
  assert.deepEqual(filled({ lowest: 0 }, 255), [0, 47]);
  assert.deepEqual(filled({ lowest: -2, highest: -1 }, 2), [0, 47]);
  assert.deepEqual(filled({}, 0), [0, 47]);
});

Deno.test("a pixel stands for a value of the scale", () => {
  assert.equal(valueOf(tensor({}), 255), 1);
  assert.equal(valueOf(tensor({}), 2), -1);
  assert.equal(valueOf(tensor({}), 0), null);
});

Deno.test("a pixel stands for an element of the array, also where that is thinned out or in tiles", () => {
  const bars = tensor({ layout: "bars", shape: [1, 3000], axes: [[0, 1], [1, 3]], width: 1000, height: 1 });
  assert.deepEqual(indexOf(bars, 500, 0), [0, 1500]);
  assert.deepEqual(indexOf(tensor({ shape: [1024, 1024], axes: [[0, 6], [1, 6]], width: 171 }), 100, 7), [42, 600]);
  // Of shape [3 rows, 2 columns, 4 in, 5 out], every second output.
  const axes: [number, number][] = [[3, 2], [2, 1], [0, 1], [1, 1]];
  const tiles = tensor({ layout: "tiles", shape: [3, 2, 4, 5], axes, width: 11, height: 11 });
  assert.deepEqual(indexOf(tiles, 0, 0), [0, 0, 0, 0]);
  assert.deepEqual(indexOf(tiles, 4, 10), [2, 1, 1, 4]);
});

Deno.test("small pictures are enlarged as far as there is room", () => {
  assert.equal(enlargement(10, 10, 1000), 13);
  assert.equal(enlargement(10, 10, 45), 4);
  assert.equal(enlargement(500, 2, 300), 1);
  assert.equal(enlargement(0, 0, 300), 128);
});
