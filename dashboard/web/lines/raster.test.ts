import assert from "node:assert/strict";
import { type Brush, hasten, paintLine, type Target } from "./raster.ts";

const RED: Brush = { rgb: [255, 0, 0], opacity: 1, width: 1, dot: 3 };

const black = (width: number, height: number): Target => (
  { width, height, pixels: new Uint32Array(width * height).fill(0xff000000) }
);

/** How red each pixel is, from 0 to 9, in rows. */
function painted(target: Target, points: number[], brush = RED, clip?: [number, number, number, number]) {
  const [x0, y0, x1, y1] = clip ?? [0, 0, target.width, target.height];
  paintLine(target, { x0, y0, x1, y1 }, points, points.length / 2, brush);
  const digits = Array.from(target.pixels, (pixel) => Math.round((9 * (pixel & 0xff)) / 255)).join("");
  return digits.match(new RegExp(`.{${target.width}}`, "g"));
}

Deno.test("a level line covers the rows it lies on, round at its ends", () => {
  assert.deepEqual(painted(black(6, 3), [1, 1.5, 5, 1.5]), ["000000", "499994", "000000"]);
});

Deno.test("a line between two rows is half in each", () => {
  assert.deepEqual(painted(black(4, 2), [-2, 1, 6, 1]), ["4444", "4444"]);
});

Deno.test("opacity mixes the line into what lies under it", () => {
  assert.deepEqual(painted(black(3, 1), [-2, 0.5, 5, 0.5], { ...RED, opacity: 1 / 3 }), ["333"]);
});

Deno.test("a point alone between gaps is a dot", () => {
  const rows = painted(black(5, 5), [NaN, 0, 2.5, 2.5, NaN, 0]);
  assert.deepEqual([rows?.[2], rows?.map((row) => row[2]).join("")], ["09990", "09990"]);
  assert.deepEqual(rows, [...rows ?? []].reverse());
});

Deno.test("nothing is painted over a gap, nor outside the clip", () => {
  assert.deepEqual(
    painted(black(8, 1), [-2, 0.5, 1.5, 0.5, NaN, 0, 6.5, 0.5, 12, 0.5]),
    ["98000089"],
  );
  assert.deepEqual(painted(black(4, 3), [-2, 1.5, 9, 1.5], { ...RED, width: 9 }, [1, 1, 3, 2]), [
    "0000",
    "0990",
    "0000",
  ]);
});

Deno.test("a line that turns back is painted both ways", () => {
  const rows = painted(black(6, 5), [-2, 0.5, 4, 0.5, 4, 4.5, -2, 4.5]);
  assert.deepEqual([rows?.[0].slice(0, 3), rows?.[4].slice(0, 3), rows?.[2].slice(0, 3)], ["999", "999", "000"]);
});

Deno.test("under a moving hand edges are coarser, and the line is where it was", () => {
  const thick = { ...RED, width: 2 };
  const line = [3, 1, 6, 1];
  const fine = painted(black(9, 2), line, thick);
  hasten(true);
  const hasty = painted(black(9, 2), line, thick);
  hasten(false);
  assert.deepEqual([fine, hasty], [["007999700", "007999700"], ["008888800", "008888800"]]);
});
