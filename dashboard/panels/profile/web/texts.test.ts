import assert from "node:assert/strict";
import { formats, frameParts, middleCut } from "./texts.ts";

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
