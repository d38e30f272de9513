import assert from "node:assert/strict";
import * as camera from "./camera.ts";

const rounded = (value: number) => Math.round(value * 1000) / 1000 + 0;

Deno.test("a flat cloud is looked at straight from above, in units of half the smaller side", () => {
  const p = camera.projection({ ...camera.first(2), x: 1, zoom: 2 }, 2, 400, 300);
  const { x, y, behind } = camera.screen(p, 1, 0.5, 0);
  assert.deepEqual([x, rounded(150 - y), behind], [200, rounded(0.5 * p.scale), false]);
});

Deno.test("what lies behind the eye is not seen", () => {
  const p = camera.projection({ ...camera.first(3), az: 90, el: 0 }, 3, 400, 300);
  assert.deepEqual([50, 0].map((x) => camera.screen(p, x, 0, 0).behind), [true, false]);
});

Deno.test("the camera turns round and round, but not over the poles", () => {
  const { az, el } = camera.turned({ ...camera.first(3), az: -170, el: 80 }, 30, 20);
  assert.deepEqual([az, el], [160, 90]);
});

Deno.test("zooming keeps what is under the pointer there", () => {
  for (const dimensions of [2, 3] as const) {
    const look = { ...camera.first(dimensions), x: 0.2, y: -0.1 };
    const before = camera.projection(look, dimensions, 400, 300);
    const [dx, dy] = [(90 - 200) / before.scale, (150 - 70) / before.scale];
    const target = [look.x, look.y, look.z];
    const place = camera.vector((k) => target[k] + dx * before.right[k] + dy * before.up[k]);
    const after = camera.projection(camera.zoomed(look, 3, 90, 70, before), dimensions, 400, 300);
    const { x, y } = camera.screen(after, ...place);
    assert.deepEqual([rounded(x), rounded(y)], [90, 70]);
  }
});

Deno.test("between two cameras the way goes round the short side, and zooms by equal factors", () => {
  const from = { ...camera.first(3), az: 170, zoom: 1 };
  const half = camera.between(from, { ...from, az: -170, zoom: 4 }, 0.5);
  assert.deepEqual([half.az, half.zoom], [180, 2]);
});

Deno.test("a camera comes back from the address as it was written, and nonsense is none", () => {
  const again = (text: string) => {
    const found = camera.read(text);
    return found && camera.written(found.camera, found.dimensions);
  };
  const written = ["2:0.5,-1,3", "3:-170.5,90,0.25,0.001,0,-2,o", "3:0,0,1,0,0,0,p"];
  assert.deepEqual(written.map(again), written);
  assert.equal(again("3:0,200,1,0,0,0,p"), "3:0,90,1,0,0,0,p");
  const nonsense = ["2:0,0,0", "2:0,0", "2:,0,1", "3:1,2,3", "4:1,2,3", "nonsense"];
  assert.deepEqual(nonsense.filter(again), []);
});
