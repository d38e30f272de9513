import assert from "node:assert/strict";
import { View } from "./view.ts";

const view = (world = { x: 0, y: 0, w: 1000, h: 500 }) => Object.assign(new View(), { width: 556, height: 356, world });

Deno.test("a box that is fitted fills the screen but for its margin, and a small one is not blown up", () => {
  const shown = view();
  assert.deepEqual(shown.fitted({ x: 100, y: 0, w: 1000, h: 100 }), { x: 600, y: 50, zoom: 0.5 });
  assert.deepEqual(shown.fitted({ x: 0, y: 0, w: 100, h: 3000 }), { x: 50, y: 1500, zoom: 0.1 });
  assert.deepEqual(shown.fitted({ x: 0, y: 0, w: 10, h: 10 }), { x: 5, y: 5, zoom: 1.25 });
  assert.equal(shown.fitted({ x: 0, y: 0, w: 1e9, h: 1 }).zoom, 0.002);
});

Deno.test("what lies over the screen at the right and below leaves a fitted box the rest", () => {
  assert.deepEqual(view().fitted({ x: 0, y: 0, w: 500, h: 100 }, 250), { x: 500, y: 50, zoom: 0.5 });
  assert.deepEqual(view().fitted({ x: 0, y: 0, w: 100, h: 300 }, 0, 150), { x: 50, y: 300, zoom: 0.5 });
});

Deno.test("the middle of the screen stays in the graph, and the zoom within its limits", () => {
  const shown = view();
  assert.deepEqual(shown.limited({ x: -50, y: 700, zoom: 100 }), { x: 0, y: 500, zoom: 4 });
  // Half of what shows the whole graph.
  assert.deepEqual(shown.limited({ x: 10, y: 20, zoom: 0 }), { x: 10, y: 20, zoom: 0.25 });
  assert.equal(view({ x: 0, y: 0, w: 10, h: 10 }).limited({ x: 0, y: 0, zoom: 0 }).zoom, 0.5);
});

Deno.test("the point under the mouse stays there when it is zoomed, also at the end of the zoom", () => {
  const shown = view();
  shown.go({ x: 500, y: 250, zoom: 1 }, true);
  const mouse = { x: 378, y: 78 };
  const under = shown.toWorld(mouse.x, mouse.y);
  assert.deepEqual(under, { x: 600, y: 150 });
  shown.zoomAt(2, mouse, true);
  assert.deepEqual([shown.place, shown.toWorld(mouse.x, mouse.y)], [{ x: 550, y: 200, zoom: 2 }, under]);
  shown.zoomAt(100, mouse, true);
  assert.deepEqual([shown.place, shown.toWorld(mouse.x, mouse.y)], [{ x: 575, y: 175, zoom: 4 }, under]);
});

Deno.test("a tall graph is first seen from its beginning, as far as its names can be read", () => {
  const shown = view();
  const wide = { x: 0, y: 0, w: 1000, h: 300 };
  assert.deepEqual(shown.first(wide, 0), shown.fitted(wide));
  const { x, y, zoom } = shown.first({ x: 0, y: 0, w: 500, h: 10_000 }, 0);
  assert.deepEqual([x, zoom, Math.round(shown.height / 2 - y * zoom)], [250, 0.9, 28]);
});

Deno.test("a box is brought onto the screen by the least move, a large one by its beginning", () => {
  const shown = view({ x: 0, y: 0, w: 2000, h: 2000 });
  shown.go({ x: 300, y: 300, zoom: 1 }, true);
  shown.reveal({ x: 250, y: 250, w: 100, h: 50 }, 0, true);
  assert.deepEqual(shown.place, { x: 300, y: 300, zoom: 1 });
  shown.reveal({ x: 700, y: 250, w: 100, h: 50 }, 0, true);
  assert.deepEqual(shown.place, { x: 582, y: 300, zoom: 1 });
  shown.reveal({ x: 700, y: 1000, w: 100, h: 900 }, 0, true);
  assert.deepEqual(shown.place, { x: 582, y: 1118, zoom: 1 });
});
