import assert from "node:assert/strict";
import { clamp, moved, zoomed } from "./span.ts";

Deno.test("a stretch lies inside the clip, is no shorter than half a millisecond, and is none where it is the whole", () => {
  assert.deepEqual(clamp({ start: -1, stop: 1 }, 4), { start: 0, stop: 2 });
  assert.deepEqual(clamp({ start: 3.5, stop: 4.5 }, 4), { start: 3, stop: 4 });
  assert.deepEqual(clamp({ start: 1, stop: 1.0001 }, 4), { start: 1, stop: 1.0005 });
  assert.equal(clamp({ start: 0, stop: 4 }, 4), null);
  assert.equal(clamp({ start: 2, stop: 1 }, 4), null);
  assert.equal(clamp({ start: NaN, stop: 1 }, 4), null);
  assert.equal(clamp({ start: 0, stop: 1 }, 0), null);
});

Deno.test("a zoom keeps the moment under the pointer where it is", () => {
  assert.deepEqual(zoomed({ start: 1, stop: 3 }, 1.5, 0.5), { start: 1.25, stop: 2.25 });
  assert.deepEqual(zoomed({ start: 1, stop: 3 }, 1.5, 4), { start: 0, stop: 8 });
});

Deno.test("a stretch moves by a share of its length, and not before the beginning", () => {
  assert.deepEqual(moved({ start: 1, stop: 3 }, 0.5), { start: 2, stop: 4 });
  assert.deepEqual(moved({ start: 1, stop: 3 }, -1), { start: 0, stop: 2 });
});
