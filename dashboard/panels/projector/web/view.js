/**
 * The view of a cloud of points: what it shows, how it is looked at, and what the hand does to it.
 *
 * Its other methods are in projector_view_hand.js and projector_view_draw.js. Two canvases lie over each other: the
 * points as pixels (projector_raster.js), and over them names, rings and labels.
 */
import * as camera from "./camera.js";
import * as input from "./input.js";
import * as labels from "./labels.js";
import * as png from "./png.js";
import * as sprites from "./sprites.js";
import * as svg from "./svg.js";
import * as viewTheme from "./view_theme.js";
import { Motion, Pace, still } from "./motion.js";
import { Raster } from "./raster.js";
import { viewDrawing } from "./view_draw.js";
import { viewHand } from "./view_interactions.js";

export const MOST_RATIO = 2; // device pixels for a CSS pixel
const NONE = new Uint32Array(0);
export const MARKS = { selected: 1, neighbour: 2, focus: 3 };

/**
 * Box of points in their own coordinates: what is scaled to the cube from -1 to 1.
 * @param {ArrayLike<number>} coordinates @param {number} dimensions @param {ArrayLike<number> | null} [rows] all where null
 * @returns {{center: number[], radius: number}}
 */
export function frameOf(coordinates, dimensions, rows = null) {
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
  /** @param {HTMLElement} host @param {Record<string, (...what: any[]) => void>} handlers */
  constructor(host, handlers) {
    this.host = host;
    this.handlers = handlers;
    this.dimensions = /** @type {2|3} */ (2);
    this.mode = /** @type {"orbit" | "pan"} */ ("orbit");
    this.tool = /** @type {"pointer" | "box" | "lasso"} */ ("pointer");
    this.look = camera.first(2);
    /** Whether a person chose the camera, which then stays when points arrive; and whether that is still to be told. */
    this.touched = false;
    this.steered = false;
    this.frame = { center: [0, 0, 0], radius: 1 };
    this.cloud = { count: 0, from: new Float32Array(0), to: new Float32Array(0), share: 1, colours: new Uint32Array(0), visible: null, sizes: null, marks: new Uint8Array(0), reach: 1 };
    this.given = { rgba: /** @type {Uint8Array | null} */ (null), visible: /** @type {Uint8Array | null} */ (null), sizes: /** @type {Float32Array | null} */ (null) };
    this.selection = NONE;
    this.focus = -1;
    this.neighbours = NONE;
    this.strengths = new Float32Array(0);
    this.hovered = -1;
    this.lines = { pairs: NONE, rgba: /** @type {Uint8Array | null} */ (null) };
    this.atlas = /** @type {any} */ (null);
    this.spriteKey = /** @type {any} */ (null);
    this.sprites = false;
    this.axes = /** @type {any[] | null} */ (null);
    this.grid = false;
    this.pointScale = 1;
    this.trail = /** @type {any} */ (null);
    this.pointer = /** @type {[number, number] | null} */ (null);
    this.motion = new Motion();
    this.pace = new Pace();
    this.moving = false;
    /** Whether what lies over the points is painted on their canvas. */
    this.together = false;
    this.raster = new Raster();
    this.picks = /** @type {any} */ (null);
    this.ratio = 1;
    this.every = 1;
    this.shownCount = 0;
    this.asked = 0;
    this.resting = 0;
    this.dirty = { cloud: true, overlay: true };
    this.labels = new labels.Labels(() => this.redraw({ overlay: true }));
    this.build();
  }

  // ---- the page

  build() {
    const canvas = (/** @type {string} */ name) => {
      const element = document.createElement("canvas");
      element.className = name;
      Object.assign(element.style, { position: "absolute", inset: "0", width: "100%", height: "100%", display: "block" });
      return element;
    };
    this.base = canvas("pj-canvas");
    this.over = canvas("pj-overlay");
    // Pixels are written to it, so it is kept where they can be written to.
    this.baseContext = /** @type {CanvasRenderingContext2D} */ (this.base.getContext("2d", { alpha: false, willReadFrequently: true }));
    this.overContext = /** @type {CanvasRenderingContext2D} */ (this.over.getContext("2d"));
    this.over.tabIndex = 0;
    this.over.style.touchAction = "none";
    this.over.setAttribute("role", "application");
    if (getComputedStyle(this.host).position === "static") this.host.style.position = "relative";
    this.host.append(this.base, this.over);
    this.describe();
    this.theme = viewTheme.read(this.host);
    this.detach = input.attach(this.over, this);
    this.observers = [new ResizeObserver(() => this.resized()), new MutationObserver(() => this.retheme())];
    /** @type {ResizeObserver} */ (this.observers[0]).observe(this.host);
    /** @type {MutationObserver} */ (this.observers[1]).observe(document.documentElement, { attributes: true, attributeFilter: ["data-mantine-color-scheme", "class", "style"] });
    this.resized();
  }

  describe() {
    const what = this.dimensions === 3 ? "arrow keys turn it, with Shift they move it" : "arrow keys move it";
    this.over.setAttribute("aria-label", `Cloud of ${this.cloud.count.toLocaleString("en-US")} points in ${this.dimensions}-D; ${what}, + and - zoom, 0 shows all`);
    this.over.style.cursor = this.tool !== "pointer" ? "crosshair" : this.dimensions === 2 || this.mode === "pan" ? "move" : "grab";
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
   * @param {Float32Array} coordinates @param {2|3} dimensions
   * @param {{animate?: number, keepCamera?: boolean, frame?: {center: number[], radius: number} | null, rows?: ArrayLike<number> | null}} [how]
   *   `animate` ms from where the points are now; `frame` keeps several sets of places at one scale; `rows` are those that count for the scale
   */
  setPoints(coordinates, dimensions, { animate = 0, keepCamera = false, frame = null, rows = null } = {}) {
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

  /** Room for another number of points; what was said of the points before is forgotten where it does not fit. @param {number} count */
  room(count) {
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

  /** @param {Uint8Array} rgba four bytes for a point */
  setColours(rgba) {
    this.given.rgba = rgba;
    this.takeGiven();
    this.redraw({ cloud: true });
  }

  /** @param {Float32Array | null} sizes 0..1 */
  setSizes(sizes) {
    this.given.sizes = sizes ? sizes.map((size) => (size >= 0 ? Math.min(1, size) : 0)) : null;
    this.takeGiven();
    this.redraw({ cloud: true });
  }

  /** @param {Uint8Array | null} mask 0 hidden, 1 shown, 2 faded */
  setVisible(mask) {
    this.given.visible = mask ? mask.slice() : null;
    this.takeGiven();
    this.redraw({ cloud: true });
  }

  /** @param {{texts: (rows: Uint32Array) => any, mode: "none" | "selected" | "some" | "all"}} how */
  setLabels(how) {
    this.labels.set(how);
    this.redraw({ overlay: true });
  }

  /** @param {Uint32Array} pairs of rows @param {Uint8Array | null} [rgba] four bytes for a pair */
  setLines(pairs, rgba = null) {
    this.lines = { pairs, rgba };
    this.redraw({ cloud: true });
  }

  /** @param {{image: any, width: number, height: number, across: number} | null} sprite @param {boolean} show */
  setSprites(sprite, show) {
    if (!sprite) this.atlas = this.spriteKey = null;
    else if (show && sprite.image !== this.spriteKey) {
      const { image } = sprite;
      this.spriteKey = image;
      this.atlas = sprites.atlasOf(sprite, image.naturalWidth || image.width, image.naturalHeight || image.height);
    }
    this.sprites = Boolean(sprite && show);
    this.redraw({ cloud: true });
  }

  /** @param {Uint32Array} rows */
  setSelection(rows) {
    this.selection = rows;
    this.mark();
  }

  /** @param {number} row -1 for none @param {Uint32Array} [neighbours] @param {Float32Array} [strengths] 0..1 */
  setFocus(row, neighbours = NONE, strengths = new Float32Array(0)) {
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

  /** @param {{name: string, share?: number | null}[] | null} axes */
  setAxes(axes) {
    this.axes = axes && axes.length ? axes : null;
    this.redraw({ cloud: true });
  }

  /** @param {boolean} on */
  setGrid(on) {
    this.grid = on;
    this.redraw({ cloud: true });
  }

  /** How large points are drawn: 1 as large as fits their number. @param {number} scale */
  setPointScale(scale) {
    this.pointScale = Math.min(8, Math.max(0.2, scale));
    this.redraw({ cloud: true });
  }

  /** How smoothly movements were painted: frames, ms between them, ms of painting. @param {{forget?: boolean}} [how] */
  frames({ forget = false } = {}) {
    const found = this.pace.stats();
    if (forget) this.pace.forget();
    return found;
  }

  /** @param {{scale?: number, background?: string, title?: string, legend?: any}} [how] @returns {Promise<Blob>} */
  toPng(how = {}) {
    return png.make(this, how);
  }

  /** @param {{title?: string, legend?: any}} [how] @returns {string} */
  toSvg(how = {}) {
    return svg.make(this, how);
  }
}

/** Brings places into the cube. @param {ArrayLike<number>} coordinates @param {number} dimensions @param {{center: number[], radius: number}} frame @param {Float32Array} into three for a point @returns {number} radius of the ball that holds them */
function scaled(coordinates, dimensions, { center, radius }, into) {
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

/** @param {HTMLElement} host @param {any} handlers @returns {View} */
export const createView = (host, handlers) => {
  Object.assign(View.prototype, viewHand, viewDrawing);
  return new View(host, handlers);
};
