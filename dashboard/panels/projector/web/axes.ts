// @ts-nocheck
/** Axes of the cloud: thin lines behind the points, and their names and shares of the variance over them. */
import * as camera from "./camera.ts";

const LINE = 34; // of 64
const FAINT = 15;
const EDGE = 8; // pixels
const WANTED = 8; // lines of the grid

/** `share` of the variance, 0..1 */
export interface Axis {
  name: string;
  share?: number | null;
}
/** what was scaled to the cube: place = center + at * radius */
export interface Frame {
  center: number[];
  radius: number;
}
export interface Name {
  text: string;
  x: number;
  y: number;
  align: CanvasTextAlign;
}

/** Round numbers between two. */
export function ticks(low: number, high: number, wanted: number): number[] {
  const raw = (high - low) / wanted;
  if (!(raw > 0) || !Number.isFinite(raw)) return [];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 5, 10].find((by) => by * power >= raw * 0.999) ?? 10) * power;
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9 && found.length < 100; k += 1) {
    found.push(k * step);
  }
  return found;
}

export const textOf = (
  axis: Axis,
) => (typeof axis.share === "number" && Number.isFinite(axis.share)
  ? `${axis.name}  ${(axis.share * 100).toFixed(1)} %`
  : axis.name);

/** Where zero is in the cube, kept within it. */
const origin = (frame: Frame): number[] =>
  [0, 1, 2].map((k) => Math.min(1, Math.max(-1, -(frame.center[k] ?? 0) / frame.radius)));

/** Lines from end to end through zero, in 3-D. */
function lines3(frame: Frame, length: number): [number[], number[]][] {
  const zero = origin(frame);
  return [0, 1, 2].map((
    k,
  ) => [zero.map((value, i) => (i === k ? -length : value)), zero.map((value, i) => (i === k ? length : value))]);
}

/**
 * Lines under the points.
 * @param p projection in pixels of the raster
 */
export function paint(
  raster: any,
  p: any,
  { axes, grid, frame, colour, ratio }: {
    axes: Axis[] | null;
    grid: boolean;
    frame: Frame;
    colour: number;
    ratio: number;
  },
) {
  const { screen } = camera;
  if (p.dimensions === 3) {
    for (const [from, to] of lines3(frame, 1.08)) {
      const ends = cutNear(p, from, to);
      if (ends) raster.line(ends[0].x, ends[0].y, ends[1].x, ends[1].y, colour, axes ? LINE : FAINT);
    }
    return;
  }
  const [left, right, top, bottom] = [-8, p.width + 8, -8, p.height + 8];
  const zero = screen(p, -frame.center[0] / frame.radius, -frame.center[1] / frame.radius, 0);
  if (axes) {
    raster.line(zero.x, top, zero.x, bottom, colour, LINE);
    raster.line(left, zero.y, right, zero.y, colour, LINE);
  }
  if (!grid) return;
  for (const { at } of gridLines(p, frame, 0, ratio)) raster.line(at, top, at, bottom, colour, FAINT);
  for (const { at } of gridLines(p, frame, 1, ratio)) raster.line(left, at, right, at, colour, FAINT);
}

/** Lines of the grid across one axis: pixel and number. */
export function gridLines(p: any, frame: Frame, axis: number, ratio: number) {
  const [middle, size, sign] = axis === 0 ? [p.cx, p.width, 1] : [p.cy, p.height, -1];
  const at = axis === 0 ? -p.rightAt : -p.upAt;
  const valueAt = (pixel: number) => frame.center[axis] + (at + ((pixel - middle) * sign) / p.scale) * frame.radius;
  const [a, b] = [valueAt(0), valueAt(size)];
  return ticks(Math.min(a, b), Math.max(a, b), Math.min(WANTED, size / ratio / 90)).map((value) => ({
    value,
    at: middle + sign * ((value - frame.center[axis]) / frame.radius - at) * p.scale,
  }));
}

/** Both ends of a line on the screen, cut where it goes behind the eye. */
function cutNear(p: any, from: number[], to: number[]) {
  const { screen } = camera;
  const [a, b] = [from, to].map(([x, y, z]) => screen(p, x, y, z));
  if (a.behind && b.behind) return null;
  if (!a.behind && !b.behind) return [a, b];
  const share = (p.near * 1.01 - a.depth) / (b.depth - a.depth);
  const [x, y, z] = from.map((value, k) => value + (to[k] - value) * share);
  return a.behind ? [screen(p, x, y, z), b] : [a, screen(p, x, y, z)];
}

/**
 * Names of axes and numbers of the grid.
 * @param p projection in CSS pixels
 */
export function names(p: any, { axes, grid, frame }: { axes: Axis[] | null; grid: boolean; frame: Frame }): Name[] {
  const found = [] as Name[];
  if (p.dimensions === 3) {
    lines3(frame, 1.13).forEach(([, end], k) => {
      const at = camera.screen(p, end[0], end[1], end[2]);
      if (axes && axes[k] && !at.behind && at.x > 0 && at.y > 0 && at.x < p.width && at.y < p.height) {
        found.push({ text: textOf(axes[k]), x: at.x, y: at.y, align: "center" });
      }
    });
    return found;
  }
  if (grid) {
    const digits = (value: number) => String(Number(value.toPrecision(6)) + 0).replace("-", "−");
    for (const { value, at } of gridLines(p, frame, 0, 1)) {
      if (at > 90 && at < p.width - 90) {
        found.push({ text: digits(value), x: at, y: p.height - EDGE - 4, align: "center" });
      }
    }
    for (const { value, at } of gridLines(p, frame, 1, 1)) {
      if (at > 30 && at < p.height - 30) found.push({ text: digits(value), x: EDGE, y: at, align: "left" });
    }
  }
  if (!axes) return found;
  const zero = camera.screen(p, -frame.center[0] / frame.radius, -frame.center[1] / frame.radius, 0);
  const kept = (value: number, size: number) => Math.min(size - 14, Math.max(14, value));
  if (axes[0]) found.push({ text: textOf(axes[0]), x: p.width - EDGE, y: kept(zero.y - 9, p.height), align: "right" });
  if (axes[1]) found.push({ text: textOf(axes[1]), x: kept(zero.x + 7, p.width - 90), y: 14, align: "left" });
  return found;
}
