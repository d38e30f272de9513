import assert from "node:assert/strict";
import { edges, type Extent, normals, unpack } from "./geometry.ts";

// A square in the plane of x and y, of two triangles.
const SQUARE = {
  positions: new Float32Array([0, 0, 0, 2, 0, 0, 2, 2, 0, 0, 2, 0]),
  faces: new Uint32Array([0, 1, 2, 0, 2, 3]),
};

Deno.test("an edge that two faces share is drawn once", () => {
  assert.deepEqual([...edges(SQUARE)], [0, 1, 0, 2, 0, 3, 1, 2, 2, 3]);
});

Deno.test("a vertex of the plane faces its normal, one without faces nowhere", () => {
  const positions = new Float32Array([...SQUARE.positions, 9, 9, 9]);
  assert.deepEqual([...normals({ ...SQUARE, positions })], [0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0]);
});

Deno.test("points have neither edges nor normals", () => {
  assert.deepEqual([...edges({ ...SQUARE, faces: null })], []);
  assert.deepEqual([...normals({ positions: new Float32Array(3), faces: null })], [0, 0, 0]);
});

Deno.test("columns are found by their places, and those that were not sent are none", () => {
  const extent: Extent = { low: [0, 0, 0], high: [2, 2, 0], origin: [1, 1, 0] };
  const sent = { samples: 1, error: "", notes: [], ...extent };
  const found = unpack({ ...sent, columns: { faces: 1, positions: 0 }, arrays: [SQUARE.positions, SQUARE.faces] });
  assert.deepEqual(found, { header: sent, extent, ...SQUARE, colors: null, moved: null });
  const failed = { samples: 0, error: "there are no vertices at this step", notes: [] };
  assert.deepEqual(unpack({ ...failed, columns: {}, arrays: [] }), {
    header: failed,
    extent: null,
    positions: new Float32Array(0),
    faces: null,
    colors: null,
    moved: null,
  });
});
