/** The view of a cloud of points: its input, and its life in the page. */
import { counted } from "../../../web/core/numbers.ts";
import * as camera from "./camera.ts";
import * as input from "./input.ts";
import * as png from "./png.ts";
import * as sprites from "./sprites.ts";
import * as svg from "./svg.ts";
import * as viewTheme from "./view_theme.ts";
import { still } from "../../../web/core/motion.ts";
import { Pace, type Stats } from "./motion.ts";
import { type Handlers, NONE } from "./view_base.ts";
import { ViewHand } from "./view_interactions.ts";
import type { Axis, Frame } from "./axes.ts";
import type { Dimensions } from "./camera.ts";
import type { Labeling } from "./labels.ts";
import type { PngOptions } from "./png.ts";
import type { Sheet } from "./sprites.ts";
import type { Around } from "./svg.ts";

/** How a point stands out: its ring. */
const MARKS = { selected: 1, neighbor: 2, focus: 3 };

export interface Placing {
  /** ms of the way from the current places of the points */
  animate?: number;
  keepCamera?: boolean;
  /** keeps several sets of places at one scale */
  frame?: Frame | null;
  /** those that count toward the scale */
  rows?: ArrayLike<number> | null;
}

/**
 * The box around points in their own coordinates, which is scaled to the cube from -1 to 1.
 * @param rows null for all
 */
export function frameOf(
  coordinates: ArrayLike<number>,
  dimensions: number,
  rows: ArrayLike<number> | null = null,
): Frame {
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

export class View extends ViewHand {
  /** The values for each point, as they were given. */
  given: { rgba: Uint8Array | null; visible: Uint8Array | null; sizes: Float32Array | null } = {
    rgba: null,
    visible: null,
    sizes: null,
  };
  /** The image that the atlas was made from. */
  spriteKey: Sheet["image"] | null = null;
  readonly detach: () => void;
  readonly observers: { disconnect(): void }[];

  constructor(host: HTMLElement, handlers: Handlers) {
    super(host, handlers);
    this.over.tabIndex = 0;
    this.over.style.touchAction = "none";
    this.over.setAttribute("role", "application");
    this.describe();
    this.detach = input.attach(this.over, this);
    const [size, theme] = [new ResizeObserver(() => this.resized()), new MutationObserver(() => this.retheme())];
    size.observe(host);
    theme.observe(document.documentElement, {
      attributes: true,
      attributeFilter: ["data-mantine-color-scheme", "class", "style"],
    });
    this.observers = [size, theme];
    this.resized();
  }

  // ---- the page

  describe() {
    const what = this.dimensions === 3 ? "arrow keys rotate it, with Shift they pan it" : "arrow keys pan it";
    this.over.setAttribute(
      "aria-label",
      `Cloud of ${counted(this.cloud.count, "point")} in ${this.dimensions}-D; ${what}, + and - zoom, 0 shows all`,
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
    cancelAnimationFrame(this.requested);
    clearTimeout(this.resting);
    this.requested = -1;
    this.detach();
    for (const observer of this.observers) observer.disconnect();
    this.base.remove();
    this.over.remove();
  }

  // ---- content

  /** Sets the places of all points, row by row. */
  setPoints(
    coordinates: Float32Array,
    dimensions: Dimensions,
    { animate = 0, keepCamera = false, frame = null, rows = null }: Placing = {},
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

  /** Makes room for another number of points; values given for the earlier points are dropped if they do not fit. */
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

  /** Applies the values given for each point, if they are for this many points. */
  takeGiven() {
    const { cloud, given } = this;
    const { count } = cloud;
    const { rgba } = given;
    if (rgba && rgba.length >= count * 4) cloud.colors = new Uint32Array(rgba.slice(0, count * 4).buffer);
    else cloud.colors = new Uint32Array(count).fill(this.theme.pixels.accent);
    cloud.visible = given.visible && given.visible.length >= count ? given.visible : null;
    cloud.sizes = given.sizes && given.sizes.length >= count ? given.sizes : null;
    this.shownCount = cloud.visible ? cloud.visible.reduce((sum, one) => sum + (one ? 1 : 0), 0) : count;
  }

  /** Makes the points' current places the ones they come from. */
  bake() {
    const { from, to, share } = this.cloud;
    if (share >= 1) from.set(to);
    else for (let i = 0; i < from.length; i += 1) from[i] += (to[i] - from[i]) * share;
  }

  /** @param rgba four bytes per point */
  setColors(rgba: Uint8Array) {
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

  setLabels(how: Labeling) {
    this.labels.set(how);
    this.redraw({ overlay: true });
  }

  /**
   * @param pairs of rows
   * @param rgba four bytes per pair
   */
  setLines(pairs: Uint32Array, rgba: Uint8Array | null = null) {
    this.lines = { pairs, rgba };
    this.redraw({ cloud: true });
  }

  setSprites(sprite: Sheet | null, show: boolean) {
    if (!sprite) {
      this.atlas = null;
      this.spriteKey = null;
    } else if (show && sprite.image !== this.spriteKey) {
      this.spriteKey = sprite.image;
      this.atlas = sprites.atlasOf(sprite);
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
  setFocus(row: number, neighbors: Uint32Array = NONE, strengths: Float32Array = new Float32Array(0)) {
    this.focus = row;
    this.neighbors = neighbors;
    this.strengths = strengths;
    this.mark();
  }

  /** Marks the points that stand out. */
  mark() {
    const { marks, count } = this.cloud;
    marks.fill(0);
    for (const row of this.neighbors) if (row < count) marks[row] = MARKS.neighbor;
    for (const row of this.selection) if (row < count) marks[row] = MARKS.selected;
    if (this.focus >= 0 && this.focus < count) marks[this.focus] = MARKS.focus;
    this.redraw({ cloud: true });
  }

  setAxes(axes: Axis[] | null) {
    this.axes = axes?.length ? axes : null;
    this.redraw({ cloud: true });
  }

  setGrid(on: boolean) {
    this.grid = on;
    this.redraw({ cloud: true });
  }

  /** Sets how large points are drawn: 1 is as large as fits their number. */
  setPointScale(scale: number) {
    this.pointScale = Math.min(8, Math.max(0.2, scale));
    this.redraw({ cloud: true });
  }

  /** How smoothly movements were painted: frames, ms between them, and ms of painting. */
  frames({ forget = false }: { forget?: boolean } = {}): Stats {
    const found = this.pace.stats();
    if (forget) this.pace.forget();
    return found;
  }

  toPng(how: PngOptions = {}): Promise<Blob> {
    return png.make(this, how);
  }

  toSvg(how: Around = {}): string {
    return svg.make(this, how);
  }
}

/**
 * Scales places into the cube.
 * @param into three numbers per point
 * @returns radius of the ball that contains them
 */
function scaled(
  coordinates: ArrayLike<number>,
  dimensions: number,
  { center, radius }: Frame,
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

export const createView = (host: HTMLElement, handlers: Handlers): View => new View(host, handlers);
