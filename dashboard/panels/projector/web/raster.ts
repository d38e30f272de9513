/**
 * The cloud as pixels, painted by the CPU: back to front, as discs, pictures, and thin lines.
 *
 * Painted here and not through WebGL because a browser without a graphics card falls back to software WebGL, which is
 * several times slower at the same points, and because one way serves everywhere: the screen, pictures of any size, and
 * picking, which needs the places on the screen anyway.
 */
import type { Projection } from "./camera.ts";
import type { Rgb } from "../../../web/core/color.ts";
import { LARGEST, QUARTERS, Stamps } from "./point_sprites.ts";

export const PAD = 60; // pixels around the picture that are painted but not shown, so that no disc needs clipping
export const CULL = 30; // pixels outside the picture beyond which discs are left out: the largest disc stays within PAD
export const LEVELS = 512; // depth levels
const OUT = 0xffff;
const MOST_FOG = 0.66;
const FOG_FROM = 0.25; // share of the cloud's depth that has no fog
export const FULL = 64;
const FADED = 11; // out of 64: how strongly points in the background are painted
const NEAREST = 2.6; // how much larger than at the target a point can be; next, how much smaller
const FARTHEST = 0.55;

/** Layers of the picture, from the back: faded points, points, points that stand out. */
const LAYERS = 3;

export interface Cloud {
  count: number;
  /** places at the start of an animation, three numbers per point */
  from: Float32Array;
  to: Float32Array;
  /** 0..1, how far along from `from` to `to` */
  share: number;
  /** as pixels */
  colors: Uint32Array;
  /** 0 hidden, 1 shown, 2 faded */
  visible: Uint8Array | null;
  /** 0..1 */
  sizes: Float32Array | null;
  /** 0, or the number of the ring of a point that stands out, from 1 */
  marks: Uint8Array;
  /** radius of the ball around the middle of the cube that contains all points */
  reach: number;
}
export interface Look {
  /** a point's radius in pixels at the target */
  radius: number;
  /** as a pixel */
  background: number;
  /** 0..1 */
  opacity: number;
  /** one of this many points is painted */
  every: number;
  /** whether edges are anti-aliased */
  smooth: boolean;
  /** colors as pixels, by mark */
  rings: number[];
  /** width of the rings in pixels */
  ring: number;
  /** pixels outside the picture beyond which points are left out */
  margin: number;
}

/** A surface for drawing lines. */
export type Lines = Pick<Raster, "line">;

/** Mixes two colors, with `share` of 64 of the first. */
export const mixed = (color: number, below: number, share: number) =>
  (0xff000000 |
    (((((below & 0xff00ff) * (FULL - share) + (color & 0xff00ff) * share + 0x200020) >> 6) & 0xff00ff) |
      ((((below & 0xff00) * (FULL - share) + (color & 0xff00) * share + 0x2000) >> 6) & 0xff00))) >>>
  0;

export class Raster {
  width = 0;
  height = 0;
  stride = 0;
  image: ImageData | null = null;
  pixels: Uint32Array = new Uint32Array(0);
  smooth = new Stamps(0, true);
  coarse = new Stamps(0, false);
  /** Places on the screen, in picture pixels; meaningless for points that are not painted. */
  x = new Float32Array(0);
  y = new Float32Array(0);
  /** Depth level and layer, or OUT. */
  level = new Uint16Array(0);
  /** Painted points, back to front. */
  order = new Uint32Array(0);
  painted = 0;
  counts = new Uint32Array(LEVELS * LAYERS + 1);
  fogs = new Uint8Array(LEVELS);
  radii = new Float32Array(LEVELS);
  depths = { low: 0, step: 1 };

  /** @param height pixels */
  resize(width: number, height: number) {
    if (width === this.width && height === this.height) return;
    this.width = width;
    this.height = height;
    this.stride = width + 2 * PAD;
    this.image = new ImageData(this.stride, height + 2 * PAD);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.smooth = new Stamps(this.stride, true);
    this.coarse = new Stamps(this.stride, false);
  }

