import assert from "node:assert/strict";
import { Viewport } from "./viewport.ts";

const seen = ({ start, end }: Viewport) => [start, end];
/** The whole is 0 to 10,000; what matters 1,000 to 9,000. */
const viewport = () => new Viewport([0, 10_000], [1000, 9000]);

Deno.test("at first everything that matters is seen, with a little room around it", () => {
  const view = viewport();
  assert.deepEqual(seen(view), [920, 9080]);
  assert.equal(view.showsAll, true);
});

Deno.test("the moment under the mouse stays there when it is zoomed", () => {
  const view = viewport();
  view.go(0, 8000, 0, true);
  view.zoom(2, 2000, 0, true);
  assert.deepEqual(seen(view), [1000, 5000]);
  view.zoom(0.5, 2000, 0, true);
  assert.deepEqual(seen(view), [0, 8000]);
  assert.equal(view.showsAll, false);
});

Deno.test("nothing can be zoomed or moved far beyond the ends", () => {
  const view = viewport();
  view.go(-50_000, 50_000, 0, true);
  assert.deepEqual(seen(view), [-300, 10_300]);
  view.go(4000, 6000, 0, true);
  view.pan(10, 0, true);
  assert.deepEqual(seen(view), [8300, 10_300]);
  view.zoom(1e9, 9000, 0, true);
  assert.equal(view.span, 20);
});

Deno.test("undo goes back by gestures, not by their moves", () => {
  Reflect.set(globalThis, "window", { matchMedia: () => ({ matches: true }) });
  const view = viewport();
  for (const [start, end, now] of [[0, 5000, 1000], [0, 4000, 1100], [0, 3000, 9000]]) {
    view.remember(now);
    view.go(start, end, now, true);
  }
  view.undo(9100);
  assert.deepEqual(seen(view), [0, 4000]);
  view.undo(9200);
  assert.deepEqual(seen(view), [920, 9080]);
  view.undo(9300);
  assert.deepEqual(seen(view), [920, 9080]);
});

Deno.test("a move is eased and ends where it was to go", () => {
  Reflect.set(globalThis, "window", { matchMedia: () => ({ matches: false }) });
  const view = viewport();
  view.go(0, 1000, 0, true);
  view.go(1000, 2000, 100);
  assert.deepEqual([seen(view), view.target], [[0, 1000], [1000, 2000]]);
  assert.equal(view.tick(190), true);
  assert.deepEqual(seen(view), [875, 1875]);
  view.tick(280);
  assert.deepEqual([seen(view), view.tick(300)], [[1000, 2000], false]);
});

Deno.test("as traces come, a view of everything still shows everything, and another one stays", () => {
  const all = viewport();
  all.reach([0, 20_000], [1000, 19_000]);
  assert.deepEqual(seen(all), [820, 19_180]);
  const part = viewport();
  part.go(2000, 3000, 0, true);
  part.reach([0, 20_000], [1000, 19_000]);
  assert.deepEqual(seen(part), [2000, 3000]);
});
