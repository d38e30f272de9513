import assert from "node:assert/strict";
import { placesOf } from "./words.ts";

Deno.test("of two strings that begin at one place the longer is marked", () => {
  assert.deepEqual(placesOf(["need", "needle"], "a needle, no need", 10), [[2, 8], [13, 17]]);
});

Deno.test("strings are looked for without the blanks around them, and nothing where they are blank", () => {
  assert.deepEqual(placesOf([" b ", "  "], "a b c", 10), [[2, 3]]);
});

Deno.test("what was marked is not marked again, and no more than is wanted", () => {
  assert.deepEqual(placesOf(["aa"], "aaaaa", 10), [[0, 2], [2, 4]]);
  assert.deepEqual(placesOf(["a"], "aaaaa", 3), [[0, 1], [1, 2], [2, 3]]);
});
