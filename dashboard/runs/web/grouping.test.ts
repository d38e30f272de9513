import assert from "node:assert/strict";
import { detailOf, grouping } from "./grouping.ts";

Deno.test("the first entry says how runs are grouped", () => {
  const modes = [[], ["seeds"], ["path:2"], ["regex:lr_(.*)"], ["hparam:lr", "hparam:seed"]].map(grouping);
  assert.deepEqual(modes, ["none", "seeds", "path", "regex", "hparams"]);
});

Deno.test("an expression keeps its own colons", () => {
  assert.equal(detailOf(["regex:(?:a|b):(.)"], "regex"), "(?:a|b):(.)");
  assert.equal(detailOf(["hparam:lr"], "path"), undefined);
});
