import assert from "node:assert/strict";
import { leftOver } from "./keys_sheet.ts";

const tabs = { title: "Open a tab", keys: ["1", "2", "3", "4"], keysShown: "1 … 4" };

Deno.test("the page's keys are named without those that the open panel has taken", () => {
  assert.deepEqual(leftOver(tabs, new Set(["x"])), tabs);
  assert.deepEqual(leftOver(tabs, new Set(["1", "2"])).keysShown, "3 … 4");
  assert.deepEqual(leftOver(tabs, new Set(["1", "2", "3"])).keysShown, "4");
});

Deno.test("a key that may go on to the page stays named there", () => {
  const escape = { title: "Close", keys: ["Escape"] };
  assert.deepEqual(leftOver(escape, new Set(["Escape"])), escape);
});
