import assert from "node:assert/strict";
import { pixel, type Vector } from "./math.ts";
import { type Camera, cameraEntry, firstCamera, panned, project, readCamera, turned, zoomed } from "./orbit.ts";

const FRAME = { center: [0, 0, 0] as Vector, radius: 2 };
const FRONT: Camera = { az: 0, el: 0, zoom: 1, pan: [0, 0, 0] };
const near = (found: readonly number[] | null, wanted: readonly number[]) =>
  assert.deepEqual(found?.map((value) => Math.round(value * 1e4) / 1e4 + 0), wanted);

Deno.test("a camera turns as far as straight up and down, and zooms within bounds", () => {
  assert.deepEqual(turned(FRONT, 10, 100), { ...FRONT, az: -10, el: 90 });
  assert.deepEqual([zoomed(FRONT, 1e9).zoom, zoomed(FRONT, 0).zoom], [1e4, 1e-3]);
});

Deno.test("what is seen moves with the hand: right and down on the screen", () => {
  near(panned(FRONT, 1, 2, "y").pan, [-1, 2, 0]);
  near(panned({ ...FRONT, az: 90 }, 1, 2, "y").pan, [0, 2, 1]);
  near(panned(FRONT, 1, 2, "z").pan, [-1, 0, 2]);
});

Deno.test("the logged camera looks from where it was put, and one that says nothing from somewhat above", () => {
  const { az, el, zoom, pan } = firstCamera({ position: [0, 0, 8], target: [0, 0, 2], fov: 60 }, FRAME, "y");
  near([az, el, zoom, ...pan], [0, 0, 0.6667, 0, 0, 1]);
  assert.deepEqual(firstCamera({ position: null }, FRAME, "y"), { ...FRONT, az: 35, el: 22 });
  assert.deepEqual(firstCamera({ position: [1, 1, 1], target: [1, 1, 1] }, FRAME, "y"), { ...FRONT, az: 35, el: 22 });
});

Deno.test("an orthographic camera shows all of its frame, and a drag of all pixels moves as far", () => {
  const on = { up: "y", width: 100, height: 50, low: [-1, -1, -1], high: [1, 1, 1] } as const;
  const box = { low: [...on.low] as Vector, high: [...on.high] as Vector };
  const seen = project(FRONT, FRAME, { ...on, ...box, wanted: { kind: "orthographic" } });
  const at = (place: Vector) => pixel(seen.all, place, on.width, on.height);
  near(at([0, 0, 0]), [50, 25]);
  near(at([0, 2.06, 0]), [50, 0]);
  near(at([4.12, 0, 0]), [100, 25]);
  near([seen.perPixel * 50], [4.12]);
});

Deno.test("a camera of perspective sees nothing behind it", () => {
  const box = { low: [-1, -1, -1] as Vector, high: [1, 1, 1] as Vector };
  const seen = project(FRONT, FRAME, { up: "y", width: 100, height: 100, ...box, wanted: {} });
  assert.equal(pixel(seen.all, [0, 0, seen.eye[2] + 1], 100, 100), null);
});

Deno.test("a camera in the address is read as it was written, with its frame where it has one", () => {
  const alone = { group: "a:b", camera: { az: -10, el: 22.5, zoom: 1.25, pan: [0, 0.1, -3] as Vector } };
  const framed = { ...alone, frame: { center: [1, 2, 3] as Vector, radius: 4 } };
  assert.equal(cameraEntry(framed), "a:b:-10,22.5,1.25,0,0.1,-3,1,2,3,4");
  const far = { ...alone, frame: { center: [500123.4, -5412345.6, 1 / 3] as Vector, radius: 0.02 } };
  assert.equal(cameraEntry(far), "a:b:-10,22.5,1.25,0,0.1,-3,500123.4,-5412345.6,0.33333333,0.02");
  assert.deepEqual([alone, framed].map((one) => readCamera(cameraEntry(one))), [alone, framed]);
});

Deno.test("what is not a camera is not read as one", () => {
  const entries = ["", ":0,0,1,0,0,0", "a:0,0,1,0,0", "a:0,0,0,0,0,0", "a:0,x,1,0,0,0", "a"];
  assert.deepEqual(entries.map(readCamera), entries.map(() => null));
  assert.equal(readCamera("a:0,200,1,0,0,0")?.camera.el, 90);
});
