import assert from "node:assert/strict";
import { storage } from "../../../web/core/dom.ts";
import { Lanes, onlyLane } from "./lanes.ts";
import type { Entry } from "./layout.ts";
import { group, summary } from "./samples.test.ts";

const kept: Map<string, string> = new Map();
storage.get = (key) => kept.get(key) ?? null;
storage.set = (key, value) => void kept.set(key, value);

const entry = (key: string, more: Partial<Entry> = {}): Entry => ({
  type: "lane",
  key,
  parent: "g",
  label: key,
  full: `GPU 0 · ${key}`,
  title: key,
  kind: "stream",
  lane: 0,
  counter: -1,
  depths: 1,
  foldable: false,
  ...more,
});
const ordered = (lanes: Lanes, keys: string) => lanes.ordered([...keys], (key) => key).join("");

Deno.test("what was moved changes places with its like; what nobody touched stays where it is", () => {
  const lanes = new Lanes();
  assert.equal(ordered(lanes, "abcd"), "abcd");
  lanes.move([..."abc"], "c", 0);
  assert.equal(ordered(lanes, "abc"), "cab");
  assert.equal(ordered(lanes, "axbyc"), "cxayb");
  lanes.move([..."xy"], "x", 9);
  lanes.move([..."cab"], "c", 1);
  assert.deepEqual(lanes.order, [..."yxacb"]);
  assert.deepEqual([ordered(lanes, "abc"), ordered(lanes, "xy")], ["acb", "yx"]);
});

Deno.test("pinned lanes stand as they were pinned until they are moved", () => {
  const lanes = new Lanes();
  for (const key of "cab") lanes.pin(entry(key), true);
  assert.deepEqual(lanes.pins, [..."cab"]);
  lanes.movePin([..."cab"], "b", 0);
  lanes.pin(entry("c"), false);
  assert.deepEqual(lanes.pins, [..."ba"]);
  assert.deepEqual([..."abc"].map((key) => lanes.isPinned(entry(key))), [true, true, false]);
});

Deno.test("a lane is shown unless it or its group is hidden, or the filter does not match", () => {
  const lanes = new Lanes();
  const shown = () => [entry("stream 7"), entry("copies", { parent: "h" })].map((each) => lanes.isShown(each));
  lanes.setFilter("STREAM \\d");
  assert.deepEqual(shown(), [true, false]);
  lanes.setFilter("c(opies");
  assert.deepEqual([lanes.wrong, shown()], [true, [false, false]]);
  lanes.setFilter("");
  lanes.hidden.add("h");
  assert.deepEqual([lanes.wrong, shown()], [false, [true, false]]);
  lanes.setFilter(onlyLane(entry("a.b (c)")));
  assert.deepEqual([entry("a.b (c)"), entry("axb (c)")].map((each) => lanes.isShown(each)), [true, false]);
});

Deno.test("deep lanes and the profiler's own start folded, until somebody unfolds them", () => {
  const lanes = new Lanes();
  const deep = entry("deep", { depths: 25 });
  const notes = entry("notes", { type: "group", kind: "profiler" });
  assert.deepEqual([deep, notes].map((each) => lanes.isFolded(each)), [false, true]);
  lanes.foldDeep = true;
  assert.equal(lanes.isFolded(deep), true);
  lanes.fold(deep, false);
  lanes.fold(notes, false);
  assert.deepEqual([deep, notes].map((each) => lanes.isFolded(each)), [false, false]);
  lanes.fold(notes, true);
  assert.deepEqual([...lanes.folds], [["deep", false]]);
});

Deno.test("the next trace of a program finds the lanes as they were left, whatever its processes' numbers", () => {
  const trace = (title: string) => summary({ groups: [group(title, [])] });
  const lanes = new Lanes();
  lanes.remember(trace("python (process 4711)"));
  lanes.fold(entry("deep"), true);
  lanes.pin(entry("a"), true);
  lanes.hide(entry("b"));
  lanes.move([..."xy"], "y", 0);
  const later = new Lanes();
  later.remember(trace("python (process 12)"));
  assert.deepEqual([[...later.folds], later.pins, [...later.hidden], later.order], [
    [["deep", true]],
    ["a"],
    ["b"],
    ["y", "x"],
  ]);
  later.remember(trace("another"));
  assert.deepEqual([later.folds.size, later.pins, later.hidden.size, later.order], [0, [], 0, []]);
});

Deno.test("what is remembered and makes no sense is forgotten", () => {
  const lanes = new Lanes();
  lanes.take({ folds: [["a", true], [1, true], "x"], pins: "a", hidden: [1, "b"], order: null });
  assert.deepEqual([[...lanes.folds], lanes.pins, [...lanes.hidden], lanes.order], [[["a", true]], [], ["b"], []]);
  kept.set("stepscope.timeline.lanes", "[1]");
  lanes.remember(summary({}));
  assert.deepEqual([lanes.program, lanes.pins], ["trace.json", []]);
});