  /** @param context of the given size */
  put(context: CanvasRenderingContext2D) {
    if (this.image) context.putImageData(this.image, -PAD, -PAD, PAD, PAD, this.width, this.height);
  }

  /** Places all points of a cloud and sorts them. */
  place(cloud: Cloud, p: Projection, look: Look) {
    if (this.x.length < cloud.count) {
      const room = Math.ceil(cloud.count * 1.2);
      [this.x, this.y, this.level, this.order] = [
        new Float32Array(room),
        new Float32Array(room),
        new Uint16Array(room),
        new Uint32Array(room),
      ];
    }
    this.levels(cloud, p, look);
    this.counts.fill(0);
    this.project(cloud, p, look);
    this.sort(cloud.count);
  }

  /** Computes what all points at a depth level share: fog and radius. */
  levels(cloud: Cloud, p: Projection, look: Look) {
    const [low, high] = p.dimensions === 2
      ? [p.away - 1, p.away + 1]
      : [Math.max(p.near, p.depthAt - cloud.reach), Math.max(p.near + 1e-6, p.depthAt + cloud.reach)];
    const step = (high - low) / LEVELS || 1e-9;
    this.depths = { low, step };
    for (let level = 0; level < LEVELS; level += 1) {
      // Level 0 is the farthest.
      const depth = high - (level + 0.5) * step;
      const share = 1 - (level + 0.5) / LEVELS;
      // Few points need little help to be told apart.
      const fog = p.dimensions === 2
        ? 0
        : MOST_FOG * Math.min(1, 0.3 + cloud.count / 300) * Math.max(0, (share - FOG_FROM) / (1 - FOG_FROM));
      this.fogs[level] = Math.round(FULL * (1 - fog));
      const near = p.perspective ? Math.min(NEAREST, Math.max(FARTHEST, p.away / Math.max(depth, 1e-9))) : 1;
      this.radii[level] = look.radius * near;
    }
  }

  project(cloud: Cloud, p: Projection, { every, margin }: Look) {
    const { from, to, share, visible, marks, count } = cloud;
    const { x: xs, y: ys, level, counts } = this;
    const still = share >= 1;
    const flat = p.dimensions === 2;
    const [r0, r1, r2] = p.right;
    const [u0, u1, u2] = p.up;
    const [b0, b1, b2] = p.back;
    const { rightAt, upAt, depthAt, near, perspective, focal, scale, cx, cy } = p;
    const [left, right, top, bottom] = [-margin, this.width + margin, -margin, this.height + margin];
    const high = this.depths.low + LEVELS * this.depths.step;
    const per = 1 / this.depths.step;
    for (let i = 0, at = 0; i < count; i += 1, at += 3) {
      const shown = visible === null ? 1 : visible[i];
      if (shown === 0 || (every > 1 && i % every !== 0 && marks[i] === 0)) {
        level[i] = OUT;
        continue;
      }
      let px = to[at];
      let py = to[at + 1];
      let pz = to[at + 2];
      if (!still) {
        px = from[at] + (px - from[at]) * share;
        py = from[at + 1] + (py - from[at + 1]) * share;
        pz = from[at + 2] + (pz - from[at + 2]) * share;
      }
      const depth = flat ? p.away : depthAt - (b0 * px + b1 * py + b2 * pz);
      const s = perspective ? focal / depth : scale;
      const sx = cx + (r0 * px + r1 * py + r2 * pz + rightAt) * s;
      const sy = cy - (u0 * px + u1 * py + u2 * pz + upAt) * s;
      if (depth <= near || !(sx > left && sx < right && sy > top && sy < bottom)) {
        level[i] = OUT;
        continue;
      }
      xs[i] = sx;
      ys[i] = sy;
      let k = ((high - depth) * per) | 0;
      k = k < 0 ? 0 : k >= LEVELS ? LEVELS - 1 : k;
      k += marks[i] !== 0 ? 2 * LEVELS : shown === 1 ? LEVELS : 0;
      level[i] = k;
      counts[k] += 1;
    }
  }

