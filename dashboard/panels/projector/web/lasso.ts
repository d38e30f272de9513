/** Selecting points with a box or a line drawn around them. */
import type { ViewTheme } from "./view_theme.ts";

const APART = 3; // pixels between corners of a lasso
const LEAST = 4; // pixels a box must be wide or high to not count as a click

/**
 * Whether a place is inside a closed line, by the even-odd rule.
 * @param line x, y, x, y, ...
 */
export function contains(line: ArrayLike<number>, x: number, y: number) {
  let inside = false;
  for (let i = 0, j = line.length - 2; i < line.length; j = i, i += 2) {
    const [ay, by] = [line[i + 1], line[j + 1]];
    if (ay > y !== by > y && x < ((line[j] - line[i]) * (y - ay)) / (by - ay) + line[i]) inside = !inside;
  }
  return inside;
}

/** Returns the four corners of a box. */
export const corners = (x0: number, y0: number, x1: number, y1: number) => [x0, y0, x1, y0, x1, y1, x0, y1];

/**
 * Rows whose middle is inside a closed line, in ascending order.
 * @param x by row
 */
export function rowsIn(
  line: ArrayLike<number>,
  rows: ArrayLike<number>,
  x: Float32Array,
  y: Float32Array,
): Uint32Array {
  let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let i = 0; i < line.length; i += 2) {
    [left, right] = [Math.min(left, line[i]), Math.max(right, line[i])];
    [top, bottom] = [Math.min(top, line[i + 1]), Math.max(bottom, line[i + 1])];
  }
  const found: number[] = [];
  for (let n = 0; n < rows.length; n += 1) {
    const [px, py] = [x[rows[n]], y[rows[n]]];
    if (px >= left && px <= right && py >= top && py <= bottom && contains(line, px, py)) found.push(rows[n]);
  }
  return Uint32Array.from(found).sort();
}

/** A line being drawn. */
export class Trail {
  readonly kind: "box" | "lasso";
  points: number[];

  constructor(kind: "box" | "lasso", x: number, y: number) {
    this.kind = kind;
    this.points = [x, y];
  }

  to(x: number, y: number) {
    const { points } = this;
    if (this.kind === "box") this.points = [points[0], points[1], x, y];
    else if (Math.hypot(x - points[points.length - 2], y - points[points.length - 1]) >= APART) points.push(x, y);
  }

  /** The closed line, or null while it is too short to contain anything. */
  line(): number[] | null {
    const [x0, y0, x1, y1] = this.points;
    if (this.kind === "lasso") return this.points.length >= 6 ? this.points : null;
    if (this.points.length < 4 || (Math.abs(x1 - x0) < LEAST && Math.abs(y1 - y0) < LEAST)) return null;
    return corners(x0, y0, x1, y1);
  }

  draw(context: CanvasRenderingContext2D, theme: Pick<ViewTheme, "accent">) {
    const line = this.kind === "box" && this.points.length >= 4
      ? corners(this.points[0], this.points[1], this.points[2], this.points[3])
      : this.points;
    if (line.length < 4) return;
    context.save();
    context.beginPath();
    for (let i = 0; i < line.length; i += 2) context.lineTo(line[i], line[i + 1]);
    context.closePath();
    context.globalAlpha = 0.12;
    context.fillStyle = theme.accent;
    context.fill("evenodd");
    context.globalAlpha = 1;
    context.strokeStyle = theme.accent;
    context.setLineDash([4, 3]);
    context.stroke();
    context.restore();
  }
}
