import assert from "node:assert/strict";
import { facts, numbersByKey, short } from "./texts.ts";

Deno.test("a measured number has three digits", () => {
  assert.deepEqual([0, 3.14159, -1234.5, 0.00123, 0.0001, 12_345_678].map(short), [
    "0",
    "3.14",
    "−1,234",
    "0.00123",
    "0.0001",
    "1.23e7",
  ]);
});

Deno.test("a mesh is described by its parts, its extent and how far it moved", () => {
  const header = { samples: 1, error: "", notes: [] };
  const box = { low: [0, -1, 2] as [number, number, number], high: [2, 1, 2] as [number, number, number] };
  assert.equal(facts({ ...header, vertices: 4, faces: 1, ...box }), "4 vertices · 1 face · 2 × 2 × 0");
  assert.equal(
    facts({ ...header, vertices: 1, faces: 0, ...box, moved: { mean: 1.732, most: "Infinity" } }),
    "1 point · 2 × 2 × 0 · moved 1.73 on average, ∞ at most",
  );
  assert.equal(facts(header), "");
});

Deno.test("keys may have colons, and what is not a whole number is left out", () => {
  assert.deepEqual([...numbersByKey(["a:b:3", "c:-1", "d:1.5", "e:x", ":4", "f"])], [["a:b", 3], ["c", -1]]);
});
