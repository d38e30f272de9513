/** The box around a mesh with its numbers, and the color scale, drawn on the card's own canvas. */
import { css, VIRIDIS } from "../../../web/core/color.ts";
import { linearTicks } from "../../../web/lines/ticks.ts";
import { AXES, type Axis, type Box, middle, type Pixel, pixel, type Vector, vector } from "./math.ts";
import type { Projection, Up } from "./orbit.ts";
import { short } from "./texts.ts";

const NAMES = ["x", "y", "z"];
const GAP = 13; // pixels between an edge and its numbers
const FONT = "ui-sans-serif, system-ui, sans-serif";

export interface Ink {
  line: string;
  text: string;
}
/** A box relative to the origin that is added back to its numbers, and how it is seen. */
export interface SeenBox extends Box {
  projection: Projection;
  ratio: number;
  ink: Ink;
  up: Up;
}

const others = (axis: Axis): [Axis, Axis] => [axis === 0 ? 1 : 0, axis === 2 ? 1 : 2];

/** For each axis, the side of the box that is behind the mesh. */
function backSides(box: SeenBox): Vector {
  const center = middle(box);
  const { orthographic, view, eye } = box.projection;
  return vector((axis) => {
    const toward = orthographic ? view[axis * 4 + 2] : eye[axis] - center[axis];
    return toward > 0 ? box.low[axis] : box.high[axis];
  });
}

const seen = (context: CanvasRenderingContext2D, box: SeenBox, place: Vector): Pixel | null =>
  pixel(box.projection.all, place, context.canvas.width, context.canvas.height);

function stroke(context: CanvasRenderingContext2D, box: SeenBox, from: Vector, to: Vector): void {
  const one = seen(context, box, from);
  const other = seen(context, box, to);
  if (!one || !other) return;
  context.moveTo(...one);
  context.lineTo(...other);
}

/** An edge of the box: its point at a value of its axis, and the pixels of its ends. */
interface Edge {
  at: (value: number) => Vector;
  ends: [Pixel, Pixel];
}

/**
 * The edge along `axis` that carries its numbers: of the two on the outline, the left one for the upright axis and the
 * lower one for the others.
 */
function labeledEdge(context: CanvasRenderingContext2D, box: SeenBox, back: Vector, axis: Axis): Edge | null {
  const front = vector((i) => (back[i] === box.low[i] ? box.high[i] : box.low[i]));
  const [b, c] = others(axis);
  const found: Edge[] = [];
  for (const [vb, vc] of [[back[b], front[c]], [front[b], back[c]]]) {
    const at = (value: number) => vector((i) => (i === axis ? value : i === b ? vb : vc));
    const [one, other] = [seen(context, box, at(box.low[axis])), seen(context, box, at(box.high[axis]))];
    if (one && other) found.push({ at, ends: [one, other] });
  }
  const rank = ({ ends: [one, other] }: Edge) => NAMES[axis] === box.up ? one[0] + other[0] : -(one[1] + other[1]);
  return found.sort((one, other) => rank(one) - rank(other))[0] ?? null;
}

/** Writes a text in full: text slightly outside the canvas is moved in, and text far outside is left out. */
function write(context: CanvasRenderingContext2D, text: string, x: number, y: number, ratio: number): void {
  const { width, height } = context.canvas;
  const half = 7 * ratio;
  const wide = context.measureText(text).width;
  const left = x - (context.textAlign === "right" ? wide : context.textAlign === "center" ? wide / 2 : 0);
  if (left + wide < 0 || left > width || y < -half || y > height + half) return;
  const aside = Math.max(0, 2 * ratio - left) - Math.max(0, left + wide - (width - 2 * ratio));
  context.fillText(text, x + aside, Math.min(height - half, Math.max(half, y)));
}

