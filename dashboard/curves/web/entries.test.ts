import assert from "node:assert/strict";
import * as entries from "./entries.ts";

Deno.test("ranges keep the keys and edges that they were written with", () => {
  const ranges = entries.rangesOf(["loss:1,2,,,,", "a%3Ab%25:,,0.5,1,-3,3", ":1,2", "half:1,,x,2,,"]);
  assert.deepEqual([...ranges], [
    ["loss", { x: [1, 2], y: undefined, y2: undefined }],
    ["a:b%", { x: undefined, y: [0.5, 1], y2: [-3, 3] }],
    ["half", { x: undefined, y: undefined, y2: undefined }],
  ]);
  assert.deepEqual(entries.rangeEntries(ranges), ["loss:1,2,,,,", "a%3Ab%25:,,0.5,1,-3,3", "half:,,,,,"]);
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

Deno.test("a click sets mark A, the next one B, the one after that begins anew", () => {
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
