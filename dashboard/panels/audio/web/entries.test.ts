import assert from "node:assert/strict";
import { pinOf, pinText, spanOf, spanText, split } from "./entries.ts";

Deno.test("keys of entries may hold colons", () => {
  assert.deepEqual(split("a:b:7"), ["a:b", "7"]);
  assert.deepEqual(split(":7"), ["", "7"]);
  assert.deepEqual(split("a:b:0.5:1.25", 2), ["a:b", "0.5:1.25"]);
});

Deno.test("a stretch of time is read as it was written", () => {
  assert.equal(spanText({ start: 0.1234567, stop: 2 }), "0.12346:2");
  assert.deepEqual(spanOf("0.12346:2"), { start: 0.12346, stop: 2 });
  assert.equal(spanOf("1e5:2"), null);
  assert.equal(spanOf(""), null);
});

Deno.test("a clip that is compared is read as it was written, also one of an unknown time", () => {
  const clip = { tag: "a:b", run: ".", index: 3, step: 70, wall: 1.5, sample: 1 };
  assert.equal(pinText("B", clip), '["B","a:b",".",3,70,1.5,1]');
  assert.deepEqual(pinOf(pinText("B", clip)), ["B", clip]);
  assert.deepEqual(pinOf(pinText("A", { ...clip, wall: NaN })), ["A", { ...clip, wall: NaN }]);
});

Deno.test("what is no clip under A or B is left out", () => {
  for (const entry of ["", "7", "{}", '["C","t","r",0,0,0,0]', '["A","t","r",0.5,0,0,0]', '["A"]']) {
    assert.equal(pinOf(entry), null, entry);
  }
});
