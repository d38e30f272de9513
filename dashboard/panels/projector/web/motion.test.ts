import assert from "node:assert/strict";
import * as camera from "./camera.ts";
import { Motion, Pace } from "./motion.ts";

const flat = camera.first(2);
const p = camera.projection(flat, 2, 100, 100);

Deno.test("slow painting is simplified step by step, and fast painting brings all back", () => {
  const pace = new Pace();
  const frames = (count: number, cost: number) => {
    for (let at = 0; at < count; at += 1) pace.add(at * 16, cost);
    return pace.level;
  };
  assert.deepEqual([frames(9, 40), frames(1, 40), frames(10, 40), frames(10, 15), frames(8, 2), frames(10, 2)], [
    0,
    1,
    2,
    2,
    1,
    0,
  ]);
});

Deno.test("gaps are measured within a movement only", () => {
  const pace = new Pace();
  pace.add(0, 4);
  pace.add(16, 6);
  pace.rest();
  pace.add(40, 8);
  assert.deepEqual(pace.stats(), { count: 3, p50: 16, p95: 16, paint50: 6, paint95: 8, level: 0 });
});

Deno.test("the way between two cameras ends at the second", () => {
  const motion = new Motion();
  const to = { ...flat, x: 1 };
  motion.way = { from: flat, to, began: 0, ms: 100 };
  assert.equal(motion.moved(flat, 50, p).x, 0.5);
  assert.deepEqual([motion.moved(flat, 100, p), motion.busy(2)], [to, false]);
});

Deno.test("a throw loses its speed and stops", () => {
  const motion = new Motion();
  motion.thrown = { x: 1, y: 0, at: 0, pan: true };
  let look = flat;
  let frames = 0;
  for (; motion.busy(2) && frames < 100; frames += 1) look = motion.moved(look, (frames + 1) * 16, p);
  assert.deepEqual([look.x < 0, frames], [true, 23]);
});

Deno.test("what spins stands still while a hand holds it, and in 2-D", () => {
  const motion = new Motion();
  motion.spin = true;
  const [deep, at] = [camera.first(3), camera.projection(camera.first(3), 3, 100, 100)];
  assert.equal(motion.moved(deep, 50, at).az.toFixed(3), (deep.az + 50 * 0.012).toFixed(3));
  motion.held = true;
  assert.equal(motion.moved(deep, 100, at), deep);
  assert.deepEqual([motion.busy(2), motion.busy(3)], [false, true]);
});
