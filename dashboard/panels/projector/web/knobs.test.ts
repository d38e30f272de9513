import assert from "node:assert/strict";
import { type Knob, mostOf, readKnobs, typedValue, writeKnobs } from "./knobs.ts";

const DEFAULTS = readKnobs("umap", "");

Deno.test("the address has only the settings that were changed", () => {
  assert.equal(writeKnobs("umap", DEFAULTS), "");
  assert.equal(writeKnobs("umap", { ...DEFAULTS, neighbors: 50, metric: "cosine" }), "neighbors:50,metric:cosine");
});

Deno.test("what is beyond its bounds is brought within them, and nonsense changes nothing", () => {
  const read = readKnobs("umap", "neighbors:1e9,metric:angle,spread:wide,epochs:,unknown:1,seed:-3");
  assert.deepEqual(read, { ...DEFAULTS, neighbors: 200, seed: 0 });
});

const KNOB: Knob = {
  name: "epochs",
  label: "",
  help: "",
  sort: "number",
  value: null,
  minimum: 1,
  maximum: 90,
  step: 10,
};

Deno.test("no more neighbors are offered than there are other points", () => {
  assert.equal(mostOf({ ...KNOB, name: "neighbors" }, 21), 20);
  assert.equal(mostOf({ ...KNOB, name: "perplexity" }, 21), 6);
  assert.equal(mostOf({ ...KNOB, name: "perplexity" }, 2), 1);
  assert.equal(mostOf(KNOB, 2), 90);
});

Deno.test("a number that is typed is brought into its range; an empty one is what it is by itself", () => {
  assert.deepEqual(["", "x", "7.6", "500", "-3"].map((text) => typedValue(KNOB, text)), [null, null, 8, 90, 1]);
  assert.equal(typedValue({ ...KNOB, name: "learning_rate", step: 1 }, "7.6"), 7.6);
});
