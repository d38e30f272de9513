import assert from "node:assert/strict";
import { frameOf } from "./view.ts";

Deno.test("the frame of points is the cube around them, of all or of those that count", () => {
  const flat = [0, 0, 10, 4, -100, 0];
  assert.deepEqual(frameOf(flat, 2, [0, 1]), { center: [5, 2, 0], radius: 5 });
  assert.deepEqual(frameOf(flat, 2), { center: [-45, 2, 0], radius: 55 });
});

Deno.test("points in one place, and no points at all, have a frame", () => {
  assert.deepEqual(frameOf([3, 3, 3, 3, 3, 3], 3), { center: [3, 3, 3], radius: 1 });
  assert.deepEqual(frameOf([], 3), { center: [0, 0, 0], radius: 1 });
});
