import assert from "node:assert/strict";
import type { CurveChart, CurveLine } from "./model.ts";
import { aligned, changes, clock, csvOf, nearestRows, type Plotted, type Row, rowsAt, sameAxis, show } from "./rows.ts";

const line = (id: string, y: number[], more: Partial<CurveLine> = {}): CurveLine => ({
  id,
  kind: "run",
  label: id,
  tag: "loss",
  side: "left",
  dash: 0,
  light: "#000",
  dark: "#fff",
  run: id,
  x: Float64Array.from(y, (_, i) => i),
  y: Float64Array.from(y),
  smoothing: 0,
  ...more,
});

const chart = (lines: CurveLine[], more: Partial<CurveChart> = {}): CurveChart => ({
  is_picture: false,
  x: { kind: "step", scale: "linear", suffix: "", integer: true, label: "" },
  lines,
  marks: [],
  best: [],
  rules: [],
  note: "",
  empty: "",
  version: "1",
  raw_version: "1",
  points: 1000,
  smoothing: 0.5,
  ...more,
});

/** Ten pixels a step. */
const plot = (lines: CurveLine[]): Plotted => ({
  model: { lines },
  nearest: (x) =>
    lines.map(({ id, x: places, y }) => {
      const index = Math.min(Math.max(Math.round(x), 0), places.length - 1);
      return { id, index, x: places[index], y: y[index] };
    }),
  toClient: (x) => ({ clientX: 10 * x }),
});

const at = (lines: CurveLine[], x: number, ...reported: [] | [Record<string, Record<string, unknown>>, number]) =>
  rowsAt(chart(lines), plot(lines), x, reported[0] ?? null, reported[1] ?? 0.5);

Deno.test("numbers are written with six digits and a real minus", () => {
  const numbers = [0, -1.5, 1 / 3, 123456.789, 12345678, -0.00001234, NaN, -Infinity];
  assert.deepEqual(numbers.map(show), [
    "0",
    "−1.5",
    "0.333333",
    "123,457",
    "1.23457e7",
    "−1.234e−5",
    "NaN",
    "−∞",
  ]);
});

Deno.test("a moment that is none is not written", () => assert.equal(clock(NaN), ""));

Deno.test("a row tells of the nearest point what the line knows", () => {
  const [row] = at([
    line("a", [4, 5, 6], { first: 100, seconds: [0, 2, 4], members: [1, 1, 3], low: new Float64Array(3) }),
  ], 1.2);
  const { line: _, ...rest } = row;
  assert.deepEqual(rest, {
    x: 1,
    y: 5,
    value: 5,
    low: 0,
    high: NaN,
    members: 1,
    step: 1,
    seconds: 2,
    wall: 102,
    beyond: false,
  });
});

Deno.test("members of groups have no rows, and an infinity is told from NaN by its mark", () => {
  const lines = [line("m", [1], { kind: "member" }), line("a", [NaN])];
  const marked = chart(lines, { marks: [[1, 0, "-Inf"]] });
  assert.deepEqual(rowsAt(marked, plot(lines), 0, null, 0.5).map((row) => [row.line.id, row.value]), [[
    "a",
    -Infinity,
  ]]);
});

Deno.test("a line is left behind once the pointer is more than two pixels past its end", () => {
  const lines = [line("short", [1, 2]), line("long", [1, 2, 3])];
  assert.deepEqual([1.2, 1.3, 2].map((x) => at(lines, x).map((row) => row.beyond)), [
    [false, false],
    [true, false],
    [true, false],
  ]);
});

Deno.test("what the server tells replaces what is drawn, but not the smoothing under a hand", () => {
  const reported = { a: { x: 0.5, y: 7, value: "Infinity", seconds: 3 } };
  const lines = [line("a", [1, 2], { first: 10 })];
  const seen = (weight: number) => at(lines, 0, reported, weight).map(({ x, y, value, wall }) => [x, y, value, wall]);
  assert.deepEqual([seen(0.5), seen(0.6)], [[[0.5, 7, Infinity, 13]], [[0.5, 1, Infinity, 13]]]);
});

Deno.test("between two marks lie a change, its share and its slope", () => {
  const row = (id: string, x: number, value: number): Row => ({
    line: line(id, []),
    x,
    y: value,
    value,
    low: NaN,
    high: NaN,
    members: 0,
    step: x,
    seconds: x,
    wall: x + 50,
    beyond: false,
  });
  const found = changes([row("a", 0, 8), row("b", 0, 0), row("gone", 0, 1)], [row("a", 4, 2), row("b", 2, 5)]);
  assert.deepEqual(
    found.map((
      { line: { id }, a, b, change, relative, slope, seconds },
    ) => [id, a, b, change, relative, slope, seconds]),
    [
      ["a", 8, 2, -6, -0.75, -1.5, 4],
      ["b", 0, 5, 5, NaN, 2.5, 2],
      ["gone", 1, NaN, NaN, NaN, NaN, NaN],
    ],
  );
});

Deno.test("cards share a cursor where unit and metric of their axes are the same", () => {
  const on = (kind: "step" | "metric", label: string) => chart([], { x: { ...chart([]).x, kind, label } });
  assert.deepEqual(
    [sameAxis(on("step", ""), on("step", "")), sameAxis(on("metric", "a"), on("metric", "b")), sameAxis(null, null)],
    [true, false, false],
  );
});

Deno.test("cells with commas, quotes and lines are quoted", () => {
  assert.equal(csvOf([["Run", "A"], ['a,"b"', 1], ["c\nd", NaN]]), 'Run,A\n"a,""b""",1\n"c\nd",NaN\n');
});

Deno.test("numbers of a column stand below each other in one way of writing", () => {
  assert.deepEqual(aligned([1.98997, 0.00715765]), ["1.98997", "0.00716"]);
  assert.deepEqual(aligned([3.25, 2.5, -1]), ["3.25", "2.50", "−1.00"]);
  assert.deepEqual(aligned([8, 4]), ["8", "4"]);
  assert.deepEqual(aligned([0.00814, 4e-5]), ["0.00814", "0.00004"]);
  assert.deepEqual(aligned([1, 4e-9]), ["1.0000e0", "4.0000e−9"]);
  assert.deepEqual(aligned([123456.7, NaN, Infinity, 0]), ["123457", "NaN", "∞", "0"]);
  assert.deepEqual(aligned([]), []);
});

Deno.test("a table of few rows has those nearest to the pointer, and those left behind last", () => {
  const row = (id: string, y: number, beyond = false) => ({ ...at([line(id, [y])], 0)[0], beyond });
  const rows = [row("far", 90), row("ended", 50, true), row("none", NaN), row("above", 40), row("below", 56)];
  const pick = (most: number) => nearestRows(rows, ({ y }) => y, 50, most);
  assert.deepEqual(pick(2).shown.map(({ line: { id } }) => id), ["above", "below"]);
  assert.deepEqual(pick(9).shown.map(({ line: { id } }) => id), ["above", "below", "far", "none", "ended"]);
  assert.deepEqual([pick(2).near?.line.id, pick(2).away], ["below", 6]);
  // Neither a run that has ended nor one without a value is the nearest.
  assert.equal(nearestRows(rows.slice(1, 3), ({ y }) => y, 50, 5).near, undefined);
});
