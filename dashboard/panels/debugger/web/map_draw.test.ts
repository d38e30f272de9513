import assert from "node:assert/strict";
import { type Answer, layOut, nameOf, rowAtY, stepAtX, stepNumber } from "./map_draw.ts";

Deno.test("the plot has what room the names leave, and some on the smallest screen", () => {
  assert.deepEqual(layOut(1000, 500), { width: 1000, height: 500, left: 220, top: 4, plotWidth: 772, plotHeight: 474 });
  assert.deepEqual(layOut(360, 300), { width: 360, height: 300, left: 108, top: 4, plotWidth: 244, plotHeight: 274 });
  assert.deepEqual([layOut(1, 1).plotWidth, layOut(1, 1).plotHeight], [8, 8]);
});

Deno.test("a place on the canvas is a row and a step of what is seen", () => {
  const layout = layOut(1000, 500);
  assert.equal(rowAtY(layout, { begin: 10, end: 20 }, layout.top), 10);
  assert.equal(rowAtY(layout, { begin: 10, end: 20 }, layout.top + layout.plotHeight / 2), 15);
  assert.equal(stepAtX(layout, { begin: 0, end: 100 }, layout.left + layout.plotWidth), 100);
});

Deno.test("a column stands for several steps, and is named by its first", () => {
  const answer = { columns: 2, edges: 0, steps: 1, arrays: [[0, 10, 15], [100, 400, 700]] } as unknown as Answer;
  assert.deepEqual([-3, 0, 9, 10, 14, 99].map((place) => stepNumber(answer, place)), [100, 100, 100, 400, 400, 400]);
});

Deno.test("what was made on the way back is told from what was made forward", () => {
  const row = { number: 1, name: "layer.weight", module: "layer", op: "" };
  const said = (["forward", "eager", "backward", "parameter"] as const).map((phase) => nameOf({ ...row, phase }));
  assert.deepEqual(said, ["layer.weight", "layer.weight", "layer.weight · backward", "layer.weight · parameter"]);
});
