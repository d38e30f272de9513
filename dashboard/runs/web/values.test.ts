import assert from "node:assert/strict";
import { ago, asNumber, compare, short } from "./values.ts";

Deno.test("numbers are short, and still tell what they are", () => {
  const numbers = [0, 123456, 12345678, 0.031234, 0.000012, -0.5, 1234567.5];
  assert.deepEqual(numbers.map(short), ["0", "123,456", "1.23e7", "0.03123", "1.2e-5", "-0.5", "1.23e6"]);
  assert.deepEqual([null, true, "adam", "-Infinity", "NaN"].map(short), ["", "true", "adam", "−∞", "NaN"]);
});

Deno.test("numbers that JSON has not are numbers, other texts are none", () => {
  assert.deepEqual(["NaN", "Infinity", "1", "toString", true, null].map(asNumber), [
    NaN,
    Infinity,
    null,
    null,
    null,
    null,
  ]);
});

Deno.test("what is missing stands last in both orders", () => {
  const values = ["NaN", 10, null, 9, "Infinity"];
  const sorted = (descending: boolean) =>
    values.toSorted((a, b) => compare(a, b, null, null, descending) * (descending ? -1 : 1));
  assert.deepEqual(sorted(false), [9, 10, "Infinity", "NaN", null]);
  assert.deepEqual(sorted(true), ["Infinity", 10, 9, "NaN", null]);
  assert.deepEqual(["b", "a10", "a9"].toSorted(compare), ["a9", "a10", "b"]);
});

Deno.test("an age is told in its largest whole unit", () => {
  const day = 86400;
  assert.deepEqual([30, 60, 2 * 3600 + 5, 3 * day, 800 * day].map((age) => ago(1e9 - age, 1e9)), [
    "now",
    "1 min ago",
    "2 h ago",
    "3 d ago",
    "2 y ago",
  ]);
  assert.equal(ago(NaN), "");
});