function drawNumbers(
  context: CanvasRenderingContext2D,
  box: SeenBox,
  back: Vector,
  axis: Axis,
  { values, labels }: { values: number[]; labels: string[] },
  origin: Vector,
): void {
  const edge = labeledEdge(context, box, back, axis);
  if (!edge) return;
  const [[x0, y0], [x1, y1]] = edge.ends;
  const length = Math.hypot(x1 - x0, y1 - y0);
  if (length < 24 * box.ratio) return;
  const center = seen(context, box, middle(box));
  let out = [(y1 - y0) / length, (x0 - x1) / length];
  if (center && out[0] * (center[0] - x0) + out[1] * (center[1] - y0) > 0) out = [-out[0], -out[1]];
  context.textAlign = out[0] < -0.4 ? "right" : out[0] > 0.4 ? "left" : "center";
  const gap = GAP * box.ratio;
  const room = length / Math.max(1, values.length);
  const every = Math.max(1, Math.ceil((26 * box.ratio) / room));
  // If there is no room for all numbers, 0 keeps its own.
  const first = Math.max(0, values.indexOf(0)) % every;
  values.forEach((value, i) => {
    const at = i % every !== first ? null : seen(context, box, edge.at(value - origin[axis]));
    if (at) write(context, labels[i], at[0] + out[0] * gap, at[1] + out[1] * gap, box.ratio);
  });
  context.font = `600 ${11 * box.ratio}px ${FONT}`;
  const far = gap * (Math.abs(out[0]) > 0.4 ? 3.4 : 2.1);
  write(context, NAMES[axis], (x0 + x1) / 2 + out[0] * far, (y0 + y1) / 2 + out[1] * far, box.ratio);
  context.font = `${10.5 * box.ratio}px ${FONT}`;
}

/**
 * Draws the three sides of the box behind the mesh, with lines at round numbers.
 * @param origin the offset that is added to the numbers
 */
export function drawBox(context: CanvasRenderingContext2D, box: SeenBox, origin: Vector): void {
  const { low, high } = box;
  const back = backSides(box);
  const longest = Math.max(...AXES.map((i) => high[i] - low[i])) || 1;
  const ticks = AXES.map((i) =>
    linearTicks(low[i] + origin[i], high[i] + origin[i], Math.max(1.5, (4 * (high[i] - low[i])) / longest))
  );
  context.lineWidth = box.ratio;
  context.strokeStyle = box.ink.line;
  context.beginPath();
  for (const side of AXES) {
    const [b, c] = others(side);
    for (const [along, across] of [[b, c], [c, b]]) {
      for (const value of [low[across], high[across], ...ticks[across].values.map((tick) => tick - origin[across])]) {
        const end = (ends: Vector) => vector((i) => (i === side ? back[i] : i === across ? value : ends[along]));
        stroke(context, box, end(low), end(high));
      }
    }
  }
  context.stroke();
  context.fillStyle = box.ink.text;
  context.textBaseline = "middle";
  context.font = `${10.5 * box.ratio}px ${FONT}`;
  for (const axis of AXES) drawNumbers(context, box, back, axis, ticks[axis], origin);
}

/** What the colors of a scale mean. */
export interface ColorScale {
  title: string;
  low: number;
  high: number;
}

/** Draws the color scale, from low to high, at the lower left. */
export function drawScale(context: CanvasRenderingContext2D, scale: ColorScale, ratio: number, ink: Ink): void {
  const [width, height, x] = [110 * ratio, 7 * ratio, 10 * ratio];
  const y = context.canvas.height - 24 * ratio;
  const ramp = context.createLinearGradient(x, 0, x + width, 0);
  VIRIDIS.forEach((color, i) => ramp.addColorStop(i / (VIRIDIS.length - 1), css(color)));
  context.fillStyle = ramp;
  context.fillRect(x, y, width, height);
  context.fillStyle = ink.text;
  context.font = `${10.5 * ratio}px ${FONT}`;
  context.textBaseline = "bottom";
  context.textAlign = "left";
  context.fillText(scale.title, x, y - 2 * ratio);
  context.textBaseline = "top";
  context.fillText(short(scale.low), x, y + height + 2 * ratio);
  context.textAlign = "right";
  context.fillText(short(scale.high), x + width, y + height + 2 * ratio);
}
