import assert from "node:assert/strict";
import { offAfter, sharesOf } from "./categories.ts";

const LABELS = ["ant", "bee", "cat"];

Deno.test("a click on a category switches it off or on", () => {
  assert.deepEqual(offAfter([], LABELS, "bee", false), ["bee"]);
  assert.deepEqual(offAfter(["ant", "bee"], LABELS, "bee", false), ["ant"]);
});

Deno.test("a category is shown alone, and then all are", () => {
  assert.deepEqual(offAfter(["bee"], LABELS, "bee", true), ["ant", "cat"]);
  assert.deepEqual(offAfter(["ant", "cat"], LABELS, "bee", true), []);
  assert.deepEqual(offAfter(["ant", "bee"], LABELS, "bee", true), ["ant", "cat"]);
});

Deno.test("a selection is shared among categories, most first, points without one left out", () => {
  const [ant, bee, cat] = LABELS.map((label, code) => ({ label, code }));
  assert.deepEqual(sharesOf([0, 1, 1, -1, 2, 0], [ant, bee, cat], [0, 1, 2, 3]), [
    { entry: bee, count: 2 },
    { entry: ant, count: 1 },
  ]);
});
