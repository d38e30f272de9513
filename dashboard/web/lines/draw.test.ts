import assert from "node:assert/strict";
import { drawFront, drawStill, type Theme } from "./draw.ts";
import type { Pen } from "./pen.ts";
import { completed, layOut, type Line, type Model, rangesOf } from "./scene.ts";

const THEME: Theme = {
  surface: "white",
  line: "grid",
  ink: "ink",
  soft: "soft",
  dim: "dim",
  accent: "accent",
  family: "sans",
};
/** Six pixels a letter. */
const measure = (text: string) => 6 * text.length;

const line = (id: string, y: number[], more: Partial<Line> = {}): Line => ({
  id,
  label: id,
  color: `color of ${id}`,
  axis: "y",
  x: Float64Array.from(y, (_, index) => index),
  y: Float64Array.from(y),
  ...more,
});

/** What is drawn of a model in 400 x 240 pixels: texts with their places, and all strokes in their order. */
function drawn(model: Partial<Model>, width = 400) {
  const texts: { x: number; y: number; text: string; align?: string }[] = [];
  const strokes: { what: string; color: string; at: number[] }[] = [];
  const pen: Pen = {
    rect: ({ x, y, w, h }, { fill }) => void strokes.push({ what: "rect", color: fill, at: [x, y, w, h] }),
    segments: (all, { color }) => void all.forEach((at) => strokes.push({ what: "segment", color, at })),
    rings: (all, { fill }) => void all.forEach((at) => strokes.push({ what: "ring", color: fill ?? "", at })),
    disc: () => undefined,
    text: (x, y, text, { align }) => void texts.push({ x, y, text, align }),
    lines: () => undefined,
    within: (_clip, draw) => draw(),
  };
  const whole = completed({ x: { scale: "linear", range: null }, y: { scale: "linear", range: null }, ...model });
  const scene = layOut(whole, rangesOf(whole, {}), { width, height: 240 }, measure);
  drawStill(pen, scene, THEME, measure);
  drawFront(pen, scene, THEME);
  return { texts, strokes, scene };
}

Deno.test("the last tick of x leaves the corner to the grip by which a chart is resized", () => {
  const { texts, scene } = drawn({ lines: [line("a", Array.from({ length: 100_001 }, (_, step) => step))] });
  const last = texts.findLast(({ text }) => text === scene.xTicks.labels.at(-1));
  assert.equal(last?.text, "100k");
  assert.ok(last.x + measure(last.text) / 2 <= 400 - 16);
});

Deno.test("a chart with lines on the right alone has one axis, whose ticks the grid follows", () => {
  const { texts, strokes, scene } = drawn({ lines: [line("a", [0, 40], { axis: "y2" })] });
  const { plot, y2Ticks, sy2 } = scene;
  assert.deepEqual(texts.filter(({ align }) => align === "right"), []);
  const levels = strokes.filter(({ color, at: [x0, y0, x1, y1] }) => color === "grid" && y0 === y1 && x0 < x1);
  assert.deepEqual(levels.map(({ at }) => at[1]), y2Ticks?.values.map((value) => sy2?.toPx(value)));
  assert.ok(plot.x < 24);
});

Deno.test("a high chart has no more than a dozen rows", () => {
  const model = completed({ lines: [line("a", [0, 1])], x: { scale: "linear", range: null } });
  const scene = layOut(model, rangesOf(model, {}), { width: 1280, height: 1400 }, measure);
  assert.ok(scene.yTicks.values.length <= 15);
});

Deno.test("handles of spans lie above the grid", () => {
  const spans = [{ x0: 0.9, x1: 1.1, color: "span", title: "" }];
  const { strokes } = drawn({ lines: [line("a", [0, 1, 2])], spans });
  const lastOfGrid = strokes.findLastIndex(({ color }) => color === "grid");
  assert.ok(strokes.findIndex(({ what, color }) => what === "ring" && color === "span") > lastOfGrid);
});

Deno.test("names stand at the ends of lines where a chart is wide, and above the plot where it is not", () => {
  const lines = [line("low", [0, 1, 1]), line("high", [0, 1.01]), line("gone", [NaN])];
  const wide = drawn({ lines, legend: lines }, 700);
  const right = wide.scene.plot.x + wide.scene.plot.w;
  const named = wide.texts.filter(({ x }) => x > right);
  assert.deepEqual(named.map(({ text }) => text), ["low", "high"]);
  assert.ok(named[0].y - named[1].y >= 14);
  // A line that ended before is led to its name.
  assert.ok(wide.strokes.some(({ color, at }) => color === "color of high" && at[0] < right - 100 && at[2] === right));
  const narrow = drawn({ lines, legend: lines });
  assert.deepEqual(narrow.scene.ends, []);
  assert.deepEqual(narrow.scene.legend.map(({ text }) => text), ["low", "high", "gone"]);
  assert.ok(narrow.scene.legend.every(({ y }) => y < narrow.scene.plot.y));
});
