// @ts-nocheck
// The mesh panel: the box around a mesh with its numbers, and the scale of its colours, on the card's own canvas.
import * as math from "./math.ts";
import { cameras } from "./cameras.ts";
import { gl } from "./gl.ts";

const NAMES = ["x", "y", "z"];
const GAP = 13; // pixels between an edge and its numbers

export interface Box {
  low: number[];
  high: number[];
  projection: any;
  ratio: number;
  ink: { line: string; text: string };
}

/** Which side of the box each axis has behind the mesh. */
function backSides(box) {
  return [0, 1, 2].map((axis) => {
    const middle = (box.low[axis] + box.high[axis]) / 2;
    const toward = box.projection.orthographic ? box.projection.view[axis * 4 + 2] : box.projection.eye[axis] - middle;
    return toward > 0 ? box.low[axis] : box.high[axis];
  });
}

function stroke(context, box, from, to) {
  const { width, height } = context.canvas;
  const one = math.pixel(box.projection.all, from, width, height);
  const other = math.pixel(box.projection.all, to, width, height);
  if (!one || !other) return;
  context.moveTo(one[0], one[1]);
  context.lineTo(other[0], other[1]);
}

/** A place from values by axis. */
const place = (a, va, b, vb, c, vc) => {
  const at = [0, 0, 0];
  at[a] = va;
  at[b] = vb;
  at[c] = vc;
  return at;
};

const frontOf = (box, back, axis) => (back[axis] === box.low[axis] ? box.high[axis] : box.low[axis]);

/**
 * Pixels of the edge along `axis` that carries its numbers: of the two in the outline the left one of the upright
 * axis, the lower one of the others.
 */
function labelledEdge(context, box, back, axis) {
  const { width, height } = context.canvas;
  const [b, c] = [0, 1, 2].filter((other) => other !== axis);
  const candidates = [
    [back[b], frontOf(box, back, c)],
    [frontOf(box, back, b), back[c]],
  ].map(([vb, vc]) => {
    const at = (value) => place(axis, value, b, vb, c, vc);
    const ends = [box.low[axis], box.high[axis]].map((value) =>
      math.pixel(box.projection.all, at(value), width, height)
    );
    return { at, ends };
  });
  const shown = candidates.filter(({ ends }) => ends[0] && ends[1]);
  if (!shown.length) return null;
  const upright = axis === NAMES.indexOf(cameras.up());
  const rank = (edge) => (upright ? edge.ends[0][0] + edge.ends[1][0] : -(edge.ends[0][1] + edge.ends[1][1]));
  shown.sort((one, other) => rank(one) - rank(other));
  return shown[0];
}

/** Writes a text whole: one that would stick out a little is moved in, one that is far out is left out. */
function write(context, text, x, y, ratio) {
  const { width, height } = context.canvas;
  const half = 7 * ratio;
  const wide = context.measureText(text).width;
  const left = x - (context.textAlign === "right" ? wide : context.textAlign === "center" ? wide / 2 : 0);
  if (left + wide < 0 || left > width || y < -half || y > height + half) return;
  const aside = Math.max(0, 2 * ratio - left) - Math.max(0, left + wide - (width - 2 * ratio));
  context.fillText(text, x + aside, Math.min(height - half, Math.max(half, y)));
}

function drawNumbers(context, box, back, axis, values, origin) {
  const { width, height } = context.canvas;
  const edge = labelledEdge(context, box, back, axis);
  if (!edge) return;
  const [[x0, y0], [x1, y1]] = edge.ends;
  const length = Math.hypot(x1 - x0, y1 - y0);
  if (length < 24 * box.ratio) return;
  const middle = math.pixel(box.projection.all, [0, 1, 2].map((i) => (box.low[i] + box.high[i]) / 2), width, height);
  let out = [(y1 - y0) / length, (x0 - x1) / length];
  if (middle && out[0] * (middle[0] - x0) + out[1] * (middle[1] - y0) > 0) out = [-out[0], -out[1]];
  context.textAlign = out[0] < -0.4 ? "right" : out[0] > 0.4 ? "left" : "center";
  const gap = GAP * box.ratio;
  const step = values.length > 1 ? values[1] - values[0] : 0;
  const room = length / Math.max(1, values.length);
  const every = Math.max(1, Math.ceil((26 * box.ratio) / room));
  values.forEach((value, i) => {
    if (i % every) return;
    const at = math.pixel(box.projection.all, edge.at(value - origin[axis]), width, height);
    if (at) write(context, math.label(value, step), at[0] + out[0] * gap, at[1] + out[1] * gap, box.ratio);
  });
  context.font = `600 ${11 * box.ratio}px ui-sans-serif, system-ui, sans-serif`;
  const far = gap * (Math.abs(out[0]) > 0.4 ? 3.4 : 2.1);
  write(context, NAMES[axis], (x0 + x1) / 2 + out[0] * far, (y0 + y1) / 2 + out[1] * far, box.ratio);
  context.font = `${10.5 * box.ratio}px ui-sans-serif, system-ui, sans-serif`;
}

/**
 * The three sides of the box behind the mesh, with lines at round numbers.
 * @param box `low` and `high` relative to `origin`
 * @param origin what the numbers are more by
 */
export function drawBox(context: CanvasRenderingContext2D, box: Box, origin: number[]) {
  const back = backSides(box);
  const longest = Math.max(...box.low.map((low, i) => box.high[i] - low)) || 1;
  const values = box.low.map((low, i) => {
    const wanted = Math.max(1.5, (4 * (box.high[i] - low)) / longest);
    return math.ticks(low + origin[i], box.high[i] + origin[i], wanted);
  });
  context.lineWidth = box.ratio;
  context.strokeStyle = box.ink.line;
  context.beginPath();
  for (let a = 0; a < 3; a += 1) {
    const [b, c] = [0, 1, 2].filter((axis) => axis !== a);
    for (const [along, across] of [[b, c], [c, b]]) {
      for (const value of [box.low[across], box.high[across], ...values[across].map((tick) => tick - origin[across])]) {
        stroke(
          context,
          box,
          place(a, back[a], across, value, along, box.low[along]),
          place(a, back[a], across, value, along, box.high[along]),
        );
      }
    }
  }
  context.stroke();
  context.fillStyle = box.ink.text;
  context.textBaseline = "middle";
  context.font = `${10.5 * box.ratio}px ui-sans-serif, system-ui, sans-serif`;
  for (let axis = 0; axis < 3; axis += 1) drawNumbers(context, box, back, axis, values[axis], origin);
}

/** The scale of the colours, from low to high, at the lower left. */
export function drawScale(context, scale, ratio, ink) {
  const [width, height, x] = [110 * ratio, 7 * ratio, 10 * ratio];
  const y = context.canvas.height - 24 * ratio;
  const ramp = context.createLinearGradient(x, 0, x + width, 0);
  gl.SCALE.forEach((color, i) => ramp.addColorStop(i / 8, color));
  context.fillStyle = ramp;
  context.fillRect(x, y, width, height);
  context.fillStyle = ink.text;
  context.font = `${10.5 * ratio}px ui-sans-serif, system-ui, sans-serif`;
  context.textBaseline = "bottom";
  context.textAlign = "left";
  context.fillText(scale.title, x, y - 2 * ratio);
  context.textBaseline = "top";
  context.fillText(math.short(scale.low), x, y + height + 2 * ratio);
  context.textAlign = "right";
  context.fillText(math.short(scale.high), x + width, y + height + 2 * ratio);
}
