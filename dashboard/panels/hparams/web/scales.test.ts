import assert from "node:assert/strict";
import type { Column } from "./messages.generated.ts";
import type { Cell } from "./payload.ts";
import { kindAfter, scaleFor, short } from "./scales.ts";

const column = (kind: Column["kind"], type: Column["type"], values: string[] = []) => ({ kind, type, values });
const RATE = column("hparam", "number");
const rounded = (numbers: number[]) => numbers.map((number) => Number(number.toFixed(3)));
const labels = (values: Cell[], chosen?: string) => scaleFor(RATE, values, chosen).ticks.map((tick) => tick.label);

Deno.test("numbers are as short as five digits tell them", () => {
  const numbers = [0, 0.1 + 0.2, 123456.7, 1234567, 0.00012, -Infinity, NaN, null, "adam"];
  assert.deepEqual(numbers.map(short), ["0", "0.3", "123,457", "1,234,567", "0.00012", "−∞", "NaN", "", "adam"]);
});

Deno.test("what spans powers of ten has a log scale, a metric only where they are three", () => {
  const values = [0.001, 0.01, 0.1];
  assert.equal(scaleFor(RATE, values, undefined).kind, "log");
  assert.equal(scaleFor(column("metric", "number"), values, undefined).kind, "linear");
  assert.equal(scaleFor(RATE, [0, ...values], undefined).kind, "linear");
  assert.deepEqual(labels(values), ["0.001", "0.01", "0.1"]);
  assert.deepEqual(labels([20, 80], "log"), ["20", "80"]);
  assert.deepEqual(labels([16, 32, 64, 64, 128], "linear"), ["16", "32", "64", "128"]);
  assert.deepEqual(labels([1, 1.01, 9], "linear"), ["2", "4", "6", "8"]);
});

Deno.test("an axis has no place for what is missing, not finite, or not positive on a log scale", () => {
  const { place } = scaleFor(RATE, [1, 10, 100, -1, NaN, null], "log");
  assert.deepEqual(([1, 10, 100, 0, -1, NaN, Infinity, null] as Cell[]).map(place), [
    0,
    0.5,
    1,
    NaN,
    NaN,
    NaN,
    NaN,
    NaN,
  ]);
});

Deno.test("quantiles give equal shares of the values equal room, and find the way back", () => {
  const { place, value } = scaleFor(RATE, [1, 2, 2, 2, 100], "quantile");
  assert.deepEqual([1, 2, 51, 100].map(place), [0, 0.5, 0.75, 1]);
  assert.deepEqual([-1, 0, 0.25, 0.5, 0.75, 2].map(value), [1, 1, 1.5, 2, 51, 100]);
  assert.deepEqual(rounded([3, 3].map(scaleFor(RATE, [3, 3], "quantile").place)), [0.5, 0.5]);
});

Deno.test("categories stand in the order of the column, unknown ones behind", () => {
  const { labels, place, value, ticks } = scaleFor(
    column("hparam", "text", ["sgd", "adam", ""]),
    ["new", "", "sgd"],
    "log",
  );
  assert.deepEqual(labels, ["sgd", "", "new"]);
  assert.deepEqual(rounded(["sgd", "", "new", "adam", null].map(place)), [0.167, 0.5, 0.833, NaN, NaN]);
  assert.deepEqual(ticks.map((tick) => tick.label), ["sgd", '""', "new"]);
  assert.equal(value(0.5), 1);
});

Deno.test("scales follow each other in a ring", () => {
  assert.deepEqual((["linear", "log", "quantile"] as const).map(kindAfter), ["log", "quantile", "linear"]);
});
