// Paints thick antialiased polylines straight into pixels. Without a graphics card, a canvas's strokes cost about ten
// times as much, and a hundred times for noisy lines, because every crossing of every segment is computed; here, the
// cost is that of the pixels. A curve crosses a thin column in one interval of y; the stroke is that interval widened
// by a disc, so joins and caps are round.
import { stretches } from "./points.ts";

/** Thin columns per pixel: the levels of antialiasing across a steep line. Along y, coverage is exact. */
const FINE = 4;
const HASTY = 1;
/** The current number of thin columns per pixel. */
let fineness = FINE;

export interface Target {
  /** opaque RGBA, rows one after another */
  pixels: Uint32Array;
  width: number;
  height: number;
}
/** The edges of the painted area, in device pixels. */
interface Clip {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
}
export interface Brush {
  /** 0..255 */
  rgb: [number, number, number];
  /** 0..1 */
  opacity: number;
  /** device pixels */
  width: number;
  /** diameter of an isolated point, device pixels */
  dot: number;
}

/** Scratch buffers, reused for every stretch: intervals of y per thin column, and coverage per row of one column. */
let low = new Float64Array(0);
let high = new Float64Array(0);
let edges = new Float64Array(0);
let insides = new Int32Array(0);

function makeRoom(columns: number, rows: number) {
  if (low.length < columns) [low, high] = [new Float64Array(columns), new Float64Array(columns)];
  if (edges.length < rows + 2) [edges, insides] = [new Float64Array(rows + 2), new Int32Array(rows + 2)];
}

const discs: Map<number, Float64Array> = new Map();

/** Half heights of a disc at its thin columns, of which there are thin * width. */
function disc(width: number) {
  const thin = fineness;
  const taps = Math.max(1, Math.round(width * thin));
  const key = taps * 16 + thin;
  let heights = discs.get(key);
  if (!heights) {
    const radius = taps / thin / 2;
    heights = Float64Array.from({ length: taps }, (_, j) => {
      const d = (j - (taps - 1) / 2) / thin;
      return Math.sqrt(Math.max(0, radius * radius - d * d));
    });
    discs.set(key, heights);
  }
  return heights;
}

/** Extends the intervals of the thin columns `first..last` by the points' segments; index 0 is thin column `base`. */
function fillIntervals(points: ArrayLike<number>, from: number, to: number, base: number, first: number, last: number) {
  // Locals, here and below: closure variables are looked up at every use.
  const thin = fineness;
  const [lows, highs] = [low, high];
  let xa = points[2 * from] * thin - base;
  let ya = points[2 * from + 1];
  if (to - from === 1) {
    const k = Math.floor(xa);
    if (k >= first && k <= last) lows[k] = highs[k] = ya;
    return;
  }
  for (let i = from + 1; i < to; i += 1) {
    const xb = points[2 * i] * thin - base;
    const yb = points[2 * i + 1];
    const ahead = xb >= xa;
    const x0 = ahead ? xa : xb;
    const y0 = ahead ? ya : yb;
    const x1 = ahead ? xb : xa;
    const y1 = ahead ? yb : ya;
    const k0 = Math.floor(x0);
    const k1 = Math.floor(x1);
    if (k1 >= first && k0 <= last) {
      if (k0 === k1) {
        const a = y0 < y1 ? y0 : y1;
        const b = y0 < y1 ? y1 : y0;
        if (a < lows[k0]) lows[k0] = a;
        if (b > highs[k0]) highs[k0] = b;
      } else {
        const slope = (y1 - y0) / (x1 - x0);
        const stop = Math.min(k1, last);
        let k = Math.max(k0, first);
        let left = k === k0 ? y0 : y0 + slope * (k - x0);
        for (; k <= stop; k += 1) {
          const right = k === k1 ? y1 : y0 + slope * (k + 1 - x0);
          const a = left < right ? left : right;
          const b = left < right ? right : left;
          if (a < lows[k]) lows[k] = a;
          if (b > highs[k]) highs[k] = b;
          left = right;
        }
      }
    }
    xa = xb;
    ya = yb;
  }
}

