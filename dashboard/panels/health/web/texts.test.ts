import assert from "node:assert/strict";
import { byHealth, fileParts, some } from "./texts.ts";

Deno.test("nothing is said of nothing", () => {
  assert.deepEqual([some(0), some(12345), some(0, () => "x"), some(3, (n) => `${n} B`)], ["", "12,345", "", "3 B"]);
});

Deno.test("worse files come later, files that are as bad by their words", () => {
  const rows = [["b", "bad"], ["z", "good"], ["a", "bad"], ["m", "open"]] as const;
  const sorted = [...rows].sort(([a, one], [b, other]) => byHealth(a, b, { severity: one }, { severity: other }));
  assert.deepEqual(sorted.map(([words]) => words), ["z", "m", "a", "b"]);
});

Deno.test("of an event file the end stays whole, and what all share is left out", () => {
  assert.deepEqual(fileParts("events.out.tfevents.1700000000.host.12.0"), ["…1700000000.h", "ost.12.0"]);
  assert.deepEqual(fileParts("events.out.tfevents."), ["events.out.t", "fevents."]);
  assert.deepEqual(fileParts("short"), ["", "short"]);
});
