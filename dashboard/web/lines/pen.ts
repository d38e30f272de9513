// The interface that charts draw with, and the pen that draws on a canvas; svg_pen.ts has the one that writes SVG.
import type { Scale } from "./scale.ts";
import { decimate, project, stretches } from "./points.ts";
import { type Brush, paintLine, parseColor, type Target } from "./raster.ts";

export interface Box {
  x: number;
  y: number;
  w: number;
  h: number;
}
/** one polyline in data units */
export interface Stroke {
  x: ArrayLike<number>;
  y: ArrayLike<number>;
  /** its scales */
  sx: Scale;
  sy: Scale;
  color: string;
  opacity: number;
  width: number;
  /** empty for a solid line */
  dash: number[];
  /** diameter of an isolated point */
  dot: number;
}
export interface Fill {
  fill: string;
  opacity?: number;
}
export interface LineStyle {
  color: string;
  width?: number;
  opacity?: number;
  dash?: number[];
}
export interface RingStyle {
  fill?: string;
  stroke?: string;
  width?: number;
  opacity?: number;
  title?: string;
}
export interface DiscStyle {
  fill: string;
  stroke?: string;
  title?: string;
}
export interface TextStyle {
  color: string;
  size?: number;
  weight?: number;
  align?: "left" | "center" | "right";
  up?: boolean;
}
/** all in CSS pixels */
export interface Pen {
  rect: (box: Box, style: Fill) => void;
  segments: (segments: number[][], style: LineStyle) => void;
  /** closed, with alternating x and y */
  rings: (rings: number[][], style: RingStyle) => void;
  disc: (x: number, y: number, radius: number, style: DiscStyle) => void;
  /** `y` is the middle of the line */
  text: (
    x: number,
    y: number,
    text: string,
    style: TextStyle,
  ) => void;
  lines: (strokes: Stroke[], clip: Box) => void;
  within: (clip: Box, draw: () => void) => void;
}

export const fontOf = (family: string, { size = 11, weight = 400 }: { size?: number; weight?: number } = {}) =>
  `${weight} ${size}px ${family}`;

/** Paints the solid strokes into pixels; returns the dashed ones, which a canvas handles better. */
export function paintStrokes(target: Target, strokes: Stroke[], clip: Box, ratio: number): Stroke[] {
  const bounds = {
    x0: Math.max(0, Math.round(clip.x * ratio)),
    y0: Math.max(0, Math.round(clip.y * ratio)),
    x1: Math.min(target.width, Math.round((clip.x + clip.w) * ratio)),
    y1: Math.min(target.height, Math.round((clip.y + clip.h) * ratio)),
  };
  const dashed: Stroke[] = [];
  for (const stroke of strokes) {
    if (stroke.dash.length) {
      dashed.push(stroke);
      continue;
    }
    const { points, count } = project(stroke.x, stroke.y, stroke.sx, stroke.sy, ratio);
    const [r, g, b, a] = parseColor(stroke.color);
    const brush: Brush = {
      rgb: [r, g, b],
      opacity: stroke.opacity * a,
      width: stroke.width * ratio,
      dot: stroke.dot * ratio,
    };
    paintLine(target, bounds, points, count, brush);
  }
  return dashed;
}

export class CanvasPen implements Pen {
  context: CanvasRenderingContext2D;
  ratio: number;
  family: string;

