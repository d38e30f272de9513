import assert from "node:assert/strict";
import { fileName } from "./download.ts";

Deno.test("names of files have letters of any language and no folders, and are never empty or too long", () => {
  assert.deepEqual(
    ["runs/a x/../y", "損失/訓練", "हिंदी: ä", "_lead_, double/", "", "?*/"].map((text) => fileName(text, "chart")),
    ["runs_a_x_.._y", "損失_訓練", "हिंदी_ä", "_lead__double_", "chart", "chart"],
  );
  assert.equal(fileName("a".repeat(500), "chart").length, 80);
});
