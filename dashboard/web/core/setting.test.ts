import assert from "node:assert/strict";
import { withValue } from "./setting.ts";

Deno.test("a key has one value in a list, and keys that begin with it have their own", () => {
  assert.deepEqual(withValue(["a:b:2", "a:3", "b:2"], "a", 4), ["a:b:2", "b:2", "a:4"]);
  assert.deepEqual(withValue(["a:b:2", "a:3", "b:2"], "a", null), ["a:b:2", "b:2"]);
});
