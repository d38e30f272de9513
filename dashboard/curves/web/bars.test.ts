import assert from "node:assert/strict";
import { extents, singles } from "./bars.ts";
import type { CurveChart } from "./model.ts";

const chart = (...lines: { run?: string; points: number; side?: string; kind?: string }[]) =>
  ({
    lines: lines.map(({ run, points, side = "left", kind = "run" }) => ({
      run,
      side,
      kind,
      y: new Float64Array(points),
    })),
  }) as unknown as CurveChart;

Deno.test("only what has one point a line is shown as bars", () => {
  const count = (of: CurveChart, hidden: string[] = []) => singles(of, new Set(hidden)).length;
  assert.deepEqual(count(chart({ run: "a", points: 1 }, { run: "b", points: 1 })), 2);
  assert.deepEqual(count(chart({ run: "a", points: 1 }, { run: "b", points: 2 })), 0);
  assert.deepEqual(count(chart({ run: "a", points: 1 }, { run: "b", points: 2 }), ["b"]), 1);
  assert.deepEqual(count(chart({ run: "a", points: 1, side: "right" })), 0);
  assert.deepEqual(count(chart({ points: 1, kind: "group" }, { run: "a", points: 1, kind: "member" })), 0);
  assert.deepEqual(count(chart()), 0);
});

Deno.test("bars begin at 0 on one scale", () => {
  assert.deepEqual(extents([0.5, 1]), [[0, 0.5], [0, 1]]);
  assert.deepEqual(extents([-1, 3]), [[0, 0.25], [0.25, 1]]);
  assert.deepEqual(extents([-2, -1]), [[0, 1], [0.5, 1]]);
  assert.deepEqual(extents([0, NaN, Infinity]), [[0, 0], [0, 0], [0, 0]]);
});