  /** Counting sort: equal levels keep the order of the rows. */
  sort(count: number) {
    const { counts, level, order } = this;
    let sum = 0;
    for (let k = 0; k < counts.length; k += 1) {
      const here = counts[k];
      counts[k] = sum;
      sum += here;
    }
    this.painted = sum;
    for (let i = 0; i < count; i += 1) {
      const k = level[i];
      if (k !== OUT) order[counts[k]++] = i;
    }
  }

  /** The radius of a painted point in pixels. */
  radiusOf(row: number, sizes: Float32Array | null) {
    return this.radii[this.level[row] % LEVELS] * (sizes ? sizeOf(sizes[row]) : 1);
  }

  isPainted(row: number) {
    return this.level[row] !== OUT;
  }

  clear(background: number) {
    this.pixels.fill(background);
  }

  /** Paints the previously placed points as discs. */
  discs(cloud: Cloud, look: Look) {
    const { x: xs, y: ys, level, order, radii, fogs, stride, pixels, painted } = this;
    const stamps = look.smooth ? this.smooth : this.coarse;
    const { sizes, colors } = cloud;
    const { background } = look;
    const opacity = Math.round(look.opacity * FULL);
    const most = LARGEST * QUARTERS;
    for (let n = 0; n < painted; n += 1) {
      const i = order[n];
      const layer = level[i];
      const k = layer & (LEVELS - 1);
      let radius = radii[k] * QUARTERS;
      if (sizes !== null) radius *= sizeOf(sizes[i]);
      const quarters = radius > most ? most : radius < 1 ? 1 : (radius + 0.5) | 0;
      // Quarter pixels, counted from the corner of the margin so that none is negative.
      const qx = ((xs[i] + PAD) * 4) | 0;
      const qy = ((ys[i] + PAD) * 4) | 0;
      const key = (quarters << 4) | ((qy & 3) << 2) | (qx & 3);
      if (stamps.start[key] === 0) stamps.make(key);
      const raw = colors[i];
      let alpha = ((raw >>> 24) * (layer < LEVELS ? FADED : layer < 2 * LEVELS ? opacity : FULL) + 128) >> 8;
      if (raw >>> 24 === 255) alpha = layer < LEVELS ? FADED : layer < 2 * LEVELS ? opacity : FULL;
      const fog = fogs[k];
      const color = fog === FULL ? raw : mixed(raw, background, layer < 2 * LEVELS ? fog : FULL);
      const middle = (qy >> 2) * stride + (qx >> 2);
      if (layer >= 2 * LEVELS) {
        this.disc(xs[i], ys[i], quarters / QUARTERS + look.ring, look.rings[cloud.marks[i]], FULL);
      }
      stampOnto(pixels, stamps, key, middle, color, quarters >= 14 ? mixed(color, background, 36) : color, alpha);
    }
  }

  /**
   * Paints a disc of one color at a place.
   * @param alpha out of 64
   */
  disc(x: number, y: number, radius: number, color: number, alpha: number) {
    const [qx, qy] = [((x + PAD) * 4) | 0, ((y + PAD) * 4) | 0];
    const reach = Math.ceil(Math.min(LARGEST, radius)) + 1;
    if (
      qx >> 2 < reach || qy >> 2 < reach || qx >> 2 >= this.stride - reach || qy >> 2 >= this.height + 2 * PAD - reach
    ) return;
    const key = (Math.round(Math.min(LARGEST, Math.max(0.25, radius)) * QUARTERS) << 4) | ((qy & 3) << 2) | (qx & 3);
    if (this.smooth.start[key] === 0) this.smooth.make(key);
    stampOnto(this.pixels, this.smooth, key, (qy >> 2) * this.stride + (qx >> 2), color, color, alpha);
  }

