import assert from "node:assert/strict";
import { grid } from "./picture_grid.ts";

Deno.test("five pictures stand in two columns, in cells of the largest", () => {
  const sizes = [{ width: 10, height: 5 }, ...Array.from({ length: 4 }, () => ({ width: 4, height: 8 }))];
  assert.deepEqual(grid(sizes), {
    places: [{ x: 0, y: 0 }, { x: 26, y: 0 }, { x: 0, y: 24 }, { x: 26, y: 24 }, { x: 0, y: 48 }],
    width: 36,
    height: 56,
  });
});
