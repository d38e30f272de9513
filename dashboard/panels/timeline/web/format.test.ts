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
  assert.deepEqual(format.tickBase(0, 1e6, 1e5), { base: 0, from: "" });
  const { base, from } = format.tickBase(5_000_000_123, 5_000_001_123, 100);
  assert.deepEqual([base, from], [5_000_000_000, "5.000 s"]);
  assert.deepEqual([5_000_000_000, 5_000_000_200, 5_000_001_500].map((time) => format.tickLabel(time, 100, base)), [
    "+0",
    "+200 ns",
    "+1.5 µs",
  ]);
  assert.deepEqual([0, 2e5, 1.5e6].map((time) => format.tickLabel(time, 1e5, 0)), ["0", "200 µs", "1.5 ms"]);
});

Deno.test("hours and days have ticks where clocks have them, and labels that are exact", () => {
  const labels = (start: number, seconds: number) => {
    const end = start + seconds * 1e9;
    const { step, first } = format.ticks(start, end, 6);
    const { base, from } = format.tickBase(start, end, step);
    const shown = [];
    for (let time = first; time <= end; time += step) shown.push(format.tickLabel(time, step, base));
    return [from, ...shown].join(" ").trim();
  };
  assert.equal(labels(0, 6), "0 1 s 2 s 3 s 4 s 5 s 6 s");
  assert.equal(labels(0, 75), "0 15 s 30 s 45 s 60 s 75 s");
  assert.equal(labels(0, 7200), "0 30 min 60 min 90 min 120 min");
  assert.equal(labels(0, 12 * 3600), "0 2 h 4 h 6 h 8 h 10 h 12 h");
  assert.equal(labels(0, 9 * 86_400), "0 2 d 4 d 6 d 8 d");
  assert.equal(labels(7201e9, 0.003), "7201 s +0 +500 µs +1.0 ms +1.5 ms +2.0 ms +2.5 ms +3.0 ms");
});
