import assert from "node:assert/strict";
import { ago, asNumber, compare, formatOf, type Value } from "./values.ts";

const written = (...values: Value[]) => values.map(formatOf(values));

Deno.test("numbers of a column are short and written alike", () => {
  assert.deepEqual(written(0, 123456, -32), ["0", "123,456", "-32"]);
  assert.deepEqual(written(0.031234, 0.5, 1, 0.00081372), ["0.03123", "0.5", "1", "0.0008137"]);
  assert.deepEqual(written(8.137e-4, 0.0041739, 4e-5, 1, 0), ["8.14e-4", "4.17e-3", "4e-5", "1e0", "0"]);
  assert.deepEqual(written(12345678, 1234567.5), ["1.23e7", "1.23e6"]);
  assert.deepEqual(written(20240101, 20240102), ["20,240,101", "20,240,102"]);
  assert.deepEqual(written(null, true, "adam", "-Infinity", "NaN"), ["", "true", "adam", "−∞", "NaN"]);
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
