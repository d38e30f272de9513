// @ts-nocheck
// The mesh panel: matrices (column by column, as WebGL takes them), cameras that orbit, ticks and numbers.

export const FOV = 45;
const LIFT = 0.07; // of half the height, because the numbers of two axes stand below
const DEGREE = Math.PI / 180;

export type Vector = [number, number, number];
/** angles in degrees; `pan` in radii of the frame */
export interface Camera {
  az: number;
  el: number;
  zoom: number;
  pan: Vector;
}
/** what a camera at zoom 1 fits */
export interface Frame {
  center: Vector;
  radius: number;
}
export interface Projection {
  view: Float32Array;
  projection: Float32Array;
  all: Float32Array;
  eye: Vector;
  perPixel: number;
  orthographic: boolean;
}

export const add = (a, b, by) => [a[0] + b[0] * by, a[1] + b[1] * by, a[2] + b[2] * by];
export const minus = (a, b) => add(a, b, -1);
export const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
export const norm = (a) => Math.hypot(a[0], a[1], a[2]);
const unit = (a) => add([0, 0, 0], a, 1 / (norm(a) || 1));

function multiply(a, b) {
  const product = new Float32Array(16);
  for (let column = 0; column < 4; column += 1) {
    for (let row = 0; row < 4; row += 1) {
      let sum = 0;
      for (let k = 0; k < 4; k += 1) sum += a[k * 4 + row] * b[column * 4 + k];
      product[column * 4 + row] = sum;
    }
  }
  return product;
}

/** The direction from what is looked at to the eye, for an upward axis "y" or "z". */
function toEye(camera, up): Vector {
  const [az, el] = [camera.az * DEGREE, camera.el * DEGREE];
  const flat = [Math.cos(el) * Math.sin(az), Math.sin(el), Math.cos(el) * Math.cos(az)];
  return up === "z" ? [flat[0], -flat[2], flat[1]] : flat;
}

/** The camera that looks from a direction. */
export function fromEye(direction, up) {
  const [x, y, z] = unit(up === "z" ? [direction[0], direction[2], -direction[1]] : direction);
  return { az: Math.atan2(x, z) / DEGREE, el: Math.asin(Math.min(1, Math.max(-1, y))) / DEGREE };
}

/** Right, up and back of the eye. */
export function basis(camera, up) {
  const back = toEye(camera, up);
  const right = unit(cross(up === "z" ? [0, 0, 1] : [0, 1, 0], back));
  return { right, up: cross(back, right), back };
}

/** How far the eye is, in radii of the frame. */
export const distance = (camera, fov) => 1 / Math.sin((fov * DEGREE) / 2) / camera.zoom;

/** @param on `low` and `high` bound what must not be cut off */
export function project(
  camera: Camera,
  frame: Frame,
  on: { up: string; width: number; height: number; fov?: number; orthographic?: boolean; low: Vector; high: Vector },
): Projection {
  const fov = on.fov || FOV;
  const { right, up, back } = basis(camera, on.up);
  const target = add(frame.center, camera.pan, frame.radius);
  const away = distance(camera, fov) * frame.radius;
  const eye = add(target, back, away);
  const view = new Float32Array([
    right[0],
    up[0],
    back[0],
    0,
    right[1],
    up[1],
    back[1],
    0,
    right[2],
    up[2],
    back[2],
    0,
    -dot(right, eye),
    -dot(up, eye),
    -dot(back, eye),
    1,
  ]);
  const middle = [0, 1, 2].map((i) => (on.low[i] + on.high[i]) / 2);
  const reach = (norm(minus(on.high, on.low)) / 2) * 1.05 + frame.radius * 1e-3;
  const depth = dot(minus(eye, middle), back);
  const far = Math.max(depth + reach, away * 0.01);
  const near = Math.max(depth - reach, far * 1e-4);
  const aspect = on.width / on.height;
  const projection = new Float32Array(16);
  const half = on.orthographic ? (frame.radius * 1.03) / camera.zoom : Math.tan((fov * DEGREE) / 2);
  const tall = half / Math.min(aspect, 1);
  projection[0] = 1 / (tall * aspect);
  projection[5] = 1 / tall;
  if (on.orthographic) {
    const start = depth - reach;
    projection[10] = -2 / (far - start);
    projection[14] = -(far + start) / (far - start);
    projection[15] = 1;
  } else {
    projection[10] = -(far + near) / (far - near);
    projection[11] = -1;
    projection[9] = -LIFT;
    projection[14] = (-2 * far * near) / (far - near);
  }
  // World units that one pixel shows at the target, by which a drag moves things with the pointer.
  const perPixel = (2 * tall * (on.orthographic ? 1 : away)) / on.height;
  return { view, projection, all: multiply(projection, view), eye, perPixel, orthographic: Boolean(on.orthographic) };
}

/** Pixel of a place, or null behind the eye. */
export function pixel(all, place, width, height): [number, number] | null {
  const at = [0, 1, 3].map((row) =>
    all[row] * place[0] + all[4 + row] * place[1] + all[8 + row] * place[2] + all[12 + row]
  );
  if (at[2] <= 0) return null;
  return [((at[0] / at[2] + 1) / 2) * width, ((1 - at[1] / at[2]) / 2) * height];
}

/** Round numbers from low to high, about `wanted` of them. */
export function ticks(low, high, wanted): number[] {
  const span = high - low;
  if (!(span > 0) || !Number.isFinite(span)) return [low];
  const raw = span / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((by) => by * power).find((size) => size >= raw * 0.999);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9 && found.length < 50; k += 1) {
    found.push(k * step);
  }
  return found;
}

/** A number of a scale: as many digits as its neighbours need. */
export function label(value, step) {
  const size = Math.max(Math.abs(value), step || 0);
  if (value !== 0 && (size >= 1e6 || size < 1e-4)) {
    return value.toExponential(
      Math.min(6, Math.max(0, Math.ceil(Math.log10(Math.abs(value) / (step || Math.abs(value) / 100)) - 0.01))),
    ).replace("e+", "e");
  }
  const digits = step ? Math.min(8, Math.max(0, -Math.floor(Math.log10(step) + 1e-9))) : 3;
  return (Math.round(value * 10 ** digits) / 10 ** digits + 0).toLocaleString("en-US", {
    maximumFractionDigits: digits,
  });
}

/** A measured number: three digits. */
export const short = (value) =>
  value === 0
    ? "0"
    : Math.abs(value) >= 1e6 || Math.abs(value) < 1e-3
    ? value.toExponential(2).replace("e+", "e")
    : Number(value.toPrecision(3)).toLocaleString("en-US", { maximumFractionDigits: 6 });
