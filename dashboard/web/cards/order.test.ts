import assert from "node:assert/strict";
import { listed } from "./order.ts";

Deno.test("an order is listed up to the last entry that was moved", () => {
  assert.deepEqual(listed([], ["c", "a", "b", "d"], 0), ["c"]);
  assert.deepEqual(listed([], ["b", "c", "a", "d"], 2), ["b", "c", "a"]);
  assert.deepEqual(listed(["b", "c", "a"], ["c", "b", "a", "d"], 0), ["c", "b", "a"]);
});

Deno.test("entries of other pages and sections keep their places", () => {
  const pages = ["a", "b", "c", "d"];
  assert.deepEqual(listed([], ["a", "b", "d", "c"], 2), ["a", "b", "d"]);
  assert.deepEqual(listed(["x", ...pages, "y"], ["b", "a"], 0), ["x", "b", "a", "c", "d", "y"]);
  assert.deepEqual(listed(["x"], ["b", "a"], 0), ["x", "b"]);
});
