import assert from "node:assert/strict";
import { spreadOf } from "./spread.ts";

Deno.test("durations are bars as high as they are many, and the least is seen too", () => {
  assert.deepEqual(spreadOf([1, 10_000, 1, 0, 1000, 500]), {
    bars: [
      { tall: 1.5, title: "1 ns to 10 ns: 1 of 1,501" },
      { tall: 0, title: "10 ns to 100 ns: 0 of 1,501" },
      { tall: 16, title: "100 ns to 1 µs: 1,000 of 1,501" },
      { tall: 8, title: "1 µs to 10 µs: 500 of 1,501" },
    ],
    words: "1,501 durations, most from 100 ns to 1 µs",
  });
});
