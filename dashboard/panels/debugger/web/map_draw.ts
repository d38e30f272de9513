/** Draws the map: cells, row names, steps, the selection, and the first bad cell. */
import { css } from "../../../web/core/color.ts";
import { measure } from "../../../web/core/canvas_text.ts";
import { stepText } from "../../../web/core/dom.ts";
import { withoutMiddle } from "../../../web/core/names.ts";
import type { MapAnswer } from "./messages.generated.ts";
import { type Cells, paint } from "./raster.ts";
import { BAD, type HeatScale } from "./scale.ts";
import { short } from "./texts.ts";
import { cellAt, type Span } from "./viewport.ts";

export type Answer = MapAnswer & { arrays: (Float32Array | Uint8Array | Int32Array | Float64Array)[] };

export interface Layout {
  width: number;
  height: number;
  left: number;
  top: number;
  plotWidth: number;
  plotHeight: number;
}

/** Everything needed to draw the map. */
export interface Picture {
  answer: Answer;
  cells: Cells;
  rows: Span;
  steps: Span;
  scale: HeatScale;
  /** Place of the selected row among all, or -1. */
  selectedRow: number;
  /** Place of the selected step among those observed, or -1. */
  selectedStep: number;
  /** The box being drawn by hand, in canvas pixels. */
  box: { x0: number; y0: number; x1: number; y1: number } | null;
}

const FOOT = 22;
const LABEL_HEIGHT = 13;
const FONT = "11px";

export const cellsOf = (answer: Answer): Cells => ({
  lines: answer.lines,
  columns: answer.columns,
  worst: answer.arrays[answer.worst],
  bad: answer.arrays[answer.bad],
  rows: answer.arrays[answer.rows],
  rowEnd: answer.end,
  edges: answer.arrays[answer.edges],
});

export function layOut(width: number, height: number): Layout {
  const left = Math.round(width < 520 ? width * 0.3 : Math.min(220, width * 0.26));
  return {
    width,
    height,
    left,
    top: 4,
    plotWidth: Math.max(width - left - 8, 8),
    plotHeight: Math.max(height - FOOT - 4, 8),
  };
}

export const rowAtY = (layout: Layout, rows: Span, y: number): number =>
  rows.begin + ((y - layout.top) / layout.plotHeight) * (rows.end - rows.begin);
export const stepAtX = (layout: Layout, steps: Span, x: number): number =>
  steps.begin + ((x - layout.left) / layout.plotWidth) * (steps.end - steps.begin);
const yOf = (layout: Layout, rows: Span, row: number) =>
  layout.top + ((row - rows.begin) / (rows.end - rows.begin || 1)) * layout.plotHeight;
const xOf = (layout: Layout, steps: Span, step: number) =>
  layout.left + ((step - steps.begin) / (steps.end - steps.begin || 1)) * layout.plotWidth;

/** Returns the first step of the column at a place among the steps. */
export function stepNumber(answer: Answer, place: number): number {
  const column = cellAt(answer.arrays[answer.edges], place, answer.columns);
  return answer.arrays[answer.steps][Math.max(Math.min(column, answer.columns - 1), 0)];
}

/** Returns the name of a line, with its phase if that tells it apart from another line of the same name. */
export const nameOf = ({ name, phase }: Pick<MapAnswer["names"][number], "name" | "phase">): string =>
  phase === "forward" || phase === "eager" || phase === "graph" ? name : `${name} · ${phase}`;

export function drawMap(canvas: HTMLCanvasElement, layout: Layout, picture: Picture): void {
  const pen = canvas.getContext("2d");
  if (!pen) return;
  const ratio = devicePixelRatio || 1;
  const [wide, high] = [Math.round(layout.width * ratio), Math.round(layout.height * ratio)];
  if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
  const style = getComputedStyle(canvas);
  const color = (name: string) => style.getPropertyValue(name).trim();
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.clearRect(0, 0, wide, high);
  const { rows, steps } = picture;
  const [plotWide, plotHigh] = [Math.round(layout.plotWidth * ratio), Math.round(layout.plotHeight * ratio)];
  const image = pen.createImageData(plotWide, plotHigh);
  const pixels = new Uint32Array(image.data.buffer);
  paint({ pixels, width: plotWide, height: plotHigh }, picture.cells, rows, steps, picture.scale);
  pen.putImageData(image, Math.round(layout.left * ratio), Math.round(layout.top * ratio));
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.font = `${FONT} ${style.fontFamily}`;
  pen.textBaseline = "middle";
  pen.strokeStyle = color("--line");
  pen.lineWidth = 1;
  pen.strokeRect(layout.left - 0.5, layout.top - 0.5, layout.plotWidth + 1, layout.plotHeight + 1);
  drawNames(pen, layout, picture, color);
  drawSteps(pen, layout, picture, color);
  pen.save();
  pen.beginPath();
  pen.rect(layout.left, layout.top, layout.plotWidth, layout.plotHeight);
  pen.clip();
  drawMarks(pen, layout, picture, color);
  pen.restore();
}

type Variable = (name: string) => string;

function drawNames(pen: CanvasRenderingContext2D, layout: Layout, picture: Picture, color: Variable): void {
  const { answer, rows, cells } = picture;
  const room = layout.left - 12;
  pen.textAlign = "right";
  let below = -Infinity;
  answer.names.forEach((name, line) => {
    const first = cells.rows[line];
    const end = line + 1 < cells.lines ? cells.rows[line + 1] : cells.rowEnd;
    const y = yOf(layout, rows, (first + end) / 2);
    if (y < layout.top || y > layout.top + layout.plotHeight || y - below < LABEL_HEIGHT) return;
    below = y;
    const selected = picture.selectedRow >= first && picture.selectedRow < end;
    pen.fillStyle = color(selected ? "--accent" : "--ink-soft");
    pen.fillText(withoutMiddle(nameOf(name), room, (text) => measure(pen, text)), layout.left - 7, y);
  });
}