  /** @param ratio device pixels per CSS pixel */
  constructor(context: CanvasRenderingContext2D, ratio: number, family: string) {
    this.context = context;
    this.ratio = ratio;
    this.family = family;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  rect({ x, y, w, h }: Box, { fill, opacity = 1 }: Fill) {
    this.context.globalAlpha = opacity;
    this.context.fillStyle = fill;
    this.context.fillRect(x, y, w, h);
    this.context.globalAlpha = 1;
  }

  segments(segments: number[][], { color, width = 1, opacity = 1, dash = [] }: LineStyle) {
    const { context, ratio } = this;
    // Vertical and horizontal lines are aligned to whole device pixels, so that they are crisp.
    const shift = Math.round(width * ratio) % 2 ? 0.5 : 0;
    const snap = (v: number) => (Math.round(v * ratio - shift) + shift) / ratio;
    context.globalAlpha = opacity;
    context.strokeStyle = color;
    context.lineWidth = width;
    context.setLineDash(dash);
    context.beginPath();
    for (const [x0, y0, x1, y1] of segments) {
      context.moveTo(x0 === x1 ? snap(x0) : x0, y0 === y1 ? snap(y0) : y0);
      context.lineTo(x0 === x1 ? snap(x1) : x1, y0 === y1 ? snap(y1) : y1);
    }
    context.stroke();
    context.setLineDash([]);
    context.globalAlpha = 1;
  }

  rings(rings: number[][], { fill, stroke, width = 1, opacity = 1 }: RingStyle) {
    const { context } = this;
    context.globalAlpha = opacity;
    context.beginPath();
    for (const ring of rings) {
      for (let i = 0; i < ring.length; i += 2) context.lineTo(ring[i], ring[i + 1]);
      context.closePath();
      context.moveTo(ring[0], ring[1]);
    }
    if (fill) {
      context.fillStyle = fill;
      context.fill();
    }
    if (stroke) {
      context.strokeStyle = stroke;
      context.lineWidth = width;
      context.lineJoin = "round";
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  disc(x: number, y: number, radius: number, { fill, stroke }: DiscStyle) {
    const { context } = this;
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fillStyle = fill;
    context.fill();
    if (!stroke) return;
    context.strokeStyle = stroke;
    context.lineWidth = 1.5;
    context.stroke();
  }

  text(x: number, y: number, text: string, style: TextStyle) {
    const { context } = this;
    context.font = fontOf(this.family, style);
    context.fillStyle = style.color;
    context.textAlign = style.align || "left";
    context.textBaseline = "middle";
    if (style.up) {
      context.save();
      context.translate(x, y);
      context.rotate(-Math.PI / 2);
      context.fillText(text, 0, 0);
      context.restore();
    } else context.fillText(text, x, y + 0.5);
  }

  lines(strokes: Stroke[], clip: Box) {
    const { context, ratio } = this;
    const { width, height } = context.canvas;
    const image = context.getImageData(0, 0, width, height);
    const dashed = paintStrokes({ pixels: new Uint32Array(image.data.buffer), width, height }, strokes, clip, ratio);
    context.putImageData(image, 0, 0);
    this.dashed(dashed, clip);
  }

  /** Draws dashed strokes. */
  dashed(strokes: Stroke[], clip: Box) {
    if (!strokes.length) return;
    const { context } = this;
    this.within(clip, () => {
      for (const stroke of strokes) {
        const { points, count } = project(stroke.x, stroke.y, stroke.sx, stroke.sy);
        const few = decimate(points, count, 1 / this.ratio);
        context.globalAlpha = stroke.opacity;
        context.strokeStyle = context.fillStyle = stroke.color;
        context.lineWidth = stroke.width;
        context.lineJoin = "round";
        context.lineCap = "butt";
        context.setLineDash(stroke.dash);
        context.beginPath();
        const alone: number[] = [];
        for (const [from, to] of stretches(few, few.length / 2)) {
          if (to - from === 1) alone.push(from);
          else for (let i = from; i < to; i += 1) context[i === from ? "moveTo" : "lineTo"](few[2 * i], few[2 * i + 1]);
        }
        context.stroke();
        for (const i of alone) this.disc(few[2 * i], few[2 * i + 1], stroke.dot / 2, { fill: stroke.color });
      }
    });
    context.setLineDash([]);
    context.globalAlpha = 1;
  }

  within({ x, y, w, h }: Box, draw: () => void) {
    this.context.save();
    this.context.beginPath();
    this.context.rect(x, y, w, h);
    this.context.clip();
    draw();
    this.context.restore();
  }
}
