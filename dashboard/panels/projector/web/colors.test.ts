import assert from "node:assert/strict";
import * as colors from "./colors.ts";
import { colorsOf, MOST_COLORS } from "./theme.ts";

const paints = colorsOf([{ light: "#ff0000", dark: "#aa0000" }, { light: "#00ff00", dark: "#00aa00" }], false);
const text = (values: number[], categories: string[]) =>
  colors.ofColumn({ name: "kind", kind: "text", categories, values: Int32Array.from(values) }, "auto");
const numbers = (values: number[], categorical = "auto") =>
  colors.ofColumn({ name: "size", kind: "number", categories: null, values: Float64Array.from(values) }, categorical);

Deno.test("categories have the colors of the palette by their names, and what has none is gray", () => {
  const found = text([1, 0, 1, -1], ["bee", "ant"]);
  assert.deepEqual(found.entries, [
    { label: "ant", code: 1, count: 2, place: 0 },
    { label: "bee", code: 0, count: 1, place: 1 },
  ]);
  assert.equal(found.missing, 1);
  const [ant, bee, none] = [[255, 0, 0, 255], [0, 255, 0, 255], [176, 183, 193, 255]];
  assert.deepEqual([...colors.rgba(found, paints, 4)], [ant, bee, ant, none].flat());
});

Deno.test("of more categories than there are colors the rarest are gray, and that is said", () => {
  const names = Array.from({ length: MOST_COLORS + 1 }, (_, code) => `c${code}`);
  const found = text([...names.keys(), ...names.keys()].slice(0, -1), names);
  assert.deepEqual(found.entries.at(-1), { label: "c50", code: 50, count: 1, place: -1 });
  assert.equal(found.note, "The 50 largest of 51 have a color; the others are gray.");
});

Deno.test("few whole numbers are categories, unless that is switched off", () => {
  assert.deepEqual(numbers([2, 10, 2]).entries.map(({ label, count }) => [label, count]), [["2", 2], ["10", 1]]);
  const { sort, minimum, maximum } = numbers([2, 10, 2], "off");
  assert.deepEqual([sort, minimum, maximum], ["scale", 2, 10]);
});

Deno.test("whole numbers that differ little are categories of their own", () => {
  const found = numbers([20240102, 20240101, 20240102]);
  assert.deepEqual(found.entries.map(({ label, count }) => [label, count]), [["20240101", 1], ["20240102", 2]]);
});

Deno.test("fractions are a scale, in which infinite numbers count as missing", () => {
  const { sort, minimum, maximum, missing } = numbers([0.5, NaN, 1.5, Infinity]);
  assert.deepEqual([sort, minimum, maximum, missing], ["scale", 0.5, 1.5, 2]);
});

Deno.test("sizes go from 0 to 1; all equal ones are in the middle", () => {
  assert.deepEqual(colors.sizes(Float32Array.of(2, 4, NaN, 3)), Float32Array.of(0, 1, 0, 0.5));
  assert.deepEqual(colors.sizes(Float32Array.of(7, 7)), Float32Array.of(0.5, 0.5));
});
