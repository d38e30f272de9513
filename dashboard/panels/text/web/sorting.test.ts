import assert from "node:assert/strict";
import { compare, numeric } from "./sorting.ts";

Deno.test("cells are numbers with signs, thousands, exponents and percents", () => {
  assert.deepEqual(
    ["1,000", "\u22122.5", "1e-3", "50 %", ".5", "v2", "1.2.3", "-", ""].map(numeric),
    [1000, -2.5, 0.001, 50, 0.5, NaN, NaN, NaN, NaN],
  );
});

Deno.test("numbers come before words, words by the numbers in them", () => {
  const cells = ["layer10", "100", "layer2", "9", "Alpha", "-1"];
  assert.deepEqual(cells.sort(compare), ["-1", "9", "100", "Alpha", "layer2", "layer10"]);
});
