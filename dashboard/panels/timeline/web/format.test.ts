import assert from "node:assert/strict";
import * as format from "./format.ts";

Deno.test("only a counter of bytes shows them as such", () => {
  assert.deepEqual(
    [["allocated bytes", 12_345], ["allocated bytes", 12], ["memory %", 12_345], ["queue length", 12_345]].map(
      ([name, value]) => format.quantity(String(name), Number(value)),
    ),
    ["12.3 kB", "12", "12,345", "12,345"],
  );
});

Deno.test("a place in an order is read as people say it", () => {
  assert.deepEqual(
    [1, 2, 3, 4, 11, 12, 13, 21, 102, 1111, 1113].map(format.ordinal),
    "1st 2nd 3rd 4th 11th 12th 13th 21st 102nd 1,111th 1,113th".split(" "),
  );
});

Deno.test("ticks lie at round times, no more of them than fit", () => {
  assert.deepEqual(format.ticks(130, 1000, 5), { step: 200, first: 200 });
  assert.deepEqual(format.ticks(0, 3, 10), { step: 1, first: 0 });
  assert.deepEqual(format.ticks(-50, 450, 5), { step: 100, first: -0 });
});

Deno.test("labels far from the beginning count from a round moment", () => {
  assert.equal(format.tickBase(0, 1e6, 1e5), 0);
  const base = format.tickBase(5_000_000_123, 5_000_001_123, 100);
  assert.equal(base, 5_000_000_000);
  assert.deepEqual([5_000_000_000, 5_000_000_200, 5_000_001_500].map((time) => format.tickLabel(time, 100, base)), [
    "+0",
    "+200 ns",
    "+1.5 µs",
  ]);
  assert.deepEqual([0, 2e5, 1.5e6].map((time) => format.tickLabel(time, 1e5, 0)), ["0", "200 µs", "1.5 ms"]);
});
