import assert from "node:assert/strict";
import { axisTicks, formatNumber, linearTicks, logTicks, tickLabels, timeTicks } from "./ticks.ts";

const DAY = 86400;
/** 2026-11-21 14:03:20 UTC. */
const MOMENT = Date.UTC(2026, 10, 21, 14, 3, 20) / 1000;
const utc = () => 0;

Deno.test("labels of one axis are written one way, with the digits that tell them apart", () => {
  assert.deepEqual(tickLabels([0, 0.5, 1], 0.5), ["0", "0.5", "1"]);
  assert.deepEqual(tickLabels([-1500, 0, 1500], 500), ["−1.5k", "0", "1.5k"]);
  assert.deepEqual(tickLabels([1e-5, 2e-5], 1e-5), ["1e−5", "2e−5"]);
  assert.deepEqual(tickLabels([100_000.5, 100_001], 0.5), ["100,000.5", "100,001"]);
});

Deno.test("linear ticks are multiples of 1, 2 or 5, without noise in their last digits", () => {
  assert.deepEqual(linearTicks(0, 1, 5).values, [0, 0.2, 0.4, 0.6, 0.8, 1]);
  assert.deepEqual(linearTicks(-3, 12, 4).labels, ["0", "5", "10"]);
});

Deno.test("whole numbers have no ticks between them", () => {
  assert.deepEqual(linearTicks(0, 2, 8, true).values, [0, 1, 2]);
  assert.deepEqual(linearTicks(0, 2, 4).values, [0, 0.5, 1, 1.5, 2]);
});

Deno.test("a range of nothing has its one value", () => {
  assert.deepEqual(linearTicks(3, 3, 5), { values: [3], labels: ["3"], context: "" });
});

Deno.test("a log axis has powers of ten, more where there is room, linear ticks within less than one", () => {
  assert.deepEqual(logTicks(1, 1000, 3).labels, ["1", "10", "100", "1k"]);
  assert.deepEqual(logTicks(1, 100, 6).labels, ["1", "2", "5", "10", "20", "50", "100"]);
  assert.deepEqual(logTicks(1e-12, 1, 4).labels, ["1e−12", "1e−9", "1e−6", "1e−3", "1"]);
  assert.deepEqual(logTicks(2, 4, 3).labels, ["2", "3", "4"]);
});

Deno.test("a time axis leaves to its context what all labels have in common", () => {
  assert.deepEqual(timeTicks(MOMENT, MOMENT + 600, 3, utc), {
    values: [MOMENT + 100, MOMENT + 400],
    labels: ["14:05", "14:10"],
    context: "21 Nov 2026",
  });
  const months = timeTicks(MOMENT, MOMENT + 120 * DAY, 4, utc);
  assert.deepEqual([months.labels, months.context], [["Dec", "2027", "Feb", "Mar"], "2026"]);
});

Deno.test("days begin where local time has them", () => {
  const { values, labels } = timeTicks(MOMENT, MOMENT + 2 * DAY, 2, () => 3600);
  assert.deepEqual(labels, ["22 Nov", "23 Nov"]);
  assert.deepEqual(values.map((value) => (value + 3600) % DAY), [0, 0]);
});

Deno.test("days begin where local time has them while clocks change", () => {
  const change = MOMENT + 1.5 * DAY;
  const { values, labels } = timeTicks(MOMENT, MOMENT + 3 * DAY, 3, (seconds) => (seconds < change ? 7200 : 3600));
  assert.deepEqual(labels, ["22 Nov", "23 Nov", "24 Nov"]);
  assert.deepEqual(values.map((value) => (value + 3600) % DAY), [DAY - 3600, DAY - 3600, 0]);
});

Deno.test("days begin where the browser has them", () => {
  const midnights = [22, 23].map((day) => new Date(2026, 10, day).getTime() / 1000);
  const noon = new Date(2026, 10, 21, 12).getTime() / 1000;
  assert.deepEqual(axisTicks({ scale: "time" }, [noon, noon + 2 * DAY], 2).values, midnights);
});

Deno.test("an axis that crosses midnight says one date at its edge and another at midnight, in one way of writing", () => {
  const [MIDNIGHT, HOUR] = [MOMENT - MOMENT % DAY, 3600];
  const late = timeTicks(MIDNIGHT - 0.5 * HOUR, MIDNIGHT + HOUR, 3, utc);
  assert.deepEqual([late.labels, late.context], [["23:30", "21 Nov", "00:30", "01:00"], "20 Nov 2026"]);
  // Beside the name of a day there is no room for that of the day before.
  const later = timeTicks(MIDNIGHT - 60, MIDNIGHT + 3 * HOUR, 3, utc);
  assert.deepEqual([later.labels[0], later.context], ["21 Nov", "2026"]);
});

Deno.test("seconds show the parts that they are apart by", () => {
  assert.deepEqual(timeTicks(MOMENT, MOMENT + 1, 2, utc).labels, ["14:03:20.0", "14:03:20.5", "14:03:21.0"]);
});

Deno.test("an axis has the ticks of its kind", () => {
  const kinds = ["linear", "log", "time"] as const;
  assert.deepEqual(kinds.map((scale) => axisTicks({ scale }, [1, 100], 2).labels), [
    ["50", "100"],
    ["1", "10", "100"],
    timeTicks(1, 100, 2).labels,
  ]);
});

Deno.test("numbers are written for people", () => {
  assert.deepEqual([NaN, -Infinity, 0, -0.5, 1234, 1e20].map((value) => formatNumber(value)), [
    "NaN",
    "−∞",
    "0",
    "−0.5",
    "1.234k",
    "1e20",
  ]);
});
