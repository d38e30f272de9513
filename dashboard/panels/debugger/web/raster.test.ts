import assert from "node:assert/strict";
import { badText, type Cells, packed, paint } from "./raster.ts";
import { BAD, type HeatScale } from "./scale.ts";

/** Values are their own shares; what is at 0 is black, at 1 red. */
const SCALE: HeatScale = { share: (value) => value, color: (value) => [255 * value, 0, 0], ticks: () => [] };
const CLEAR = 0;
const RED = packed([255, 0, 0]);
const BLACK = packed([0, 0, 0]);

function painted(cells: Cells, rows: [number, number], steps: [number, number], width: number, height: number) {
  const pixels = new Uint32Array(width * height).fill(7);
  const [begin, end] = rows;
  paint({ pixels, width, height }, cells, { begin, end }, { begin: steps[0], end: steps[1] }, SCALE);
  return Array.from({ length: height }, (_, y) => [...pixels.slice(y * width, (y + 1) * width)]);
}

const cells = (worst: number[], bad: number[], more: Partial<Cells> = {}): Cells => ({
  lines: 2,
  columns: 2,
  worst,
  bad,
  rows: [0, 1],
  rowEnd: 2,
  edges: [0, 1, 2],
  ...more,
});

Deno.test("a pixel has the bytes red, green, blue and an opaque one", () => {
  assert.deepEqual([...new Uint8Array(new Uint32Array([packed([1, 2, 3])]).buffer)], [1, 2, 3, 255]);
});

Deno.test("each cell is as many pixels as it has room for, and what was not observed stays clear", () => {
  assert.deepEqual(painted(cells([1, 0, 0, NaN], [0, 0, 0, 0]), [0, 2], [0, 2], 4, 2), [
    [RED, RED, BLACK, BLACK],
    [BLACK, BLACK, CLEAR, CLEAR],
  ]);
});

Deno.test("a part is painted in the same detail, and nothing beyond the cells", () => {
  assert.deepEqual(painted(cells([1, 0, 0, 1], [0, 0, 0, 0]), [1, 3], [1, 3], 2, 2), [[RED, CLEAR], [CLEAR, CLEAR]]);
});

Deno.test("a line stands for all rows up to the next one", () => {
  const coarse = cells([1, 1, 0, 0], [0, 0, 0, 0], { rows: [0, 6], rowEnd: 8 });
  assert.deepEqual(painted(coarse, [0, 8], [0, 2], 1, 8).flat(), [RED, RED, RED, RED, RED, RED, BLACK, BLACK]);
});

Deno.test("what is not finite is striped, in colors of its kind", () => {
  const [nan, between] = BAD.nan.map(packed);
  const found = painted(cells([1, 1, 1, 1], [3, 3, 3, 3]), [0, 2], [0, 2], 6, 2);
  assert.deepEqual(found, [[nan, nan, nan, between, between, between], [nan, nan, between, between, between, nan]]);
  assert.equal(painted(cells([1, 1, 1, 1], [2, 2, 2, 2]), [0, 2], [0, 2], 1, 1)[0][0], packed(BAD.infinite[0]));
  assert.equal(painted(cells([1, 1, 1, 1], [1, 1, 1, 1]), [0, 2], [0, 2], 1, 1)[0][0], packed(BAD.not_finite[0]));
  assert.deepEqual([0, 1, 2, 3, 9].map(badText), ["", "not finite", "infinite", "NaN", ""]);
});

Deno.test("a map of nothing wipes what was there", () => {
  assert.deepEqual(painted(cells([], [], { lines: 0, columns: 0 }), [0, 1], [0, 1], 2, 1), [[CLEAR, CLEAR]]);
});
