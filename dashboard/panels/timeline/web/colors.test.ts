import assert from "node:assert/strict";
import { changesOf, Colors, type Step, stepAt } from "./colors.ts";
import type { SliceWindow } from "./data.ts";
import { source } from "./samples.test.ts";
import type { Theme } from "./theme.ts";

const THEME = {
  color: (name: string) => `color of ${name}`,
  tint: (place: number) => `tint ${place}`,
  ramp: (share: number) => `ramp ${share.toFixed(2)}`,
  unknown: "unknown",
  verdicts: { longer: "red", same: "gray" },
} as Partial<Theme> as Theme;
const shown = (value: number[] | null): SliceWindow => ({
  start: 0,
  end: 1000,
  bucket: 1,
  names: ["matmul", "copy"],
  categories: ["kernel", ""],
  rows: new Map(),
  starts: new Float64Array([0, 10, 20]),
  durations: new Float64Array([100, 10_000, 1e6]),
  index: new Uint32Array([0, 1, 2]),
  count: new Uint32Array([1, 1, 1]),
  name: new Uint16Array([0, 1, 0]),
  category: new Uint16Array([0, 1, 0]),
  value: value && new Float32Array(value),
  lanes: null,
  used: 0,
});
const colorsBy = (mode: Colors["mode"], value: number[] | null = null) => {
  const colors = new Colors();
  colors.mode = mode;
  const steps: Step[] = [[41, "step", 0, 10], [42, "step", 10, 10]];
  const trace = source({ categories: ["copy", "kernel"], longest: 1e6, steps });
  colors.measure([trace]);
  colors.verdicts = new Map([["copy", { verdict: "longer", means: [1, 2], counts: [1, 1] }]]);
  const of = colors.of(THEME, trace, shown(value));
  return [0, 1, 2].map(of);
};

Deno.test("slices are colored by what was chosen, and by nothing where that is not known", () => {
  assert.deepEqual(colorsBy("name"), ["color of matmul", "color of copy", "color of matmul"]);
  assert.deepEqual(colorsBy("category"), ["tint 1", "unknown", "tint 1"]);
  assert.deepEqual(colorsBy("duration"), ["ramp 0.00", "ramp 0.33", "ramp 1.00"]);
  assert.deepEqual(colorsBy("occupancy", [50, NaN, 100]), ["ramp 0.50", "unknown", "ramp 1.00"]);
  assert.deepEqual(colorsBy("step", [1, NaN, 0]), ["tint 42", "unknown", "tint 41"]);
  assert.deepEqual(colorsBy("difference"), ["gray", "red", "gray"]);
});

Deno.test("another theme colors the same window again", () => {
  const colors = new Colors();
  const [trace, slices] = [source(), shown(null)];
  const dark = { ...THEME, color: (name: string) => `dark ${name}` };
  const found = [THEME, dark, THEME].map((theme) => colors.of(theme, trace, slices)(0));
  assert.deepEqual(found, ["color of matmul", "dark matmul", "color of matmul"]);
});

Deno.test("the legend names the categories on the screen, of many the first", () => {
  const colors = new Colors();
  colors.mode = "category";
  colors.measure([source({ categories: ["a", "b"] })]);
  const reported = (...categories: string[]) => colors.legend(THEME, [{ categories }, { categories: ["b"] }]).entries;
  assert.deepEqual(reported("b", ""), [["unknown", "no category"], ["tint 1", "b"]]);
  assert.deepEqual(reported(..."abcdefghijk")?.at(-1), ["transparent", "2 more"]);
  colors.mode = "name";
  assert.deepEqual(colors.legend(THEME, []), {});
});

Deno.test("a moment lies in the step that has begun and not ended", () => {
  const steps: Step[] = [[1, "", 0, 10], [2, "", 10, 5], [3, "", 20, 10]];
  assert.deepEqual([-1, 0, 9, 10, 15, 20, 29, 30].map((time) => stepAt(steps, time)), [-1, 0, 0, 1, -1, 2, 2, -1]);
  assert.equal(stepAt([], 0), -1);
});

Deno.test("names with an equal beginning, all that windows carry, have a verdict only if it is the same for all", () => {
  const [first, second] = ["a".repeat(160), "é".repeat(160)];
  const changes = changesOf({
    name: ["copy", `${first}1`, `${first}2`, `${second}1`, `${second}2`],
    verdict: ["longer", "longer", "same", "only in second", "only in second"],
    mean: [[1, 1, 3, null, null], [2, 2, 3, 4, 5]],
    count: [[10, 1, 1, 0, 0], [20, 1, 1, 6, 7]],
    category: [],
    side: [],
    total: [[], []],
    change: [],
    window: 0,
    rows: 5,
    verdicts: {},
    totals: {},
  });
  assert.deepEqual([...changes], [
    ["copy", { verdict: "longer", means: [1, 2], counts: [10, 20] }],
    [second, { verdict: "only in second", means: [null, null], counts: [0, 13] }],
  ]);
});
