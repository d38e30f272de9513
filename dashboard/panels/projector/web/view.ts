// @ts-nocheck
/**
 * The view of a cloud of points: what it shows, how it is looked at, and what the hand does to it.
 *
 * Its other methods are in projector_view_hand.js and projector_view_draw.js. Two canvases lie over each other: the
 * points as pixels (projector_raster.js), and over them names, rings and labels.
 */
import * as camera from "./camera.ts";
import * as input from "./input.ts";
import * as labels from "./labels.ts";
import * as png from "./png.ts";
import * as sprites from "./sprites.ts";
import * as svg from "./svg.ts";
import * as viewTheme from "./view_theme.ts";
import { Motion, Pace, still } from "./motion.ts";
import { Raster } from "./raster.ts";
import { viewDrawing } from "./view_draw.ts";
import { viewHand } from "./view_interactions.ts";

export const MOST_RATIO = 2; // device pixels for a CSS pixel
const NONE = new Uint32Array(0);
export const MARKS = { selected: 1, neighbour: 2, focus: 3 };

/**
 * Box of points in their own coordinates: what is scaled to the cube from -1 to 1.
 * @param rows all where null
 */
export function frameOf(
  coordinates: ArrayLike<number>,
  dimensions: number,
  rows: ArrayLike<number> | null = null,
): { center: number[]; radius: number } {
  const low = [Infinity, Infinity, Infinity].slice(0, dimensions);
  const high = low.map(() => -Infinity);
  const count = rows ? rows.length : coordinates.length / dimensions;
  for (let n = 0; n < count; n += 1) {
    const at = (rows ? rows[n] : n) * dimensions;
    for (let k = 0; k < dimensions; k += 1) {
      const value = coordinates[at + k];
      if (value < low[k]) low[k] = value;
      if (value > high[k]) high[k] = value;
    }
  }
  const center = [0, 1, 2].map((k) => (k < dimensions && count ? low[k] + (high[k] - low[k]) / 2 : 0));
  const radius = Math.max(...low.map((value, k) => (high[k] - value) / 2));
  return { center, radius: radius > 0 && Number.isFinite(radius) ? radius : 1 };
}

export class View {
  host;
  handlers;
  dimensions: 2 | 3 = 2;
  mode: "orbit" | "pan" = "orbit";
  tool: "pointer" | "box" | "lasso" = "pointer";
  look = camera.first(2);
  /** Whether a person chose the camera, which then stays when points arrive; and whether that is still to be told. */
  touched = false;
  steered = false;
  frame = { center: [0, 0, 0], radius: 1 };
  cloud = {
    count: 0,
    from: new Float32Array(0),
    to: new Float32Array(0),
    share: 1,
    colours: new Uint32Array(0),
    visible: null,
    sizes: null,
    marks: new Uint8Array(0),
    reach: 1,
  };
  given = { rgba: null as Uint8Array | null, visible: null as Uint8Array | null, sizes: null as Float32Array | null };
  selection = NONE;
  focus = -1;
  neighbours = NONE;
  strengths = new Float32Array(0);
  hovered = -1;
  lines = { pairs: NONE, rgba: null as Uint8Array | null };
  atlas: any = null;
  spriteKey: any = null;
  sprites = false;
  axes: any[] | null = null;
  grid = false;
  pointScale = 1;
  trail: any = null;
  pointer: [number, number] | null = null;
  motion = new Motion();
  pace = new Pace();
  moving = false;
  /** Whether what lies over the points is painted on their canvas. */
  together = false;
  raster = new Raster();
  picks: any = null;
  ratio = 1;
  every = 1;
  shownCount = 0;
  asked = 0;
  resting = 0;
  dirty = { cloud: true, overlay: true };
  labels;
  base: any;
  over: any;
  baseContext: any;
  overContext: any;
  theme: any;
  detach: any;
  observers: any;
  width: any;
  height: any;

  constructor(host: HTMLElement, handlers: Record<string, (...what: any[]) => void>) {
    this.host = host;
    this.handlers = handlers;
    this.labels = new labels.Labels(() => this.redraw({ overlay: true }));
    this.build();
  }

  // ---- the page

