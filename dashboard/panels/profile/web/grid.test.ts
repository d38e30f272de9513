import assert from "node:assert/strict";
import { orderOf } from "./grid.ts";

Deno.test("a table is sorted by the columns that have an order, the most important first", () => {
  const state = [
    { colId: "name", sort: null },
    { colId: "mean_ns", sort: "desc" as const, sortIndex: 1 },
    { colId: "kind", sort: "asc" as const, sortIndex: 0 },
  ];
  assert.deepEqual(orderOf({ getColumnState: () => state }), [
    { colId: "kind", sort: "asc" },
    { colId: "mean_ns", sort: "desc" },
  ]);
});
