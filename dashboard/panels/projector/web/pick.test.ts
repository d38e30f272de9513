import assert from "node:assert/strict";
import { Grid } from "./pick.ts";

const [X, Y] = [Float32Array.of(10, 12, 60, 10), Float32Array.of(10, 10, 60, 10)];
const grid = new Grid([0, 1, 2, 3], X, Y, 64, 64);
const at = (x: number, y: number, height = (_row: number) => 0) => grid.at(x, y, 5, 4, () => 4, height);

Deno.test("of discs over each other the one nearest to the eye is picked, and of equals the last painted", () => {
  assert.equal(at(11, 10, (row) => (row === 0 ? 1 : 0)), 0);
  assert.equal(at(11, 10), 3);
});

Deno.test("beside all discs the nearest is picked while it is near", () => {
  assert.deepEqual([at(20, 10), at(40, 40), at(68, 66)], [1, -1, -1]);
});