  /**
   * Paints a thin line, clipped at the picture's edge.
   * @param alpha out of 64
   */
  line(x0: number, y0: number, x1: number, y1: number, color: number, alpha: number) {
    const cut = cutLine(x0 + PAD, y0 + PAD, x1 + PAD, y1 + PAD, this.stride - 2, this.height + 2 * PAD - 2);
    if (cut === null) return;
    const [ax, ay, bx, by] = cut;
    const steps = Math.max(1, Math.ceil(Math.max(Math.abs(bx - ax), Math.abs(by - ay))));
    const upright = Math.abs(by - ay) > Math.abs(bx - ax);
    const { pixels, stride } = this;
    for (let k = 0; k <= steps; k += 1) {
      const x = ax + ((bx - ax) * k) / steps;
      const y = ay + ((by - ay) * k) / steps;
      // Two pixels across the line share its width, so that it has no jagged steps (X. Wu, 1991).
      const across = upright ? x : y;
      const share = Math.round((across - Math.floor(across)) * alpha);
      const at = (y | 0) * stride + (x | 0);
      pixels[at] = mixed(color, pixels[at], alpha - share);
      const beside = at + (upright ? 1 : stride);
      pixels[beside] = mixed(color, pixels[beside], share);
    }
  }
}

/** @param alpha out of 64 */
function stampOnto(
  pixels: Uint32Array,
  stamps: Stamps,
  key: number,
  middle: number,
  color: number,
  rimColor: number,
  alpha: number,
) {
  const { offsets, shares } = stamps;
  const rim = stamps.rim[key];
  const end = stamps.end[key];
  let n = stamps.start[key];
  if (alpha >= FULL) {
    const opaque = color | 0xff000000;
    for (; n < rim; n += 1) pixels[middle + offsets[n]] = opaque;
  } else {
    const [rb, g] = [(color & 0xff00ff) * alpha + 0x200020, (color & 0xff00) * alpha + 0x2000];
    const rest = FULL - alpha;
    for (; n < rim; n += 1) {
      const at = middle + offsets[n];
      const below = pixels[at];
      pixels[at] = 0xff000000 | ((((below & 0xff00ff) * rest + rb) >> 6) & 0xff00ff) |
        ((((below & 0xff00) * rest + g) >> 6) & 0xff00);
    }
  }
  const [rimRb, rimG] = [rimColor & 0xff00ff, rimColor & 0xff00];
  for (; n < end; n += 1) {
    const at = middle + offsets[n];
    const below = pixels[at];
    const share = (shares[n] * alpha) >> 6;
    const rest = FULL - share;
    pixels[at] = 0xff000000 | ((((below & 0xff00ff) * rest + rimRb * share + 0x200020) >> 6) & 0xff00ff) |
      ((((below & 0xff00) * rest + rimG * share + 0x2000) >> 6) & 0xff00);
  }
}

/** The part of a line within 0..width and 0..height (Liang and Barsky, 1984); null if there is none. */
export function cutLine(
  x0: number,
  y0: number,
  x1: number,
  y1: number,
  width: number,
  height: number,
): [number, number, number, number] | null {
  const [dx, dy] = [x1 - x0, y1 - y0];
  let [first, last] = [0, 1];
  for (const [by, room] of [[-dx, x0], [dx, width - x0], [-dy, y0], [dy, height - y0]]) {
    if (by === 0) {
      if (room < 0) return null;
    } else if (by < 0) first = Math.max(first, room / by);
    else last = Math.min(last, room / by);
  }
  return first > last ? null : [x0 + first * dx, y0 + first * dy, x0 + last * dx, y0 + last * dy];
}

/** How much larger a point with a size from 0 to 1 is; its area grows evenly. */
export const sizeOf = (size: number) => Math.sqrt(0.3 + 5.7 * size);

/** Packs a color into a pixel. */
export const pixel = ([r, g, b]: Rgb) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
