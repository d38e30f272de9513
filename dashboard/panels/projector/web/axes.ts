/** Axes of the cloud: thin lines behind the points, with their names and shares of the variance on top. */
import * as camera from "./camera.ts";
import type { Projection, Spot, Vector } from "./camera.ts";
import type { Lines } from "./raster.ts";

const LINE = 34; // out of 64
const FAINT = 15;
const EDGE = 8; // pixels
/** Below the tools at the top of the picture. */
const BELOW_TOOLS = 52;
const WANTED = 8; // grid lines

/** `share` of the variance, 0..1 */
export interface Axis {
  name: string;
  share?: number | null;
}
/** the frame that is scaled to the cube: place = center + at * radius */
export interface Frame {
  center: number[];
  radius: number;
}
/** The axis settings to draw. */
export interface Drawn {
  axes: Axis[] | null;
  grid: boolean;
  frame: Frame;
}
export interface Name {
  text: string;
  x: number;
  y: number;
  align: "left" | "center" | "right";
}

/** Round numbers between two values. */
export function ticks(low: number, high: number, wanted: number): number[] {
  const raw = (high - low) / wanted;
  if (!(raw > 0) || !Number.isFinite(raw)) return [];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 5, 10].find((by) => by * power >= raw * 0.999) ?? 10) * power;
  const found: number[] = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9 && found.length < 100; k += 1) {
    found.push(k * step);
  }
  return found;
}

export const textOf = (
  axis: Axis,
) => (typeof axis.share === "number" && Number.isFinite(axis.share)
  ? `${axis.name}  ${(axis.share * 100).toFixed(1)}%`
  : axis.name);

/** The position of zero in the cube, clamped to it. */
const origin = (frame: Frame) =>
  camera.vector((k) => Math.min(1, Math.max(-1, -(frame.center[k] ?? 0) / frame.radius)));

/** Lines through zero from end to end, in 3-D. */
function lines3(frame: Frame, length: number): [Vector, Vector][] {
  const zero = origin(frame);
  const end = (k: number, at: number) => camera.vector((i) => (i === k ? at : zero[i]));
  return [0, 1, 2].map((k) => [end(k, -length), end(k, length)]);
}

/**
 * Draws the lines under the points.
 * @param p projection in raster pixels
 */
export function paint(
  raster: Lines,
  p: Projection,
  { axes, grid, frame, color, ratio }: Drawn & { color: number; ratio: number },
) {
  const { screen } = camera;
  if (p.dimensions === 3) {
    for (const [from, to] of lines3(frame, 1.08)) {
      const ends = cutNear(p, from, to);
      if (ends) raster.line(ends[0].x, ends[0].y, ends[1].x, ends[1].y, color, axes ? LINE : FAINT);
    }
    return;
  }
  const [left, right, top, bottom] = [-8, p.width + 8, -8, p.height + 8];
  const zero = screen(p, -frame.center[0] / frame.radius, -frame.center[1] / frame.radius, 0);
  if (axes) {
    raster.line(zero.x, top, zero.x, bottom, color, LINE);
    raster.line(left, zero.y, right, zero.y, color, LINE);
  }
  if (!grid) return;
  for (const { at } of gridLines(p, frame, 0, ratio)) raster.line(at, top, at, bottom, color, FAINT);
  for (const { at } of gridLines(p, frame, 1, ratio)) raster.line(left, at, right, at, color, FAINT);
}

/** Grid lines across one axis: pixel and number. */
export function gridLines(p: Projection, frame: Frame, axis: 0 | 1, ratio: number) {
  const [middle, size, sign] = axis === 0 ? [p.cx, p.width, 1] : [p.cy, p.height, -1];
  const at = axis === 0 ? -p.rightAt : -p.upAt;
  const valueAt = (pixel: number) => frame.center[axis] + (at + ((pixel - middle) * sign) / p.scale) * frame.radius;
  const [a, b] = [valueAt(0), valueAt(size)];
  return ticks(Math.min(a, b), Math.max(a, b), Math.min(WANTED, size / ratio / 90)).map((value) => ({
    value,
    at: middle + sign * ((value - frame.center[axis]) / frame.radius - at) * p.scale,
  }));
}

/** Both ends of a line on the screen, clipped where it goes behind the eye. */
function cutNear(p: Projection, from: Vector, to: Vector): [Spot, Spot] | null {
  const { screen } = camera;
  const [a, b] = [screen(p, ...from), screen(p, ...to)];
  if (a.behind && b.behind) return null;
  if (!a.behind && !b.behind) return [a, b];
  const share = (p.near * 1.01 - a.depth) / (b.depth - a.depth);
  const middle = screen(p, ...camera.vector((k) => from[k] + (to[k] - from[k]) * share));
  return a.behind ? [middle, b] : [a, middle];
}

/**
 * Axis names and grid numbers.
 * @param p projection in CSS pixels
 */
export function names(p: Projection, { axes, grid, frame }: Drawn): Name[] {
  const found: Name[] = [];
  if (p.dimensions === 3) {
    lines3(frame, 1.13).forEach(([, end], k) => {
      const at = camera.screen(p, ...end);
      if (axes?.[k] && !at.behind && at.x > 0 && at.y > 0 && at.x < p.width && at.y < p.height) {
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
  if (axes[1]) found.push({ text: textOf(axes[1]), x: kept(zero.x + 7, p.width - 90), y: BELOW_TOOLS, align: "left" });
  return found;
}
