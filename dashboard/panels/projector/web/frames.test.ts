import assert from "node:assert/strict";
import { factsOf, progressText, someOf, spread } from "./frames.ts";

const THREE = Float32Array.of(1, 2, 3, 4, 5, 6);

Deno.test("coordinates as they came are not copied", () => {
  assert.equal(spread(THREE, 3, [0, 1, 2], null, 2), THREE);
});

Deno.test("components are picked, and none is zero", () => {
  assert.deepEqual(spread(THREE, 3, [2, -1], null, 2), Float32Array.of(3, 0, 6, 0));
});

Deno.test("points that were not projected lie in the middle of the others", () => {
  const rows = Uint32Array.of(0, 2);
  assert.deepEqual(spread(THREE, 3, [0, 1], rows, 3), Float32Array.of(1, 2, 2.5, 3.5, 4, 5));
});

Deno.test("of too many steps some are projected, first, last and the shown one among them", () => {
  const steps = [0, 10, 20, 30, 40, 50, 60];
  assert.deepEqual(someOf(steps, 30, 7), steps);
  assert.deepEqual(someOf(steps, 40, 4), [0, 30, 40, 60]);
  assert.deepEqual(someOf(steps, null, 4), [0, 30, 60]);
});

const FRAME = {
  phase: "",
  iteration: 0,
  total: 0,
  seconds_left: null,
  updates_per_second: null,
  message: "",
};

Deno.test("a job says what it is at", () => {
  const at = { iteration: 1200, total: 5000, phase: "exaggeration", updates_per_second: 9.96, seconds_left: 75 };
  const text = (frame: Partial<Parameters<typeof progressText>[0]>) =>
    progressText({ ...FRAME, state: "running", ...frame }, "t-SNE");
  assert.equal(
    text(at),
    "t-SNE: iteration 1,200 of 5,000 · exaggeration · 10.0 per second · 1 min 15 s left",
  );
  assert.equal(text({ phase: "neighbors" }), "t-SNE: neighbors");
  assert.equal(text({ ...at, state: "paused" }), "t-SNE: paused at iteration 1,200 of 5,000");
  assert.equal(text({ state: "queued", message: "behind 2 others" }), "t-SNE: behind 2 others");
  assert.equal(text({ state: "failed" }), "t-SNE: failed");
  assert.equal(text({ state: "done" }), "");
});

Deno.test("a long projection tells how far it is", () => {
  const frame = {
    job: "",
    version: 1,
    state: "running" as const,
    phase: "exaggeration",
    iteration: 250,
    total: 1000,
    loss: 1.23456,
    seconds_left: 65,
    updates_per_second: 12.34,
    message: "",
    notes: [],
    progress: null,
    step: null,
    frame: null,
    frames: null,
    frames_done: 0,
  };
  assert.deepEqual(factsOf(frame, "KL divergence"), [
    ["Iteration", "250 of 1,000"],
    ["Iterations per second", "12.3"],
    ["Time left", "1 min 5 s"],
    ["KL divergence", "1.235"],
  ]);
  assert.deepEqual(factsOf({ ...frame, iteration: 0, total: 0, loss: null, seconds_left: null }, "Loss"), [
    ["Iteration", "0"],
    ["Now", "exaggeration"],
  ]);
});
