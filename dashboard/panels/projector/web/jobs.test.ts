import assert from "node:assert/strict";
import { withLoss } from "./jobs.ts";

Deno.test("losses grow with the iterations, each once", () => {
  const one = withLoss([], { iteration: 1, loss: 4 });
  const two = withLoss(one, { iteration: 3, loss: 2 });
  assert.deepEqual(two, [[1, 4], [3, 2]]);
  assert.equal(withLoss(two, { iteration: 3, loss: 2 }), two);
  assert.equal(withLoss(two, { iteration: 4, loss: null }), two);
});

Deno.test("losses begin again where the job did", () => {
  assert.deepEqual(withLoss([[5, 1]], { iteration: 2, loss: 3 }), []);
});

Deno.test("of many losses the latest are all kept, and every second of the others", () => {
  let losses: [number, number][] = [];
  for (let iteration = 0; iteration <= 400; iteration += 1) losses = withLoss(losses, { iteration, loss: 1 });
  const iterations = losses.map(([iteration]) => iteration);
  assert.deepEqual([iterations.length, ...iterations.slice(0, 3), ...iterations.slice(-3)], [
    211,
    0,
    2,
    4,
    398,
    399,
    400,
  ]);
});