  build() {
    const canvas = (name: string) => {
      const element = document.createElement("canvas");
      element.className = name;
      Object.assign(element.style, {
        position: "absolute",
        inset: "0",
        width: "100%",
        height: "100%",
        display: "block",
      });
      return element;
    };
    this.base = canvas("pj-canvas");
    this.over = canvas("pj-overlay");
    // Pixels are written to it, so it is kept where they can be written to.
    this.baseContext = this.base.getContext("2d", {
      alpha: false,
      willReadFrequently: true,
    }) as CanvasRenderingContext2D;
    this.overContext = this.over.getContext("2d") as CanvasRenderingContext2D;
    this.over.tabIndex = 0;
    this.over.style.touchAction = "none";
    this.over.setAttribute("role", "application");
    if (getComputedStyle(this.host).position === "static") this.host.style.position = "relative";
    this.host.append(this.base, this.over);
    this.describe();
    this.theme = viewTheme.read(this.host);
    this.detach = input.attach(this.over, this);
    this.observers = [new ResizeObserver(() => this.resized()), new MutationObserver(() => this.retheme())];
    (this.observers[0] as ResizeObserver).observe(this.host);
    (this.observers[1] as MutationObserver).observe(document.documentElement, {
      attributes: true,
      attributeFilter: ["data-mantine-color-scheme", "class", "style"],
    });
    this.resized();
  }

  describe() {
    const what = this.dimensions === 3 ? "arrow keys turn it, with Shift they move it" : "arrow keys move it";
    this.over.setAttribute(
      "aria-label",
      `Cloud of ${
        this.cloud.count.toLocaleString("en-US")
      } points in ${this.dimensions}-D; ${what}, + and - zoom, 0 shows all`,
    );
    this.over.style.cursor = this.tool !== "pointer"
      ? "crosshair"
      : this.dimensions === 2 || this.mode === "pan"
      ? "move"
      : "grab";
  }

  resized() {
    const [width, height] = [this.host.clientWidth, this.host.clientHeight];
    if (width === this.width && height === this.height) return;
    this.width = width;
    this.height = height;
    if (!this.touched) this.look = this.fitting(null);
    this.redraw({ cloud: true });
  }

  retheme() {
    this.theme = viewTheme.read(this.host);
    this.takeGiven();
    this.redraw({ cloud: true });
  }

  destroy() {
    cancelAnimationFrame(this.asked);
    clearTimeout(this.resting);
    this.asked = -1;
    this.detach();
    for (const observer of this.observers) observer.disconnect();
    this.base.remove();
    this.over.remove();
  }

  // ---- what is shown

  /**
   * Places of all points, row by row.
   * @param how `animate` ms from where the points are now; `frame` keeps several sets of places at one scale; `rows` are those that count for the scale
   */
  setPoints(
    coordinates: Float32Array,
    dimensions: 2 | 3,
    { animate = 0, keepCamera = false, frame = null, rows = null }: {
      animate?: number;
      keepCamera?: boolean;
      frame?: { center: number[]; radius: number } | null;
      rows?: ArrayLike<number> | null;
    } = {},
  ) {
    const { cloud } = this;
    const count = Math.floor(coordinates.length / dimensions);
    const glide = animate > 0 && count === cloud.count && count > 0 && !still();
    if (count !== cloud.count) this.room(count);
    if (glide) this.bake();
    this.frame = frame ?? frameOf(coordinates, dimensions, rows);
    cloud.reach = scaled(coordinates, dimensions, this.frame, cloud.to);
    if (!glide) cloud.from.set(cloud.to);
    cloud.share = glide ? 0 : 1;
    this.motion.mix = glide ? { began: performance.now(), ms: animate } : null;
    if (dimensions !== this.dimensions) {
      this.dimensions = dimensions;
      this.look = camera.first(dimensions);
      this.touched = false;
      this.motion.stop();
      this.describe();
    } else if (!keepCamera) this.touched = false;
    if (!this.touched) this.go(this.fitting(null), glide ? animate : 0);
    this.redraw({ cloud: true });
  }

  /** Room for another number of points; what was said of the points before is forgotten where it does not fit. */
  room(count: number) {
    const { cloud } = this;
    cloud.count = count;
    cloud.from = new Float32Array(count * 3);
    cloud.to = new Float32Array(count * 3);
    cloud.marks = new Uint8Array(count);
    this.pace = new Pace();
    this.hovered = -1;
    this.takeGiven();
    this.mark();
    this.describe();
  }

  /** What was given for each point, if it is for this many points. */
  takeGiven() {
    const { cloud, given } = this;
    const { count } = cloud;
    const { rgba } = given;
    if (rgba && rgba.length >= count * 4) cloud.colours = new Uint32Array(rgba.slice(0, count * 4).buffer);
    else cloud.colours = new Uint32Array(count).fill(this.theme.pixels.plain);
    cloud.visible = given.visible && given.visible.length >= count ? given.visible : null;
    cloud.sizes = given.sizes && given.sizes.length >= count ? given.sizes : null;
    this.shownCount = cloud.visible ? cloud.visible.reduce((sum, one) => sum + (one ? 1 : 0), 0) : count;
  }