/** Mixes a color into a pixel. `a`: its share, 0..256. */
function mixPixel(pixels: Uint32Array, at: number, color: number, a: number) {
  if (a >= 256) pixels[at] = color;
  else if (a > 0) {
    const under = pixels[at];
    const rb = under & 0xff00ff;
    const g = under & 0x00ff00;
    const mixedRb = (rb + (Math.imul((color & 0xff00ff) - rb, a) >> 8)) & 0xff00ff;
    const mixedG = (g + (Math.imul((color & 0x00ff00) - g, a) >> 8)) & 0x00ff00;
    pixels[at] = 0xff000000 | mixedRb | mixedG;
  }
}

/** Mixes a column that is covered from `a` to `b`, in rows starting at `start`: `mixColumn` for a single interval. */
function mixSpan(
  pixels: Uint32Array,
  start: number,
  width: number,
  a: number,
  b: number,
  color: number,
  scale: number,
) {
  const first = a | 0;
  const last = b | 0;
  const at = start + first * width;
  if (first === last) {
    mixPixel(pixels, at, color, ((b - a) * scale + 0.5) | 0);
    return;
  }
  mixPixel(pixels, at, color, ((first + 1 - a) * scale + 0.5) | 0);
  const whole = (scale + 0.5) | 0;
  const stop = start + last * width;
  if (whole >= 256) { for (let k = at + width; k < stop; k += width) pixels[k] = color; }
  else for (let k = at + width; k < stop; k += width) mixPixel(pixels, k, color, whole);
  // There is nothing below the last row.
  if (b > last) mixPixel(pixels, stop, color, ((b - last) * scale + 0.5) | 0);
}

/** Mixes the coverage of one column, collected in `edges` and `insides`, into its pixels, and clears it. */
function mixColumn(
  pixels: Uint32Array,
  start: number,
  width: number,
  row: number,
  end: number,
  color: number,
  scale: number,
) {
  const [parts, wholes] = [edges, insides];
  let inside = 0;
  let at = start + row * width;
  for (let r = row; r <= end; r += 1, at += width) {
    inside += wholes[r];
    const a = ((inside + parts[r]) * scale + 0.5) | 0;
    wholes[r] = 0;
    parts[r] = 0;
    mixPixel(pixels, at, color, a);
  }
  wholes[end + 1] = 0;
  parts[end + 1] = 0;
}

/** Mixes the intervals of the thin columns, widened by the disc, into the pixel columns `begin..finish` of the clip. */
function mixIntervals(
  target: Target,
  clip: Clip,
  heights: Float64Array,
  pad: number,
  begin: number,
  finish: number,
  { rgb, opacity }: Brush,
) {
  const thin = fineness;
  const [lows, highs, parts, wholes] = [low, high, edges, insides];
  const taps = heights.length;
  const [top, rows] = [clip.y0, clip.y1 - clip.y0];
  const color = 0xff000000 | (rgb[2] << 16) | (rgb[1] << 8) | rgb[0];
  const scale = (256 * opacity) / thin;
  for (let column = begin; column <= finish; column += 1) {
    let row = rows;
    let end = -1;
    const start = pad + column * thin - (taps >> 1);
    for (let s = start; s < start + thin; s += 1) {
      let a = Infinity;
      let b = -Infinity;
      for (let j = 0; j < taps; j += 1) {
        const above = lows[s + j] - heights[j];
        const below = highs[s + j] + heights[j];
        a = above < a ? above : a;
        b = below > b ? below : b;
      }
      a -= top;
      b -= top;
      if (a < 0) a = 0;
      if (b > rows) b = rows;
      if (!(a < b)) continue;
      if (thin === 1) {
        mixSpan(target.pixels, top * target.width + clip.x0 + column, target.width, a, b, color, scale);
        break;
      }
      const ra = a | 0;
      const rb = b | 0;
      if (ra === rb) parts[ra] += b - a;
      else {
        parts[ra] += ra + 1 - a;
        parts[rb] += b - rb;
        wholes[ra + 1] += 1;
        wholes[rb] -= 1;
      }
      if (ra < row) row = ra;
      if (rb > end) end = rb;
    }
    if (end >= 0) {
      mixColumn(
        target.pixels,
        top * target.width + clip.x0 + column,
        target.width,
        row,
        Math.min(end, rows - 1),
        color,
        scale,
      );
    }
  }
}

