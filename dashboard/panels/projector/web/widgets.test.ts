import assert from "node:assert/strict";
import { format } from "./widgets.ts";

Deno.test("numbers have four digits that count", () => {
  assert.deepEqual(
    [0, 12, -1234, 3.14159, 1e7, -2.5e-5, 0.5, NaN, null, Infinity].map(format.number),
    ["0", "12", "−1,234", "3.142", "1e7", "−2.5e−5", "0.5", "–", "–", "∞"],
  );
});