  /** Takes where the points are now as where they come from. */
  bake() {
    const { from, to, share } = this.cloud;
    if (share >= 1) from.set(to);
    else for (let i = 0; i < from.length; i += 1) from[i] += (to[i] - from[i]) * share;
  }

  /** @param rgba four bytes for a point */
  setColours(rgba: Uint8Array) {
    this.given.rgba = rgba;
    this.takeGiven();
    this.redraw({ cloud: true });
  }

  /** @param sizes 0..1 */
  setSizes(sizes: Float32Array | null) {
    this.given.sizes = sizes ? sizes.map((size) => (size >= 0 ? Math.min(1, size) : 0)) : null;
    this.takeGiven();
    this.redraw({ cloud: true });
  }

  /** @param mask 0 hidden, 1 shown, 2 faded */
  setVisible(mask: Uint8Array | null) {
    this.given.visible = mask ? mask.slice() : null;
    this.takeGiven();
    this.redraw({ cloud: true });
  }

  setLabels(how: { texts: (rows: Uint32Array) => any; mode: "none" | "selected" | "some" | "all" }) {
    this.labels.set(how);
    this.redraw({ overlay: true });
  }

  /**
   * @param pairs of rows
   * @param rgba four bytes for a pair
   */
  setLines(pairs: Uint32Array, rgba: Uint8Array | null = null) {
    this.lines = { pairs, rgba };
    this.redraw({ cloud: true });
  }

  setSprites(sprite: { image: any; width: number; height: number; across: number } | null, show: boolean) {
    if (!sprite) this.atlas = this.spriteKey = null;
    else if (show && sprite.image !== this.spriteKey) {
      const { image } = sprite;
      this.spriteKey = image;
      this.atlas = sprites.atlasOf(sprite, image.naturalWidth || image.width, image.naturalHeight || image.height);
    }
    this.sprites = Boolean(sprite && show);
    this.redraw({ cloud: true });
  }

  setSelection(rows: Uint32Array) {
    this.selection = rows;
    this.mark();
  }

  /**
   * @param row -1 for none
   * @param strengths 0..1
   */
  setFocus(row: number, neighbours: Uint32Array = NONE, strengths: Float32Array = new Float32Array(0)) {
    this.focus = row;
    this.neighbours = neighbours;
    this.strengths = strengths;
    this.mark();
  }

  /** Notes which points stand out. */
  mark() {
    const { marks, count } = this.cloud;
    marks.fill(0);
    for (const row of this.neighbours) if (row < count) marks[row] = MARKS.neighbour;
    for (const row of this.selection) if (row < count) marks[row] = MARKS.selected;
    if (this.focus >= 0 && this.focus < count) marks[this.focus] = MARKS.focus;
    this.redraw({ cloud: true });
  }

  setAxes(axes: { name: string; share?: number | null }[] | null) {
    this.axes = axes && axes.length ? axes : null;
    this.redraw({ cloud: true });
  }

  setGrid(on: boolean) {
    this.grid = on;
    this.redraw({ cloud: true });
  }

  /** How large points are drawn: 1 as large as fits their number. */
  setPointScale(scale: number) {
    this.pointScale = Math.min(8, Math.max(0.2, scale));
    this.redraw({ cloud: true });
  }

  /** How smoothly movements were painted: frames, ms between them, ms of painting. */
  frames({ forget = false }: { forget?: boolean } = {}) {
    const found = this.pace.stats();
    if (forget) this.pace.forget();
    return found;
  }

  toPng(how: { scale?: number; background?: string; title?: string; legend?: any } = {}): Promise<Blob> {
    return png.make(this, how);
  }

  toSvg(how: { title?: string; legend?: any } = {}): string {
    return svg.make(this, how);
  }
}

/**
 * Brings places into the cube.
 * @param into three for a point
 * @returns radius of the ball that holds them
 */
function scaled(
  coordinates: ArrayLike<number>,
  dimensions: number,
  { center, radius }: { center: number[]; radius: number },
  into: Float32Array,
): number {
  const by = 1 / radius;
  const [cx, cy, cz] = center;
  let far = 0;
  for (let at = 0, to = 0; to < into.length; at += dimensions, to += 3) {
    const x = (coordinates[at] - cx) * by;
    const y = (coordinates[at + 1] - cy) * by;
    const z = dimensions === 3 ? (coordinates[at + 2] - cz) * by : 0;
    into[to] = x;
    into[to + 1] = y;
    into[to + 2] = z;
    far = Math.max(far, x * x + y * y + z * z);
  }
  return Math.max(1e-3, Math.sqrt(far));
}

export const createView = (host: HTMLElement, handlers: any): View => {
  Object.assign(View.prototype, viewHand, viewDrawing);
  return new View(host, handlers);
};
