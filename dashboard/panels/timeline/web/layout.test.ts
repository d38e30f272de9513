import assert from "node:assert/strict";
import { type Band, bandAt, type Entry, layout, stable } from "./layout.ts";
import { counter, group, lane, source } from "./samples.test.ts";

const chosen = (keys: { folded?: string[]; pinned?: string[]; hidden?: string[]; order?: string[] } = {}) => ({
  isFolded: ({ key }: Entry) => keys.folded?.includes(key) ?? false,
  isPinned: ({ key }: Entry) => keys.pinned?.includes(key) ?? false,
  isShown: ({ key }: Entry) => !keys.hidden?.includes(key),
  ordered: <T>(entries: T[], keyOf: (entry: T) => string) =>
    keys.order
      ? entries.toSorted((a, b) => Number(keys.order?.indexOf(keyOf(a))) - Number(keys.order?.indexOf(keyOf(b))))
      : entries,
  orderedPins: <T>(pins: T[]) => pins.toReversed(),
});
const trace = (place = 0) =>
  source({
    lanes: [lane(0, 3), lane(1), lane(2)],
    counters: [counter("memory")],
    groups: [group("python (process 4711)", [0, 1], [0]), group("GPU 0", [2])],
  }, place);
const places = (bands: Band[]) => bands.map(({ label, y, height }) => `${label} ${y}+${height}`);

Deno.test("rows follow one another: groups with their lanes and counters, a lane as high as its depths", () => {
  const rows = layout([trace()], chosen());
  assert.deepEqual(places(rows.bands), [
    "python (process 4711) 0+26",
    "thread 0 26+60",
    "thread 1 86+24",
    "memory 110+44",
    "GPU 0 154+26",
    "thread 2 180+24",
  ]);
  assert.deepEqual([rows.height, rows.total, rows.hidden, rows.pinned], [204, 4, 0, []]);
  assert.deepEqual([...rows.ofLane].map(([at, band]) => [at, band.key]), [
    ["0/0", "g:python/l:thread 0"],
    ["0/1", "g:python/l:thread 1"],
    ["0/2", "g:GPU 0/l:thread 2"],
  ]);
});

Deno.test("a folded lane is flat, of a folded group the head is left, and a group without lanes is gone", () => {
  const folded = layout([trace()], chosen({ folded: ["g:python/l:thread 0"], hidden: ["g:GPU 0/l:thread 2"] }));
  assert.deepEqual(places(folded.bands), [
    "python (process 4711) 0+26",
    "thread 0 26+24",
    "thread 1 50+24",
    "memory 74+44",
  ]);
  assert.deepEqual([folded.bands[1].sliceHeight, folded.total, folded.hidden], [5, 4, 1]);
  const closed = layout([trace()], chosen({ folded: ["g:python"] }));
  assert.deepEqual(places(closed.bands), ["python (process 4711) 0+26", "GPU 0 26+26", "thread 2 52+24"]);
});

Deno.test("pinned lanes leave their group, in the order in which they were pinned", () => {
  const rows = layout([trace()], chosen({ pinned: ["g:python/l:thread 1", "g:GPU 0/l:thread 2"] }));
  assert.deepEqual(places(rows.pinned), ["thread 2 0+24", "thread 1 24+24"]);
  assert.deepEqual([rows.pinnedHeight, rows.height, rows.hidden], [48, 130, 0]);
  assert.deepEqual(places(rows.bands), ["python (process 4711) 0+26", "thread 0 26+60", "memory 86+44"]);
});

Deno.test("groups and lanes stand in the order that the user gave them", () => {
  const order = ["g:GPU 0", "g:python", "g:python/c:memory", "g:python/l:thread 1", "g:python/l:thread 0"];
  const labels = layout([trace()], chosen({ order })).bands.map(({ label }) => label);
  assert.deepEqual(labels, ["GPU 0", "thread 2", "python (process 4711)", "memory", "thread 1", "thread 0"]);
});

Deno.test("of several traces each has a row of its own that folds it, and like lanes share what was made of them", () => {
  const rows = layout([trace(), trace(1)], chosen({ folded: ["t:0"] }));
  assert.deepEqual(rows.bands.slice(0, 3).map(({ label, type, id }) => [label, type, id]), [
    ["1 · train · trace.json", "trace", "0|t:0"],
    ["2 · train · trace.json", "trace", "1|t:1"],
    ["python (process 4711)", "group", "1|g:python"],
  ]);
  assert.deepEqual([...rows.ofLane.keys()], ["1/0", "1/1", "1/2"]);
});

Deno.test("lanes of the same name are told apart by their number", () => {
  const twins = source({ lanes: [lane(0), lane(1)], lane_labels: ["main", "main"], groups: [group("python", [0, 1])] });
  const keys = layout([twins], chosen()).bands.map(({ key }) => key);
  assert.deepEqual(keys, ["g:python", "g:python/l:main", "g:python/l:main~1"]);
});

Deno.test("a height belongs to the row that it is in", () => {
  const { bands } = layout([trace()], chosen());
  assert.deepEqual([-1, 0, 25.9, 26, 203, 204].map((y) => bandAt(bands, y)?.label), [
    undefined,
    "python (process 4711)",
    "python (process 4711)",
    "thread 0",
    "thread 2",
    undefined,
  ]);
});

Deno.test("numbers of processes and threads do not tell recordings apart", () => {
  assert.deepEqual(["python (process 4711)", "thread 140512 (python)", "stream 7"].map(stable), [
    "python",
    "thread # (python)",
    "stream 7",
  ]);
});
