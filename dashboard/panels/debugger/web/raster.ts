/** Paints the map as pixels. */
import type { Rgb } from "../../../web/core/color.ts";
import { BAD, type HeatScale } from "./scale.ts";
import { cellAt, type Span } from "./viewport.ts";

/** A part of the map as the server sent it. */
export interface Cells {
  lines: number;
  columns: number;
  worst: ArrayLike<number>;
  bad: ArrayLike<number>;
  /** The first row of each line. */
  rows: ArrayLike<number>;
  /** One past the last row. */
  rowEnd: number;
  /** Where each column begins among the steps, and where the last one ends. */
  edges: ArrayLike<number>;
}

export interface Pixels {
  pixels: Uint32Array;
  width: number;
  height: number;
}

const BAD_WORDS = ["", "not finite", "infinite", "NaN"];
/** Describes the content of a cell, given the server's `Cells.bad`. */
export const badText = (bad: number): string => BAD_WORDS[bad] ?? "";
const STEPS = 255;
/** Width of a stripe, in pixels. */
const STRIPE = 3;

/** Packs a color the way a canvas keeps it in memory. */
export const packed = ([r, g, b]: Rgb): number => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;

/** Paints cells into pixels that show some rows and steps; anything not in the cells stays clear. */
export function paint(
  { pixels, width, height }: Pixels,
  cells: Cells,
  rows: Span,
  steps: Span,
  scale: HeatScale,
): void {
  pixels.fill(0);
  if (!cells.lines || !cells.columns) return;
  const palette = new Map<number, number>();
  const colorOf = (value: number) => {
    const share = scale.share(value);
    const step = Math.round(share * STEPS);
    let color = palette.get(step);
    if (color === undefined) palette.set(step, color = packed(scale.color(value)));
    return color;
  };
  const nan = BAD.nan.map(packed);
  const infinite = BAD.infinite.map(packed);
  const unknown = BAD.not_finite.map(packed);
  const stripes = [unknown, unknown, infinite, nan];
  const columnOf = new Int32Array(width);
  const stepOf = (x: number) => steps.begin + ((x + 0.5) / width) * (steps.end - steps.begin);
  for (let x = 0; x < width; x += 1) {
    const at = stepOf(x);
    columnOf[x] = at >= cells.edges[cells.columns] ? -1 : cellAt(cells.edges, at, cells.columns);
  }
  for (let y = 0; y < height; y += 1) {
    const row = rows.begin + ((y + 0.5) / height) * (rows.end - rows.begin);
    const line = row >= cells.rowEnd ? -1 : cellAt(cells.rows, row, cells.lines);
    if (line < 0) continue;
    for (let x = 0; x < width; x += 1) {
      if (columnOf[x] < 0) continue;
      const at = line * cells.columns + columnOf[x];
      const bad = cells.bad[at];
      if (bad) pixels[y * width + x] = stripes[bad][Math.floor((x + y) / STRIPE) % 2];
      else if (!Number.isNaN(cells.worst[at])) pixels[y * width + x] = colorOf(cells.worst[at]);
    }
  }
}