function drawSteps(pen: CanvasRenderingContext2D, layout: Layout, { answer, steps }: Picture, color: Variable): void {
  pen.fillStyle = color("--ink-dim");
  const y = layout.top + layout.plotHeight + 12;
  const count = Math.max(2, Math.floor(layout.plotWidth / 110));
  let right = -Infinity;
  for (let at = 0; at < count; at += 1) {
    const place = steps.begin + (at / count) * (steps.end - steps.begin);
    const text = (at ? "" : "step ") + stepText(stepNumber(answer, Math.floor(place)));
    const x = xOf(layout, steps, Math.floor(place));
    const width = measure(pen, text);
    if (x < layout.left - 1 || x < right || x + width > layout.width) continue;
    right = x + width + 12;
    pen.textAlign = "left";
    pen.fillText(text, x, y);
    pen.fillRect(Math.round(x), layout.top + layout.plotHeight, 1, 4);
  }
}

function drawMarks(pen: CanvasRenderingContext2D, layout: Layout, picture: Picture, color: Variable): void {
  const { rows, steps, answer, box } = picture;
  if (picture.selectedRow >= 0) {
    const [top, bottom] = [yOf(layout, rows, picture.selectedRow), yOf(layout, rows, picture.selectedRow + 1)];
    pen.strokeStyle = color("--accent");
    pen.lineWidth = 2;
    pen.strokeRect(layout.left + 1, top, layout.plotWidth - 2, Math.max(bottom - top, 2));
  }
  if (picture.selectedStep >= 0) {
    const x = xOf(layout, steps, picture.selectedStep + 0.5);
    pen.strokeStyle = color("--accent");
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(x, layout.top);
    pen.lineTo(x, layout.top + layout.plotHeight);
    pen.stroke();
  }
  if (answer.first_bad) {
    const column = cellAt(answer.arrays[answer.steps], answer.first_bad.step, answer.columns);
    const edges = answer.arrays[answer.edges];
    if (column >= 0) {
      const x = xOf(layout, steps, (edges[column] + edges[column + 1]) / 2);
      const y = yOf(layout, rows, answer.first_bad.row + 0.5);
      const inColumn = answer.first_bad.step < answer.arrays[answer.steps][answer.columns] ||
        edges[answer.columns] >= answer.all_steps;
      if (inColumn) ring(pen, x, y, color);
    }
  }
  if (box) {
    pen.fillStyle = `color-mix(in srgb, ${color("--accent")} 20%, transparent)`;
    pen.strokeStyle = color("--accent");
    pen.lineWidth = 1;
    const area = [
      Math.min(box.x0, box.x1),
      Math.min(box.y0, box.y1),
      Math.abs(box.x1 - box.x0),
      Math.abs(box.y1 - box.y0),
    ] as const;
    pen.fillRect(...area);
    pen.strokeRect(...area);
  }
}

/** Draws a ring around the first bad cell, visible on any color. */
function ring(pen: CanvasRenderingContext2D, x: number, y: number, color: Variable): void {
  for (const [radius, width, style] of [[8, 4, color("--surface")], [8, 2, color("--ink")]] as const) {
    pen.beginPath();
    pen.arc(x, y, radius, 0, 2 * Math.PI);
    pen.lineWidth = width;
    pen.strokeStyle = style;
    pen.stroke();
  }
}

/** Draws the legend: a color strip with numbers if any were measured, and the colors of non-finite values. */
export function drawLegend(canvas: HTMLCanvasElement, scale: HeatScale | null, wide: number): void {
  const pen = canvas.getContext("2d");
  if (!pen) return;
  const kinds = scale ? ([["nan", "NaN"], ["infinite", "Inf"]] as const) : ([["not_finite", "not finite"]] as const);
  const ratio = devicePixelRatio || 1;
  const bar = scale ? wide - 66 : 0;
  const [width, height] = [scale ? wide : 80, 30];
  [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
  [canvas.style.width, canvas.style.height] = [`${width}px`, `${height}px`];
  pen.scale(ratio, ratio);
  const style = getComputedStyle(canvas);
  pen.font = `10.5px ${style.fontFamily}`;
  pen.textBaseline = "top";
  const ink = style.getPropertyValue("--ink-dim").trim();
  if (scale) drawStrip(pen, scale, bar, ink);
  kinds.forEach(([kind, word], at) => {
    const x = (scale ? bar + 10 : 0) + at * 29;
    for (let stripe = 0; stripe < 8; stripe += 1) {
      pen.fillStyle = css(BAD[kind][stripe % 2]);
      pen.fillRect(x + stripe * 3, 2, 3, 9);
    }
    pen.fillStyle = ink;
    pen.textAlign = "left";
    pen.fillText(word, x, 15);
  });
}

function drawStrip(pen: CanvasRenderingContext2D, scale: HeatScale, bar: number, ink: string): void {
  scale.ticks(Math.max(bar, 2)).forEach((value, x) => {
    pen.fillStyle = css(scale.color(value));
    pen.fillRect(x, 2, 1.5, 9);
  });
  pen.fillStyle = ink;
  const count = bar > 220 ? 4 : bar > 150 ? 3 : 2;
  scale.ticks(count).forEach((value, at) => {
    pen.textAlign = at === 0 ? "left" : at === count - 1 ? "right" : "center";
    pen.fillText(short(value), (at / (count - 1)) * bar, 15);
  });
}
