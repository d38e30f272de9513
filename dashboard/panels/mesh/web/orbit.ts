/** Cameras that orbit a target: how they move, what they see, and how they are written in the URL. */
import type { ValueOf } from "../../../web/core/setting.ts";
import { add, type Box, cross, dot, middle, minus, multiply, norm, unit, type Vector } from "./math.ts";
import type { CameraLooks } from "./messages.generated.ts";
import type { settings } from "./settings.generated.ts";

const FOV = 45;
const LIFT = 0.07; // as a share of half the height, to leave room below for the numbers of two axes
const DEGREE = Math.PI / 180;
const START = { az: 35, el: 22 };

export type Up = ValueOf<typeof settings.up>;
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
  /** World units per pixel at the target, so that a drag moves things along with the pointer. */
  perPixel: number;
  orthographic: boolean;
}

// --- movement ----------------------------------------------------------------------------------------------

const upright = (degrees: number) => Math.min(90, Math.max(-90, degrees));

/** @param x degrees to the right */
export const turned = (camera: Camera, x: number, y: number): Camera => ({
  ...camera,
  az: camera.az - x,
  el: upright(camera.el + y),
});

export const zoomed = (camera: Camera, by: number): Camera => ({
  ...camera,
  zoom: Math.min(1e4, Math.max(1e-3, camera.zoom * by)),
});

/** Moves the view, in radii of the frame. */
export function panned(camera: Camera, x: number, y: number, upward: Up): Camera {
  const { right, up } = basis(camera, upward);
  return { ...camera, pan: add(add(camera.pan, right, -x), up, y) };
}

// --- position ----------------------------------------------------------------------------------------------

/** The direction from the target to the eye. */
function toEye(camera: Camera, up: Up): Vector {
  const [az, el] = [camera.az * DEGREE, camera.el * DEGREE];
  const flat: Vector = [Math.cos(el) * Math.sin(az), Math.sin(el), Math.cos(el) * Math.cos(az)];
  return up === "z" ? [flat[0], -flat[2], flat[1]] : flat;
}

/** The angles of a camera that looks from a given direction. */
function fromEye(direction: Vector, up: Up): { az: number; el: number } {
  const [x, y, z] = unit(up === "z" ? [direction[0], direction[2], -direction[1]] : direction);
  return { az: Math.atan2(x, z) / DEGREE, el: Math.asin(Math.min(1, Math.max(-1, y))) / DEGREE };
}

/** The right, up and back directions of the eye. */
function basis(camera: Camera, up: Up) {
  const back = toEye(camera, up);
  const right = unit(cross(up === "z" ? [0, 0, 1] : [0, 1, 0], back));
  return { right, up: cross(back, right), back };
}

/** Distance of the eye at a zoom, in radii of the frame. */
const distance = (zoom: number, fov: number) => 1 / Math.sin((fov * DEGREE) / 2) / zoom;

/** The frame that encloses a box: its center and half its diagonal. */
export function frameAround(box: Box): Frame {
  const center = middle(box);
  return { center, radius: norm(minus(box.high, box.low)) / 2 || Math.max(1e-3, Math.abs(center[0]) * 1e-3) };
}

/** The camera settings in a logged configuration. */
export type Wanted = Partial<CameraLooks>;

/** The camera of the logged configuration, or by default one slightly above the target. */
export function firstCamera(wanted: Wanted, frame: Frame, up: Up): Camera {
  const target = wanted.target ?? [0, 0, 0];
  const direction = minus(wanted.position ?? target, target);
  const away = norm(direction) / frame.radius;
  if (!away) return { ...START, zoom: 1, pan: [0, 0, 0] };
  const pan = add([0, 0, 0], minus(target, frame.center), 1 / frame.radius);
  return { ...fromEye(direction, up), zoom: distance(1, wanted.fov || FOV) / away, pan };
}

/**
 * Computes the projection of a camera.
 * @param on `low` and `high` bound what must not be clipped
 */
export function project(
  camera: Camera,
  frame: Frame,
  on: Box & { up: Up; width: number; height: number; wanted: Wanted },
): Projection {
  const fov = on.wanted.fov || FOV;
  const orthographic = on.wanted.kind === "orthographic";
  const { right, up, back } = basis(camera, on.up);
  const target = add(frame.center, camera.pan, frame.radius);
  const away = distance(camera.zoom, fov) * frame.radius;
  const eye = add(target, back, away);
  const rows = [right, up, back];
  const view = new Float32Array(
    [...[0, 1, 2].flatMap((i) => [...rows.map((row) => row[i]), 0]), ...rows.map((row) => -dot(row, eye)), 1],
  );
  const reach = (norm(minus(on.high, on.low)) / 2) * 1.05 + frame.radius * 1e-3;
  const depth = dot(minus(eye, middle(on)), back);
  const far = Math.max(depth + reach, away * 0.01);
  const near = Math.max(depth - reach, far * 1e-4);
  const aspect = on.width / on.height;
  const projection = new Float32Array(16);
  const half = orthographic ? (frame.radius * 1.03) / camera.zoom : Math.tan((fov * DEGREE) / 2);
  const tall = half / Math.min(aspect, 1);
  projection[0] = 1 / (tall * aspect);
  projection[5] = 1 / tall;
  if (orthographic) {
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
  const perPixel = (2 * tall * (orthographic ? 1 : away)) / on.height;
  return { view, projection, all: multiply(projection, view), eye, perPixel, orthographic };
}

// --- in the URL --------------------------------------------------------------------------------------------

/** A moved camera of a group of cards, with their frame if they share one. */
export interface Moved {
  group: string;
  camera: Camera;
  frame?: Frame;
}

/** Reads an entry "GROUP:az,el,zoom,pan x 3", optionally followed by the frame's center and radius; null if invalid. */
export function readCamera(entry: string): Moved | null {
  const at = entry.lastIndexOf(":");
  const numbers = entry.slice(at + 1).split(",").map(Number);
  if (at < 1 || ![6, 10].includes(numbers.length) || !numbers.every(Number.isFinite) || !(numbers[2] > 0)) return null;
  const [az, el, zoom, x, y, z, centerX, centerY, centerZ, radius] = numbers;
  return {
    group: entry.slice(0, at),
    camera: { az, el: upright(el), zoom, pan: [x, y, z] },
    ...(radius > 0 ? { frame: { center: [centerX, centerY, centerZ], radius } } : {}),
  };
}

export function cameraEntry({ group, camera, frame }: Moved): string {
  const { az, el, zoom, pan } = camera;
  const short = (value: number) => Number(value.toPrecision(6));
  const numbers = [az, el, zoom, ...pan].map(short);
  if (frame) {
    // What is seen may be small beside its distance from the origin.
    const decimals = Math.min(100, Math.max(0, 6 - Math.floor(Math.log10(frame.radius))));
    numbers.push(...frame.center.map((value) => Number(value.toFixed(decimals))), short(frame.radius));
  }
  return `${group}:${numbers.map((value) => value + 0).join(",")}`;
}
