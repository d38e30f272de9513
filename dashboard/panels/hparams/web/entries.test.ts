import assert from "node:assert/strict";
import { allowedEntries, allowedIn, pairEntries, pairsIn } from "./entries.ts";

Deno.test("names and values with colons and percents come back as they were", () => {
  const allowed = new Map([["opt:x", new Set(["50 %", "a:b"])], ["lr", new Set([""])]]);
  const entries = allowedEntries(allowed);
  assert.deepEqual(entries, ["opt%3Ax:50 %25", "opt%3Ax:a%3Ab", "lr:"]);
  assert.deepEqual(allowedIn(entries), allowed);
});

Deno.test("a pair keeps the colons of its rest, and goes where that is empty", () => {
  const pairs = pairsIn(["a%3Ab:1:2", "%:odd", "no pair"]);
  assert.deepEqual(pairs, new Map([["a:b", "1:2"], ["%", "odd"]]));
  assert.deepEqual(pairEntries(pairs.set("%", "").set("lr", "log")), ["a%3Ab:1:2", "lr:log"]);
});
