import assert from "node:assert/strict";
import { closerAt, mapPlace } from "./rank_map.ts";

Deno.test("a cell of several ranks or steps is looked at closer", () => {
  assert.deepEqual(closerAt(["", "", "0-7", "3"]), { ranks: "0-7", steps: "3" });
  assert.equal(closerAt(["r|file|a.json", "0:10"]), null);
});

Deno.test("a cell of one step of one rank is on that rank's Timeline", () => {
  assert.deepEqual(mapPlace(["r|file|a.json", "0:10"]), { trace: "r|file|a.json", range: "0:10" });
  assert.equal(mapPlace(["", "", "0-7", "3"]), null);
});
