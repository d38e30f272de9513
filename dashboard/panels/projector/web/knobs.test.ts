import assert from "node:assert/strict";
import { readKnobs, writeKnobs } from "./knobs.ts";

const DEFAULTS = readKnobs("umap", "");

Deno.test("the address has only the settings that were changed", () => {
  assert.equal(writeKnobs("umap", DEFAULTS), "");
  assert.equal(writeKnobs("umap", { ...DEFAULTS, neighbours: 50, metric: "cosine" }), "neighbours:50,metric:cosine");
});

Deno.test("what is beyond its bounds is brought within them, and nonsense changes nothing", () => {
  const read = readKnobs("umap", "neighbours:1e9,metric:angle,spread:wide,epochs:,unknown:1,seed:-3");
  assert.deepEqual(read, { ...DEFAULTS, neighbours: 200, seed: 0 });
});
