import assert from "node:assert/strict";
import { letPass, pairEntries, pairsIn, passes, valueEntries, type ValueFilters, valuesIn } from "./entries.ts";

Deno.test("names and values with colons and percents come back as they were", () => {
  const allowed = new Map([["opt:x", new Set(["50 %", "a:b"])], ["lr", new Set([""])]]);
  const entries = valueEntries(allowed);
  assert.deepEqual(entries, ["opt%3Ax:50 %25", "opt%3Ax:a%3Ab", "lr:"]);
  assert.deepEqual(valuesIn(entries), allowed);
});

Deno.test("a pair keeps the colons of its rest, and goes where that is empty", () => {
  const pairs = pairsIn(["a%3Ab:1:2", "%:odd", "no pair"]);
  assert.deepEqual(pairs, new Map([["a:b", "1:2"], ["%", "odd"]]));
  assert.deepEqual(pairEntries(pairs.set("%", "").set("lr", "log")), ["a%3Ab:1:2", "lr:log"]);
});

Deno.test("a value that is turned off leaves those that are not listed", () => {
  const column = { key: "name", count: 250 };
  const filters: ValueFilters = { allowed: new Map(), excluded: new Map() };
  letPass(filters, column, "n1", false);
  assert.deepEqual(filters, { allowed: new Map(), excluded: new Map([["name", new Set(["n1"])]]) });
  assert.deepEqual(["n1", "n2"].map((value) => passes(filters, "name", value)), [false, true]);
  letPass(filters, column, "n1", true);
  assert.deepEqual(filters, { allowed: new Map(), excluded: new Map() });
});

Deno.test("a value joins the only one that passes, until all or none do", () => {
  const column = { key: "opt", count: 2 };
  const only = (): ValueFilters => ({ allowed: new Map([["opt", new Set(["sgd"])]]), excluded: new Map() });
  const turned = (value: string, on: boolean, filters = only()) => {
    letPass(filters, column, value, on);
    return filters;
  };
  const none = { allowed: new Map(), excluded: new Map() };
  assert.deepEqual([turned("adam", true), turned("sgd", false)], [none, none]);
  assert.deepEqual(turned("sgd", false, turned("adam", false, { allowed: new Map(), excluded: new Map() })), none);
  assert.deepEqual(["sgd", "adam"].map((value) => passes(only(), "opt", value)), [true, false]);
});
