// A chart as a separate picture, created on request.
import type { Chart } from "./chart.ts";
import { measureIn } from "./chart.ts";
import { drawFront, drawKey, drawStill, lineClip, mainStrokes, rawStrokes, readTheme, type Theme } from "./draw.ts";
import { inRows, ROW } from "./legend.ts";
import { CanvasPen, type Pen } from "./pen.ts";
import { layOut } from "./scene.ts";
import { SvgPen } from "./svg_pen.ts";

const MARGIN = 16;

/** Draws a chart with its title above and its legend below. */
function drawPicture<P extends Pen>(
  makePen: (width: number, height: number) => P,
  chart: Chart,
  title: string,
  theme: Theme,
): P {
  const { width, height } = chart.pictureSize();
  const measure = measureIn(theme.family);
  const top = title ? 30 : 4;
  const { placed, rows } = inRows(chart.model.keys, width - 2 * MARGIN, Infinity, measure);
  const bottom = rows ? rows * ROW + 12 : 0;
  const whole = height + top + bottom;
  const model = { ...chart.model, legend: [] };
  const scene = layOut(model, chart.ranges, { width, height: whole, top, bottom }, measure);
  const pen = makePen(width, whole);
  drawStill(pen, scene, theme, measure);
  if (title) pen.text(MARGIN, 18, title, { color: theme.ink, size: 14, weight: 600 });
  if (!scene.tiny) pen.lines([...rawStrokes(scene, null), ...mainStrokes(scene, null)], lineClip(scene));
  drawFront(pen, scene, theme);
  for (const key of placed) drawKey(pen, { ...key, x: MARGIN + key.x, y: whole - bottom + 10 + key.y }, theme);
  return pen;
}

/**
 * The chart as an SVG document with title and legend.
 * @param prefix of its ids, for several charts in one document
 */
export function svgOf(chart: Chart, title: string, prefix?: string): string {
  const theme = readTheme(chart.element);
  return String(drawPicture((width, height) => new SvgPen(width, height, theme.family, prefix), chart, title, theme));
}

/**
 * The chart as a PNG with title and legend.
 * @param scale pixels per CSS pixel
 */
export function pngOf(chart: Chart, title: string, scale: number = 2): Promise<Blob> {
  const theme = readTheme(chart.element);
  const canvas = document.createElement("canvas");
  const make = (width: number, height: number) => {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    return new CanvasPen(canvas.getContext("2d", { willReadFrequently: true })!, scale, theme.family);
  };
  drawPicture(make, chart, title, theme);
  const failed = new Error(
    `an image of ${canvas.width} x ${canvas.height} pixels is too large for this browser: choose a smaller scale`,
  );
  return new Promise((done, fail) => canvas.toBlob((blob) => (blob ? done(blob) : fail(failed)), "image/png"));
}