/** Paints one stretch whose x goes in one direction only. */
function paintStretch(
  target: Target,
  clip: Clip,
  points: ArrayLike<number>,
  from: number,
  to: number,
  brush: Brush,
  diameter: number,
) {
  const thin = fineness;
  const heights = disc(diameter);
  const taps = heights.length;
  const columns = clip.x1 - clip.x0;
  // Room on either side for the reach of the disc from the borders of whole pixels.
  const pad = 2 * taps + 2 * thin;
  const final = columns * thin + 2 * pad;
  makeRoom(final + 2, clip.y1 - clip.y0);
  // An even number of thin columns has its middle on a border: half a column to the left compensates for it.
  const base = clip.x0 * thin - pad + (taps % 2 ? 0 : 0.5);
  const ends = [points[2 * from] * thin - base, points[2 * (to - 1)] * thin - base];
  const first = Math.max(0, Math.floor(Math.min(ends[0], ends[1])));
  const last = Math.min(final, Math.floor(Math.max(ends[0], ends[1])));
  if (first > last) return;
  low.fill(Infinity, Math.max(0, first - pad), last + pad + 1);
  high.fill(-Infinity, Math.max(0, first - pad), last + pad + 1);
  fillIntervals(points, from, to, base, first, last);
  const reach = taps >> 1;
  const begin = Math.max(0, Math.floor((first - reach - pad) / thin));
  const finish = Math.min(columns - 1, Math.floor((last + reach - pad) / thin));
  mixIntervals(target, clip, heights, pad, begin, finish, brush);
}

/** Whether a stretch is one point, or the same one repeated: a line that goes nowhere would hardly be visible. */
function isOneSpot(points: ArrayLike<number>, from: number, to: number) {
  for (let i = from + 1; i < to; i += 1) {
    if (points[2 * i] !== points[2 * from] || points[2 * i + 1] !== points[2 * from + 1]) return false;
  }
  return true;
}

/**
 * Paints a polyline, and dots for isolated points between gaps.
 * @param clip whole device pixels inside the target
 * @param points alternating x and y, in device pixels; a gap has x NaN
 */
export function paintLine(
  target: Target,
  clip: Clip,
  points: ArrayLike<number>,
  count: number,
  brush: Brush,
) {
  if (clip.x1 <= clip.x0 || clip.y1 <= clip.y0) return;
  for (const [from, to] of stretches(points, count)) {
    if (isOneSpot(points, from, to)) {
      paintStretch(target, clip, points, from, from + 1, brush, brush.dot);
      continue;
    }
    let start = from;
    let way = 0;
    for (let i = from + 1; i < to; i += 1) {
      const turn = Math.sign(points[2 * i] - points[2 * i - 2]);
      if (turn && way && turn !== way) {
        paintStretch(target, clip, points, start, i, brush, brush.width);
        start = i - 1;
        way = turn;
      } else way = way || turn;
    }
    paintStretch(target, clip, points, start, to, brush, brush.width);
  }
}

const parsed: Map<string, [number, number, number, number]> = new Map();

/** Red, green, blue (0..255) and alpha (0..1) of any CSS color; gray for invalid ones. */
export function parseColor(text: string) {
  let found = parsed.get(text);
  if (!found) {
    const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true })!;
    context.canvas.width = context.canvas.height = 1;
    context.fillStyle = "#808080";
    context.fillStyle = text;
    context.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
    found = [r, g, b, a / 255];
    if (parsed.size > 5000) parsed.clear();
    parsed.set(text, found);
  }
  return found;
}

/** For use during a gesture: lines take half the time to paint, but have coarser edges. Later ones are fine again. */
export function hasten(on: boolean) {
  fineness = on ? HASTY : FINE;
}
