import assert from "node:assert/strict";
import { givenIn, hiddenRuns, isOn, switched, withGiven } from "./switches.ts";

const RUNS = ["a", "b", "c"].map((run, order) => ({ run, parent: null, order }));
const switches = (base: string, show: string[] = [], hide: string[] = []) => ({
  base,
  show: new Set(show),
  hide: new Set(hide),
  lastDefault: 1,
  searched: false,
});
const on = (all: ReturnType<typeof switches>) => RUNS.filter((run) => isOn(run, all)).map(({ run }) => run);

Deno.test("the base says which runs are on, exceptions add and take away", () => {
  assert.deepEqual(on(switches("default")), ["a", "b"]);
  assert.deepEqual(on(switches("all", [], ["b"])), ["a", "c"]);
  assert.deepEqual(on(switches("none", ["c"])), ["c"]);
  assert.deepEqual(on(switches("default", ["a", "c"], ["a"])), ["b", "c"]);
});

Deno.test("the base of what was found is all of it, and as by default where nothing is searched for", () => {
  assert.deepEqual(on(switches("found")), ["a", "b"]);
  assert.deepEqual(on({ ...switches("found", [], ["a"]), searched: true }), ["b", "c"]);
  assert.deepEqual(on({ ...switches("default"), searched: true, lastDefault: 2 }), ["a", "b", "c"]);
});

Deno.test("a switched run is an exception only where it differs from the base", () => {
  const before = switches("default", ["c", "gone"], ["a"]);
  assert.deepEqual(switched(RUNS, true, before), { show: ["gone", "c"], hide: [] });
  assert.deepEqual(switched(RUNS, false, before), { show: ["gone"], hide: ["a", "b"] });
});

Deno.test("a run that belongs to another is with it, unless it was switched itself", () => {
  const [parent, , off] = RUNS;
  const [helper, ofOff] = [{ run: "a/x", parent: "a", order: 0 }, { run: "c/x", parent: "c", order: 2 }];
  assert.deepEqual([isOn(helper, switches("default")), isOn(ofOff, switches("default"))], [true, false]);
  assert.equal(isOn(helper, switches("default", [], ["a"])), false);
  assert.equal(isOn(ofOff, switches("default", ["c/x"])), true);
  assert.deepEqual(switched([helper], false, switches("default")), { show: [], hide: ["a/x"] });
  const apart = switches("default", [], ["a/x"]);
  assert.deepEqual(switched([parent, helper], false, apart), { show: [], hide: ["a"] });
  assert.deepEqual(switched([off, ofOff], true, switches("default")), { show: ["c"], hide: [] });
});

Deno.test("a run that is hidden hides what belongs to it, unless that is shown by name", () => {
  const runs = [
    { run: "a", parent: null, order: 0 },
    ...["x", "y"].map((name) => ({ run: `a/${name}`, parent: "a", order: 0 })),
  ];
  const sets = (hide: string[], show: string[] = []) => ({ hide: new Set(hide), show: new Set(show) });
  assert.deepEqual([...hiddenRuns(runs, sets(["a"]))], ["a", "a/x", "a/y"]);
  assert.deepEqual([...hiddenRuns(runs, sets(["a", "b"], ["a/y"]))], ["a", "b", "a/x"]);
  assert.deepEqual([...hiddenRuns(runs, sets(["a/x"]))], ["a/x"]);
});

Deno.test("a run is given one text, whatever signs its name has, and loses it with an empty one", () => {
  const given = withGiven(["b:old", "%:broken"], "a/1:2 %", "x:y");
  assert.deepEqual(given, ["b:old", "%:broken", "a%2F1%3A2%20%25:x:y"]);
  assert.equal(givenIn(given, "a/1:2 %"), "x:y");
  assert.equal(givenIn(given, "c"), "");
  assert.deepEqual(withGiven(given, "b", ""), ["%:broken", "a%2F1%3A2%20%25:x:y"]);
});
