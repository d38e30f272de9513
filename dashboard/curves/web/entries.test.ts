import assert from "node:assert/strict";
import * as entries from "./entries.ts";

Deno.test("ranges keep the keys and edges that they were written with", () => {
  const ranges = entries.rangesOf(["loss:1,2,,,,", "a%3Ab%25:,,0.5,1,-3,3", "1,2", "half:1,,x,2,,"]);
  assert.deepEqual([...ranges], [
    ["loss", { x: [1, 2], y: undefined, y2: undefined }],
    ["a:b%", { x: undefined, y: [0.5, 1], y2: [-3, 3] }],
    ["half", { x: undefined, y: undefined, y2: undefined }],
  ]);
  assert.deepEqual(entries.rangeEntries(ranges), ["loss:1,2,,,,", "a%3Ab%25:,,0.5,1,-3,3", "half:,,,,,"]);
});

Deno.test("a zoom of all cards holds where a card has none of its own", () => {
  const ranges = entries.rangesOf(["loss:1,2,5,6,,", "lr:,,0,1,,", "other:3,4,,,,", ":7,8,,,,"]);
  assert.deepEqual([entries.sharedOf("1,2"), entries.sharedOf(""), entries.sharedOf("1,")], [[1, 2], null, null]);
  assert.deepEqual([entries.sharedText([0.1 + 0.2, 2]), entries.sharedText(null)], ["0.3,2", ""]);
  assert.deepEqual(["loss", "lr", "", "new"].map((key) => entries.shownOf(ranges, [1, 2], key)?.x), [
    [1, 2],
    [1, 2],
    [7, 8],
    [1, 2],
  ]);
  assert.equal(entries.shownOf(ranges, null, "new"), null);
  assert.deepEqual(entries.rangeEntries(entries.withoutX(ranges)), ["loss:,,5,6,,", "lr:,,0,1,,"]);
});

Deno.test("what a card is drawn by of its own is written in few words", () => {
  const own = entries.ownOf(["a%3Ab:log,0.9,inliers", "c:all", "d:nonsense,7"]);
  assert.deepEqual([...own], [["a:b", { scale: "log", smoothing: 0.9, inliers: true }], ["c", { inliers: false }], [
    "d",
    {},
  ]]);
  assert.deepEqual(entries.withOwn(["a%3Ab:log", "c:all"], "a:b", { scale: "linear", smoothing: 0 }), [
    "c:all",
    "a%3Ab:linear,0",
  ]);
  assert.deepEqual(entries.withOwn(["c:all"], "c", {}), []);
  assert.equal(
    entries.ownText({ scale: "log", smoothing: 0.3, inliers: false }),
    "y: log · smoothing 0.3 · outliers shown",
  );
});

Deno.test("a key with a stray percent sign is taken as it stands", () => {
  assert.deepEqual([...entries.rangesOf(["100%:1,2,,,,"]).keys()], ["100%"]);
});

Deno.test("a zoom that leaves the step out is dropped", () => {
  assert.deepEqual(entries.withStep(["a:1,5,,,,", "b:6,9,,,,", "c:,,0,1,,"], 5), ["a:1,5,,,,", "c:,,0,1,,"]);
});

Deno.test("a height replaces the one before, and those no chart can have do not count", () => {
  const list = entries.withHeight(["x/y:200", "z:99"], "x/y", 300);
  assert.deepEqual(list, ["z:99", "x/y:300"]);
  assert.deepEqual([...entries.heightsOf(list)], [["x/y", 300]]);
});

Deno.test("a click sets mark A, the next one B, the one after that begins again", () => {
  const clicks: [string, number][] = [["loss", 3], ["acc", 7], ["loss", 9]];
  let marks = entries.NO_MARKS;
  const seen = clicks.map(([card, x]) => entries.markEntries(marks = entries.marked(marks, card, x)));
  assert.deepEqual(seen, [["card:loss", "a:3"], ["card:acc", "a:3", "b:7"], ["card:loss", "a:9"]]);
  assert.deepEqual(seen.map(entries.marksOf), [
    { card: "loss", a: 3, b: null },
    { card: "acc", a: 3, b: 7 },
    { card: "loss", a: 9, b: null },
  ]);
});

Deno.test("without mark A there is none", () => {
  assert.deepEqual(entries.marksOf(["card:loss", "b:7", "a:x"]), entries.NO_MARKS);
});

Deno.test("a combined chart has its tags on two sides, a tag is on the left", () => {
  assert.deepEqual(entries.sidesOf('[["loss"],["lr"]]'), [["loss"], ["lr"]]);
  assert.deepEqual(entries.sidesOf("loss"), [["loss"], []]);
});
