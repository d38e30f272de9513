import assert from "node:assert/strict";
import {
  counted,
  digits,
  durationText,
  exactBytes,
  exactDurationText,
  fileSize,
  integer,
  shortDuration,
  shortNumber,
} from "./numbers.ts";

Deno.test("sizes have three digits and the unit that fits, as the server writes them", () => {
  const sizes = [0, 512, 999, 1000, 1234, 999_499, 999_500, 23_456_789, 999_999_999, 5e12, 1.5e15];
  assert.deepEqual(sizes.map(fileSize), [
    "0 B",
    "512 B",
    "999 B",
    "1 kB",
    "1.23 kB",
    "999 kB",
    "1 MB",
    "23.5 MB",
    "1 GB",
    "5 TB",
    "1500 TB",
  ]);
});

Deno.test("a size that is less than nothing has its sign", () => {
  assert.deepEqual([-12, -1234].map(fileSize), ["-12 B", "-1.23 kB"]);
});

Deno.test("a number has the digits that count, all before the point, a real minus, and an exponent far from one", () => {
  const values = [0, 0.1 + 0.2, -1234.56, 123_456.7, 1e-4, 1.2e-5, -1.0001e-9, 12_345_678, 1e8, NaN, -Infinity];
  assert.deepEqual(values.map((value) => shortNumber(value)), [
    "0",
    "0.3",
    "−1,235",
    "123,457",
    "0.0001",
    "1.2e−5",
    "−1e−9",
    "1.235e7",
    "1e8",
    "NaN",
    "−∞",
  ]);
  assert.deepEqual([shortNumber(1234.56, 5), shortNumber(1234.56, 2)], ["1,234.6", "1,235"]);
});

Deno.test("one byte is no bytes", () => {
  assert.deepEqual([1, 0, 12345].map(exactBytes), ["1 byte", "0 bytes", "12,345 bytes"]);
});

Deno.test("counts have separators, and one is counted as one", () => {
  assert.deepEqual([0, 1, 12_345].map((count) => counted(count, "node")), ["0 nodes", "1 node", "12,345 nodes"]);
  assert.deepEqual([1, 2].map((count) => counted(count, "vertex", "vertices")), ["1 vertex", "2 vertices"]);
  assert.equal(integer(1234.6), "1,235");
});

Deno.test("a duration is in the unit that keeps it short, also where rounding makes it one of the next", () => {
  const times = [0, 7, 12_000, 999_940, 999_999, 1_500_000, 59.5e9, 7200e9, -2_500];
  assert.deepEqual(times.map((ns) => durationText(ns)), [
    "0 ns",
    "7 ns",
    "12.00 µs",
    "999.9 µs",
    "1.000 ms",
    "1.500 ms",
    "59.50 s",
    "2.000 h",
    "-2.500 µs",
  ]);
  assert.equal(durationText(999.6, 3), "1.00 µs");
  assert.deepEqual([durationText(-12_345, 2), durationText(123_456, 1)], ["-12 µs", "123 µs"]);
  assert.deepEqual([0, 1, 1_000_001, 1_500_000_000, 1234.5e9].map(exactDurationText), [
    "0 ns",
    "1 ns",
    "1.000001 ms",
    "1.5 s",
    "1,234.5 s",
  ]);
});

Deno.test("numbers have four digits, separators from a thousand and units from a million", () => {
  assert.deepEqual([0, 0.00001234, 0.5, 12.345, 999.96, 1000, 12_345, 999_999, 1_234_567, 5e9, -1500].map(digits), [
    "0",
    "1.23e-05",
    "0.5",
    "12.35",
    "1,000",
    "1,000",
    "12,345",
    "999,999",
    "1.235 M",
    "5 G",
    "-1,500",
  ]);
});

Deno.test("times are in the unit that fits", () => {
  assert.deepEqual([0, 999, 1500, 2.5e6, -3e9, 999_960, 999_999, 4.321e12].map(shortDuration), [
    "0 ns",
    "999 ns",
    "1.5 µs",
    "2.5 ms",
    "-3 s",
    "1 ms",
    "1 ms",
    "4,321 s",
  ]);
});
