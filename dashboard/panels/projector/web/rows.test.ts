import assert from "node:assert/strict";
import { readRows, rowsSpec, writeRows } from "./rows.ts";

Deno.test("rows are written as ranges, and come back in order", () => {
  assert.equal(writeRows([9, 0, 2, 1]), "0-2,9");
  assert.deepEqual(readRows("9,0-2,2", 100), Uint32Array.of(0, 1, 2, 9));
});

Deno.test("rows that there are none of, and what is not a row, are left out", () => {
  assert.deepEqual(readRows("2-1000000000,x,-1,4-3,", 4), Uint32Array.of(2, 3));
});

Deno.test("too many rows are not written at all", () => {
  assert.equal(writeRows(Uint32Array.from({ length: 4000 }, (_, at) => 2 * at)), null);
});

Deno.test("an end of an own axis is made of rows, or of what a search finds", () => {
  assert.deepEqual(rowsSpec("rows:1-2", "", 10), { rows: [1, 2] });
  assert.deepEqual(rowsSpec("regex:^k:", "name", 10), { q: "^k:", match: "regex", in: "name" });
  assert.deepEqual(rowsSpec("text:king", "", 10), { q: "king", match: "text", in: "*" });
  assert.equal(rowsSpec("text:", "", 10), null);
});
