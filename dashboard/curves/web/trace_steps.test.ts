import assert from "node:assert/strict";
import type { AxisAbout, StepsOfTrace } from "./messages.generated.ts";
import * as steps from "./trace_steps.ts";

const row = (more: Partial<StepsOfTrace>, ...sent: StepsOfTrace["steps"][number][]): StepsOfTrace => ({
  id: "t",
  run: "a",
  label: "t.json",
  kind: "file",
  state: "ready",
  problem: "",
  runs: ["a"],
  joined: "step",
  steps: sent,
  left_out: 0,
  range: null,
  wall: null,
  ...more,
});
const axis = (kind: AxisAbout["kind"], suffix = ""): AxisAbout => (
  { kind, suffix, scale: "linear", integer: false, label: "" }
);
/** Steps of one run, each as long as a second. */
const entriesOf = (...numbers: number[]) =>
  steps.profiledByRun([
    row({}, ...numbers.map((step): StepsOfTrace["steps"][number] => [step, 0, 1e9, step, step - 0.5, step + 0.5])),
  ]).get("a")?.entries ?? [];

Deno.test("steps without a gap are one stretch, from the first beginning to the last end", () => {
  const file = row({}, [40, 0, 1, 0, 39.5, 40.5], [41, 0, 1, 1, 40.5, 41.5], [60, 0, 1, 2, null, null]);
  assert.deepEqual(steps.profiledByRun([file]).get("a")?.stretches, [
    { first: 40, last: 41, begin: 39.5, end: 41.5 },
    { first: 60, last: 60, begin: NaN, end: NaN },
  ]);
});

Deno.test("a file's times count more than when a single step was logged", () => {
  const single = row({ id: "s", kind: "run_metadata" }, [40, null, null, 40, 55, 55]);
  const file = row({}, [40, 0, 1, 0, 39.5, 40.5]);
  const found = steps.profiledByRun([single, file]).get("a");
  assert.deepEqual(found?.entries.map((entry) => entry.trace), ["t", "s"]);
  assert.deepEqual(found?.stretches, [{ first: 40, last: 40, begin: 39.5, end: 40.5 }]);
});

Deno.test("a trace is on the curves of all its runs", () => {
  assert.deepEqual([...steps.profiledByRun([row({ runs: ["x", "y"] }, [1, 0, 1, 1, 0, 1])]).keys()], ["x", "y"]);
});

Deno.test("a stretch has its place on axes of steps and of time, and none on a metric", () => {
  const stretch = { first: 40, last: 42, begin: 1060, end: 1120 };
  const places = [axis("step"), axis("wall"), axis("relative", " min"), axis("metric")]
    .map((one) => steps.placeOf(stretch, one, 1000));
  assert.deepEqual(places, [[39.5, 42.5], [1060, 1120], [1, 2], null]);
  assert.equal(steps.placeOf(stretch, axis("relative", " s"), null), null);
  assert.equal(steps.placeOf({ ...stretch, begin: NaN }, axis("wall"), 1000), null);
});

Deno.test("a place on an axis of time is a moment", () => {
  const at = [axis("wall"), axis("relative", " h"), axis("step"), axis("metric")].map((one) =>
    steps.timeAt(one, 100, 2)
  );
  assert.deepEqual(at, [2, 7300, NaN, NaN]);
});

Deno.test("the nearest step is the later of two that are as near", () => {
  const entries = entriesOf(10, 20);
  assert.deepEqual([1, 14, 15, 99].map((step) => steps.nearestEntry(entries, step)?.step), [10, 10, 20, 20]);
  assert.equal(steps.nearestEntry([], 1), null);
});

Deno.test("a moment belongs to the step that ran, or to the one nearest", () => {
  const entries = entriesOf(10, 20);
  const found = [10.2, 14, 17].map((time) => steps.entryByTime(entries, time));
  assert.deepEqual(found.map(({ entry, during }) => [entry?.step, during]), [[10, true], [10, false], [20, false]]);
});

Deno.test("the Timeline shows a step with a little room, and a trace that is one step whole", () => {
  assert.equal(steps.rangeOf({ start: 1_000_000, duration: 100_000 }), "992000:1108000");
  assert.equal(steps.rangeOf({ start: 5000, duration: 10 }), "4000:6010");
  assert.equal(steps.rangeOf({ start: null, duration: null }), "");
});

Deno.test("a step says how it was found", () => {
  const about = { step: 5040, number: 1, label: "t.json" };
  assert.deepEqual([
    steps.explained({ ...about, joined: "time" }),
    steps.explained({ ...about, joined: "marked" }),
    steps.stretchText({ first: 5040, last: 5042, begin: 0, end: 0 }),
  ], [
    "Step 5,040 in t.json, joined by wall time: the trace calls it step 1",
    "Step 5,040 in t.json, by the trace's own step numbers: nothing was logged at its time",
    "steps 5,040 to 5,042",
  ]);
});
