import assert from "node:assert/strict";
import { address, placeOf, settingsOf } from "./places.ts";

Deno.test("a row is searched for by what it is called, where it stands for several slices", () => {
  assert.deepEqual(placeOf({ "@at": "0:5", "@slice": 7 }, "t", "conv"), {
    trace: "t",
    range: "0:5",
    slice: "7",
    search: "conv",
  });
  assert.deepEqual(placeOf({ "@at": "0:5", "@search": "whole name" }, "t", "who…").search, "whole name");
  assert.deepEqual(placeOf({ "@at": "0:5" }, "t", "conv"), { trace: "t", range: "0:5", slice: "", search: "" });
});

Deno.test("the Timeline's settings that a place does not have are taken back", () => {
  assert.deepEqual(settingsOf({ trace: "t", range: "0:5" }), {
    "timeline.trace": ["t"],
    "timeline.range": ["0:5"],
    "timeline.slice": [],
    "timeline.search": [],
    "timeline.match": [],
  });
});

Deno.test("a name that was cut is searched for as a part of names", () => {
  const matched = (search: string) => settingsOf({ trace: "t", search })["timeline.match"];
  assert.deepEqual([matched("conv"), matched("c".repeat(300))], [["name"], []]);
});

Deno.test("an address has what a place has", () => {
  assert.equal(
    address({ trace: "a|b", range: "0:5", search: "x y" }),
    "?tab=timeline&timeline.trace=a%7Cb&timeline.range=0%3A5&timeline.search=x+y&timeline.match=name",
  );
});
