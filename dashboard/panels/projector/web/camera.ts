/**
 * The point cloud's camera: plain data, and the arithmetic that projects places in the cloud onto the screen.
 *
 * The cloud lies in a cube from -1 to 1. In 3-D the camera turns around a target (azimuth and elevation, so that up
 * stays up); in 2-D it looks straight down and only moves and zooms.
 */

type Range = [low: number, high: number];

const DEGREE = Math.PI / 180;
const FOV = 38; // degrees across the smaller side of the picture
const HALF = (FOV / 2) * DEGREE;
const MARGIN = 0.9; // share of the picture filled when fitting
const ZOOMS: Range = [0.05, 5000];
const SMALLEST = 2e-3; // radius at which a lone point, or points in one place, are shown
const NEAR = 0.02; // share of the distance to the target; anything nearer counts as behind the eye

export type Vector = [number, number, number];
export type Dimensions = 2 | 3;

export const vector = (of: (k: number) => number): Vector => [of(0), of(1), of(2)];

export interface Camera {
  /** degrees */
  az: number;
  /** degrees, -90 to 90 */
  el: number;
  /** 1 shows the cube from -1 to 1 */
  zoom: number;
  /** target */
  x: number;
  y: number;
  z: number;
  perspective: boolean;
}
/** screen x = cx + X * s and y = cy - Y * s, where X = right . p + rightAt (Y alike with up),
 * D = depthAt - back . p is the distance from the eye, and s = focal / D in perspective, or `scale` everywhere */
export interface Projection {
  /** pixels */
  width: number;
  height: number;
  dimensions: Dimensions;
  perspective: boolean;
  right: Vector;
  up: Vector;
  back: Vector;
  rightAt: number;
  upAt: number;
  depthAt: number;
  /** distance from the eye to the target */
  away: number;
  focal: number;
  /** pixels per unit at the target */
  scale: number;
  near: number;
  cx: number;
  cy: number;
}

const dot = (a: Vector, x: number, y: number, z: number) => a[0] * x + a[1] * y + a[2] * z;
const within = (value: number, [low, high]: Range) => Math.min(high, Math.max(low, value));

export const first = (dimensions: Dimensions): Camera => ({
  az: dimensions === 3 ? 35 : 0,
  el: dimensions === 3 ? 22 : 0,
  zoom: 1,
  x: 0,
  y: 0,
  z: 0,
  perspective: true,
});

