import assert from "node:assert/strict";
import { digits, formats, frameParts, middleCut, time } from "./texts.ts";

Deno.test("numbers have four digits, separators from a thousand and units from a million", () => {
  assert.deepEqual([0, 0.00001234, 0.5, 12.345, 999.96, 1000, 12_345, 999_999, 1_234_567, 5e9, -1500].map(digits), [
    "0",
    "1.23e-05",
    "0.5",
    "12.35",
    "1000",
    "1,000",
    "12,345",
    "999,999",
    "1.235 M",
    "5 G",
    "-1,500",
  ]);
});

Deno.test("times are in the unit that fits", () => {
  assert.deepEqual([0, 999, 1500, 2.5e6, -3e9].map(time), ["0 ns", "999 ns", "1.5 µs", "2.5 ms", "-3 s"]);
});

Deno.test("a cell without a number has a dash, words stay words, and no value is nothing", () => {
  assert.deepEqual([null, NaN, "all", undefined, 1000].map((value) => formats.Time(value)), [
    "–",
    "–",
    "all",
    "",
    "1 µs",
  ]);
  assert.deepEqual([null, 1234.56].map((value) => formats.Ns(value)), ["", "1,234.6 ns"]);
});

Deno.test("differences have their sign", () => {
  assert.deepEqual([2, -2, 0].map((value) => formats.Percent(value, true)), ["+2.0%", "-2.0%", "0.0%"]);
  assert.equal(formats.Size(-2048), "-2.05 kB");
});

Deno.test("a bar is as long as the share of the whole, and rows of totals have none", () => {
  const bar = (value: unknown, rowPinned?: string) => formats.Bar({ value, node: { rowPinned } }, 200).backgroundSize;
  assert.deepEqual([bar(50), bar(900), bar(null), bar(50, "bottom")], [
    "25.00% 100%",
    "100.00% 100%",
    "0.00% 100%",
    "0.00% 100%",
  ]);
});

Deno.test("of a frame the name and the end of the path come first", () => {
  assert.deepEqual(frameParts("/a/b/file.py(12): f/g"), ["file.py(12): f/g", "/a/b/"]);
  assert.deepEqual(frameParts("built-in"), ["built-in", ""]);
});

Deno.test("a long name keeps its end", () => {
  assert.deepEqual(middleCut("aten::add"), ["aten::add", ""]);
  assert.deepEqual(middleCut("x".repeat(40) + "0123456789abcd"), ["x".repeat(40), "0123456789abcd"]);
});
