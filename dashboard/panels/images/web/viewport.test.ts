import assert from "node:assert/strict";
import { type Shown, type View, Viewport } from "./viewport.ts";

const stage = (width: number, height: number, picture = { width: 10, height: 10 }): Shown => ({
  canvas: { width, height },
  extent: () => picture,
  empty: () => picture.width === 0,
  draw: () => {},
});
const quiet = () => {};

Deno.test("a small picture fits at halves of its size, a large one as it must", () => {
  const viewport = new Viewport(quiet);
  assert.deepEqual(viewport.of(stage(100, 57)), { scale: 5.5, x: 5, y: 5 });
  assert.deepEqual(viewport.of(stage(5, 100)), { scale: 0.5, x: 5, y: 5 });
  assert.deepEqual(viewport.corner(stage(100, 57)), { scale: 5.5, left: 23, top: 1 });
});

Deno.test("the point under the pointer stays there when it is zoomed", () => {
  const viewport = new Viewport(quiet);
  const on = stage(100, 100);
  const pointAt = (px: number) => viewport.of(on).x + (px - 50) / viewport.of(on).scale;
  const before = pointAt(80);
  viewport.zoom(on, 2, 80, 50);
  assert.deepEqual([pointAt(80), viewport.of(on).scale], [before, 20]);
});

Deno.test("a picture is moved by pixels of the screen", () => {
  const reported: View[] = [];
  const viewport = new Viewport((view) => reported.push({ ...view }));
  viewport.pan(stage(100, 100), 20, -10);
  assert.deepEqual(reported, [{ fit: false, scale: 10, x: 3, y: 6 }]);
});

Deno.test("zooming has ends, and a stage without a picture stays", () => {
  const viewport = new Viewport(quiet);
  viewport.zoom(stage(100, 100, { width: 0, height: 0 }), 2);
  assert.equal(viewport.view.fit, true);
  viewport.zoom(stage(100, 100), 1e9);
  assert.equal(viewport.view.scale, 256);
  viewport.zoom(stage(100, 100), 1e-9);
  assert.equal(viewport.view.scale, 0.5);
});