/** The right, up, and back directions of the eye. */
function basis(camera: Camera, dimensions: Dimensions): [Vector, Vector, Vector] {
  if (dimensions === 2) return [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
  const [ca, sa] = [Math.cos(camera.az * DEGREE), Math.sin(camera.az * DEGREE)];
  const [ce, se] = [Math.cos(camera.el * DEGREE), Math.sin(camera.el * DEGREE)];
  return [[ca, 0, -sa], [-se * sa, ce, -se * ca], [ce * sa, se, ce * ca]];
}

/** @param width pixels */
export function projection(camera: Camera, dimensions: Dimensions, width: number, height: number): Projection {
  const [right, up, back] = basis(camera, dimensions);
  const perspective = camera.perspective && dimensions === 3;
  const { x, y, z } = camera;
  const half = Math.max(1, Math.min(width, height)) / 2;
  const away = 1 / Math.sin(HALF) / camera.zoom;
  const focal = half / Math.tan(HALF);
  return {
    width,
    height,
    dimensions,
    perspective,
    right,
    up,
    back,
    away,
    focal,
    rightAt: -dot(right, x, y, z),
    upAt: -dot(up, x, y, z),
    depthAt: away + dot(back, x, y, z),
    scale: focal / away,
    near: perspective ? away * NEAR : -Infinity,
    cx: width / 2,
    cy: height / 2,
  };
}

/** Where a place appears on the screen, its distance from the eye, and the pixels per unit there. */
export interface Spot {
  x: number;
  y: number;
  depth: number;
  scale: number;
  behind: boolean;
}

export function screen(p: Projection, x: number, y: number, z: number): Spot {
  const depth = p.depthAt - dot(p.back, x, y, z);
  const scale = p.perspective ? p.focal / depth : p.scale;
  return {
    x: p.cx + (dot(p.right, x, y, z) + p.rightAt) * scale,
    y: p.cy - (dot(p.up, x, y, z) + p.upAt) * scale,
    depth,
    scale,
    behind: depth <= p.near,
  };
}

/**
 * @param x degrees to the right
 * @param y degrees upwards
 */
export const turned = (camera: Camera, x: number, y: number): Camera => ({
  ...camera,
  az: ((((camera.az - x + 180) % 360) + 360) % 360) - 180,
  el: within(camera.el + y, [-90, 90]),
});

/**
 * Pans the view along with a drag.
 * @param dx pixels
 */
export function panned(camera: Camera, dx: number, dy: number, p: Projection): Camera {
  const [x, y, z] = [0, 1, 2].map((i) => (-p.right[i] * dx + p.up[i] * dy) / p.scale);
  return { ...camera, x: camera.x + x, y: camera.y + y, z: camera.z + z };
}

/** Zooms so that whatever is under the pointer, at the depth of the target, stays there. */
export function zoomed(camera: Camera, by: number, px: number, py: number, p: Projection): Camera {
  const zoom = within(camera.zoom * by, ZOOMS);
  const share = 1 - camera.zoom / zoom;
  return { ...panned(camera, -(px - p.cx) * share, -(py - p.cy) * share, p), zoom };
}

/**
 * The camera that shows all of a box (2-D) or of the ball around its middle (3-D), from the same side.
 * @param box `radius` of the ball
 */
export function fitted(
  camera: Camera,
  box: { low: number[]; high: number[]; radius: number },
  dimensions: Dimensions,
  width: number,
  height: number,
): Camera {
  const [x, y, z] = [0, 1, 2].map((i) => (box.low[i] + box.high[i]) / 2);
  if (dimensions === 3) {
    return { ...camera, x, y, z, zoom: within((MARGIN * 1.05) / Math.max(box.radius, SMALLEST), ZOOMS) };
  }
  const [w, h] = [0, 1].map((i) => Math.max((box.high[i] - box.low[i]) / 2, SMALLEST));
  const pixels = MARGIN * Math.min(width / 2 / w, height / 2 / h);
  return {
    ...camera,
    x,
    y,
    z: 0,
    zoom: within(pixels / projection({ ...camera, zoom: 1 }, 2, width, height).scale, ZOOMS),
  };
}

/**
 * A camera between two others, going the short way around.
 * @param share 0..1
 */
export function between(from: Camera, to: Camera, share: number): Camera {
  const mix = (a: number, b: number) => a + (b - a) * share;
  const turn = ((((to.az - from.az + 180) % 360) + 360) % 360) - 180;
  // Zoom by equal factors and move the target in step, so that neither rushes ahead.
  const zoom = from.zoom * (to.zoom / from.zoom) ** share;
  const gone = Math.abs(to.zoom / from.zoom - 1) < 1e-6
    ? share
    : (1 / zoom - 1 / from.zoom) / (1 / to.zoom - 1 / from.zoom);
  const go = (a: number, b: number) => a + (b - a) * gone;
  return {
    az: from.az + turn * share,
    el: mix(from.el, to.el),
    zoom,
    x: go(from.x, to.x),
    y: go(from.y, to.y),
    z: go(from.z, to.z),
    perspective: to.perspective,
  };
}

const short = (value: number) => String(Number(value.toPrecision(6)) + 0);

/** Writes a camera for the address: "2:x,y,zoom" or "3:az,el,zoom,x,y,z,p|o". */
export const written = (c: Camera, dimensions: Dimensions) =>
  dimensions === 2
    ? `2:${[c.x, c.y, c.zoom].map(short).join()}`
    : `3:${[c.az, c.el, c.zoom, c.x, c.y, c.z].map(short).join()},${c.perspective ? "p" : "o"}`;

/** Reads what `written` wrote; null for anything else. */
export function read(text: string): { dimensions: Dimensions; camera: Camera } | null {
  const found = /^([23]):([-+.,e\d]+?)(?:,([po]))?$/i.exec(String(text));
  if (!found) return null;
  const numbers = found[2].split(",").map((part) => (part === "" ? NaN : Number(part)));
  const dimensions: Dimensions = found[1] === "2" ? 2 : 3;
  if (numbers.length !== (dimensions === 2 ? 3 : 6) || !numbers.every(Number.isFinite)) return null;
  const [az, el, zoom, x, y, z] = dimensions === 2 ? [0, 0, numbers[2], numbers[0], numbers[1], 0] : numbers;
  if (!(zoom > 0)) return null;
  return {
    dimensions,
    camera: { az, el: within(el, [-90, 90]), zoom: within(zoom, ZOOMS), x, y, z, perspective: found[3] !== "o" },
  };
}
