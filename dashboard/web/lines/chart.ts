// A line chart on two canvases: one with the drawing, and one above it with the cursor and the user's gestures.
// Whatever stays while lines change is kept as pixels; when lines change, only they are painted over a copy of those.
import { CanvasPen, fontOf, paintStrokes } from "./pen.ts";
import { Hand } from "./interactions.ts";
import {
  type AxisName,
  completed,
  layOut,
  type Mark,
  type Model,
  type Ranges,
  rangesOf,
  type Rule,
  type Scene,
  type Side,
  type Values,
  type Zoom,
} from "./scene.ts";
import {
  drawFront,
  drawStill,
  lineClip,
  mainStrokes,
  placeMarks,
  rawStrokes,
  readTheme,
  type SpanHit,
  spansAt,
  type Theme,
} from "./draw.ts";
import { drawOverlay } from "./overlay.ts";
import { loop } from "./loop.ts";
import { makeScale, type Range, type Scale } from "./scale.ts";
import { nearestIndex } from "./points.ts";

/** Something the pointer can be on: a mark or rule of the model, or spans. */
export type Hit = Mark | Rule | SpanHit;
/** The ranges that the axes show. */
export interface ShownRange {
  x: Range;
  y: Range;
  y2?: Range;
}
/** A box dragged by the user, in CSS pixels, and the axes that it zooms. */
export interface ZoomBox {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
  zooms: { x: boolean; y: boolean };
}
/** A line's point nearest to a value of x; y may be NaN. */
export interface NearestPoint {
  id: string;
  index: number;
  x: number;
  y: number;
}

export interface Hooks {
  /**
   * pointer inside the plot, at most once a frame; data units, y on the left axis; for a key, `toClient` gives the
   * position on the page
   */
  onCursor?: (x: number, y: number, event: PointerEvent | KeyboardEvent) => void;
  onLeave?: () => void;
  /** the ranges after the user zoomed or panned, and which axes changed; null on reset */
  onZoom?: (range: ShownRange & { changed: AxisName[] } | null) => void;
  onClick?: (x: number, y: number, event: PointerEvent, nearestLineId: string | null, mark: Hit | null) => void;
  /** a mark or rule of the model, or the spans at a position along the bottom, as {spans, title} */
  onMarkHover?: (mark: Hit | null, event: Event) => void;
  /** a menu was requested inside the plot */
  onMenu?: (x: number, event: MouseEvent) => void;
  /** the cursor's position was chosen with the keyboard */
  onEnter?: (x: number, event: KeyboardEvent) => void;
}

const NEAR_LINE = 14;
const NEAR_MARK = 8;
const NEAR_RULE = 4;

/** Widths of labels, measured once per font and text. */
function makeMeasure() {
  const context = document.createElement("canvas").getContext("2d")!;
  const known: Map<string, number> = new Map();
  return (family: string) => (text: string) => {
    const key = family + "\n" + text;
    let width = known.get(key);
    if (width === undefined) {
      context.font = fontOf(family);
      width = context.measureText(text).width;
      if (known.size > 20000) known.clear();
      known.set(key, width);
    }
    return width;
  };
}
export const measureIn = makeMeasure();

function emptyCanvas(className: string): HTMLCanvasElement {
  const made = document.createElement("canvas");
  made.width = made.height = 0;
  made.className = className;
  made.setAttribute("aria-hidden", "true");
  return made;
}

/** The earliest step that has to be redone; every step requires those after it. */
const STEPS = { still: 0, raw: 1, lines: 2, overlay: 3, nothing: 4 };

export class Chart {
  element: HTMLElement;
  hooks: Hooks;
  model = completed({});
  /** the ranges that the user has chosen */
  zoom: Zoom = {};
  ranges: Ranges;
  size: { width: number; height: number };
  seen = false;
  todo = STEPS.still;
  lit: Set<string> | null = null;
  cursor: number | null = null;
  measures: { a: number | null; b: number | null } = { a: null, b: null };
  box: ZoomBox | null = null;
  scene: Scene | null = null;
  hand: Hand;
  /** Whether the page provides a name for it. */
  named = false;
  base = emptyCanvas("curves-base");
  over = emptyCanvas("curves-over");
  stillPixels: Uint32Array | null = null;
  rawPixels: Uint32Array | null = null;
  image: ImageData | null = null;
  ratio = 1;
  theme: Theme;

  /** @param element filled by the chart */
  constructor(element: HTMLElement, hooks: Hooks = {}) {
    this.element = element;
    this.hooks = hooks;
    this.theme = readTheme(element);
    this.ranges = rangesOf(this.model, this.zoom);
    this.size = { width: element.clientWidth, height: element.clientHeight };
    this.buildElements();
    this.hand = new Hand(this);
    loop.add(this);
  }

  buildElements() {
    const { element } = this;
    element.classList.add("curves");
    element.tabIndex = 0;
    element.setAttribute("role", "img");
    this.named = element.hasAttribute("aria-label");
    element.replaceChildren(this.base, this.over);
    this.name();
  }

  name() {
    if (this.named) return;
    const { lines } = this.model;
    const labels = lines.slice(0, 10).map((line) => line.label);
    const more = lines.length > 10 ? ` and ${lines.length - 10} more` : "";
    this.element.setAttribute(
      "aria-label",
      lines.length ? `Line chart of ${labels.join(", ")}${more}` : "Line chart without data",
    );
  }

  /** Whether the user is zooming and no hook has been called for it yet. */
  isHeld() {
    return this.hand.rest !== null || this.hand.drag !== null;
  }

  /** Shows another model, in the next frame. A range in the model replaces the user's previous choice on that axis. */
  setModel(model: Partial<Model>) {
    this.model = completed(model);
    for (const axis of ["x", "y", "y2"] as const) {
      if (!this.model[axis] || (this.model[axis]?.range && !this.isHeld())) delete this.zoom[axis];
    }
    this.ranges = rangesOf(this.model, this.zoom);
    this.name();
    this.ask(STEPS.still);
  }

  /**
   * Changes the y values of lines, each array as long as the line's x.
   * @param updates y values by line id
   */
  setLines(updates: Map<string, Values>) {
    const lines = this.model.lines.map((line) => ({ ...line, y: updates.get(line.id) ?? line.y }));
    this.model = { ...this.model, lines };
    const before = JSON.stringify(this.ranges);
    this.ranges = rangesOf(this.model, this.zoom);
    if (this.scene) this.scene.model = this.model;
    this.ask(JSON.stringify(this.ranges) === before ? STEPS.lines : STEPS.still);
  }

  /** Emphasizes lines and dims the others; null ends it. */
  highlight(ids: Iterable<string> | null) {
    const lit = ids ? new Set(ids) : null;
    const same = (!lit && !this.lit) ||
      (lit && this.lit && lit.size === this.lit.size && [...lit].every((id) => this.lit?.has(id)));
    if (same) return;
    this.lit = lit;
    this.ask(STEPS.raw);
  }

  /** A vertical line at x and a dot on every line at its nearest point; null ends it. */
  showCursor(x: number | null) {
    if (x === this.cursor) return;
    this.cursor = x;
    this.ask(STEPS.overlay);
  }

  /** Two measuring marks, in data units of x. */
  setMarks2(a: number | null, b: number | null) {
    this.measures = { a, b };
    this.ask(STEPS.overlay);
  }

  /** Zooms programmatically, or returns to the model's ranges: no hook is called. */
  setZoom(zoom: Zoom | null) {
    this.zoom = { ...zoom };
    this.ranges = rangesOf(this.model, this.zoom);
    this.ask(STEPS.still);
  }

  /** The point of each line nearest to x; y may be NaN. */
  nearest(x: number): NearestPoint[] {
    const found: NearestPoint[] = [];
    for (const line of this.model.lines) {
      const index = nearestIndex(line.x, x);
      if (index >= 0) found.push({ id: line.id, index, x: line.x[index], y: line.y[index] });
    }
    return found;
  }

  /** The ranges that the axes show. */
  visibleRange(): ShownRange {
    const { x, y, y2 } = this.ranges;
    return { x: [...x], y: [...y], ...(y2 ? { y2: [...y2] as Range } : {}) };
  }

  /** The position on the page of a point in data units, for boxes beside it. */
  toClient(x: number, y: number): { clientX: number; clientY: number } {
    const area = this.element.getBoundingClientRect();
    const scene = this.scene || this.makeScene();
    return { clientX: area.left + scene.sx.toPx(x), clientY: area.top + scene.sy.toPx(y) };
  }

  /** The vertical position of a value on the element, from its top. */
  heightOf(y: number, axis: Side): number {
    const scene = this.scene || this.makeScene();
    return ((axis === "y2" && scene.sy2) || scene.sy).toPx(y);
  }

  pictureSize() {
    const { width, height } = this.size;
    return width && height ? { width, height } : { width: 640, height: 360 };
  }

  /** Removes the chart and leaves the element empty. */
  destroy() {
    loop.remove(this);
    all.delete(this);
    this.hand.destroy();
    this.release();
    this.element.replaceChildren();
    this.element.classList.remove("curves");
  }

  /** @param step the earliest of STEPS to redo */
  ask(step: number) {
    this.todo = Math.min(this.todo, step);
    loop.draw(this);
  }

  askOverlay() {
    this.ask(STEPS.overlay);
  }

  resize(width: number, height: number) {
    if (width === this.size.width && height === this.size.height && this.base.width) return;
    this.size = { width, height };
    this.ask(STEPS.still);
  }

  /** Releases the memory of the pixels. */
  release() {
    this.stillPixels = this.rawPixels = this.image = null;
    this.base.width =
      this.base.height =
      this.over.width =
      this.over.height =
        0;
    this.todo = STEPS.still;
  }

  makeScene() {
    return layOut(this.model, this.ranges, this.pictureSize(), measureIn(getComputedStyle(this.element).fontFamily));
  }

  /** Draws whatever is outdated; called by the loop. */
  draw() {
    const { width, height } = this.size;
    if (!width || !height) return;
    const todo = this.todo;
    this.todo = STEPS.nothing;
    if (todo <= STEPS.still) this.drawStill();
    if (todo <= STEPS.raw) this.drawRaw();
    if (todo <= STEPS.lines) this.drawLines();
    if (todo <= STEPS.still) this.hand.laidOut();
    this.drawOverlay();
  }

  fit(canvas: HTMLCanvasElement, wide: number, high: number) {
    if (canvas.width === wide && canvas.height === high) return;
    canvas.width = wide;
    canvas.height = high;
    canvas.style.width = this.size.width + "px";
    canvas.style.height = this.size.height + "px";
  }

  drawStill() {
    this.ratio = window.devicePixelRatio || 1;
    const [wide, high] = [Math.round(this.size.width * this.ratio), Math.round(this.size.height * this.ratio)];
    this.fit(this.base, wide, high);
    this.fit(this.over, wide, high);
    this.theme = readTheme(this.element);
    const measure = measureIn(this.theme.family);
    this.scene = layOut(this.model, this.ranges, this.size, measure);
    const context = sketch(wide, high);
    drawStill(new CanvasPen(context, this.ratio, this.theme.family), this.scene, this.theme, measure);
    this.stillPixels = new Uint32Array(context.getImageData(0, 0, wide, high).data.buffer);
    if (!this.image || this.image.width !== wide || this.image.height !== high) this.image = new ImageData(wide, high);
  }

  drawRaw() {
    const { scene, image, stillPixels } = this;
    if (!scene || !image || !stillPixels) return;
    const strokes = scene.tiny ? [] : rawStrokes(scene, this.lit);
    this.rawPixels = stillPixels;
    if (!strokes.length) return;
    const { width, height } = image;
    this.rawPixels = stillPixels.slice();
    paintStrokes({ pixels: this.rawPixels, width, height }, strokes, lineClip(scene), this.ratio);
  }

  drawLines() {
    const { scene, image, rawPixels } = this;
    if (!scene || !image || !rawPixels) return;
    const pixels = new Uint32Array(image.data.buffer);
    pixels.set(rawPixels);
    const strokes = scene.tiny ? [] : mainStrokes(scene, this.lit);
    const clip = lineClip(scene);
    const dashed = paintStrokes({ pixels, width: image.width, height: image.height }, strokes, clip, this.ratio);
    const context = this.base.getContext("2d")!;
    context.putImageData(image, 0, 0);
    const pen = new CanvasPen(context, this.ratio, this.theme.family);
    pen.dashed(dashed, clip);
    drawFront(pen, scene, this.theme);
  }

  drawOverlay() {
    drawOverlay(this);
  }

  /** The x axis as it will be drawn next, which may be ahead of the drawn one. */
  coming(): Scale | null {
    if (!this.scene) return null;
    const { plot } = this.scene;
    return makeScale(this.model.x.scale, this.ranges.x, plot.x, plot.x + plot.w);
  }

  /** The data units of a position on the element, and whether it is in the plot. */
  placeOf(px: number, py: number) {
    if (!this.scene || this.scene.tiny) return null;
    const { plot, sx, sy } = this.scene;
    const inside = px >= plot.x && px <= plot.x + plot.w && py >= plot.y && py <= plot.y + plot.h;
    return { px, py, x: sx.toData(px), y: sy.toData(py), inside };
  }

  /** The line that passes nearest to a position on the element; null if none is close. */
  lineAt(px: number, py: number): string | null {
    if (!this.scene) return null;
    let best: string | null = null;
    let least = NEAR_LINE;
    const { sx, sy, sy2 } = this.scene;
    for (const line of this.model.lines) {
      const scale = (line.axis === "y2" && sy2) || sy;
      const index = nearestIndex(line.x, sx.toData(px));
      if (index < 0) continue;
      const at = (i: number): Point => [sx.toPx(line.x[i]), scale.toPx(line.y[i])];
      for (const i of [index - 1, index]) {
        const d = distance([px, py], at(Math.max(i, 0)), at(Math.min(i + 1, line.x.length - 1)));
        if (d < least) {
          best = line.id;
          least = d;
        }
      }
    }
    return best;
  }

  /** The mark, rule or spans at a position on the element. */
  markAt(px: number, py: number): Hit | null {
    if (!this.scene) return null;
    const { plot, sx } = this.scene;
    let best: Mark | null = null;
    let least = NEAR_MARK;
    for (const { mark, x, y } of placeMarks(this.scene)) {
      const d = Math.hypot(px - x, py - y);
      if (d < least) {
        best = mark;
        least = d;
      }
    }
    if (best || py < plot.y || py > plot.y + plot.h || px < plot.x || px > plot.x + plot.w) return best;
    const rule = this.model.rules.find(({ x }) => Math.abs(sx.toPx(x) - px) < NEAR_RULE);
    if (rule) return rule;
    return spansAt(this.scene, px, py);
  }
}

type Point = [number, number];

/** The distance from a point to the segment between two others, which may coincide. NaN counts as far away. */
function distance([x, y]: Point, [xa, ya]: Point, [xb, yb]: Point) {
  const first = Math.hypot(x - xa, y - ya);
  const length = (xb - xa) ** 2 + (yb - ya) ** 2;
  if (!(length > 0)) return Number.isNaN(first) ? Math.hypot(x - xb, y - yb) : first;
  const t = Math.min(1, Math.max(0, ((x - xa) * (xb - xa) + (y - ya) * (yb - ya)) / length));
  return Math.hypot(x - xa - t * (xb - xa), y - ya - t * (yb - ya));
}

/** A canvas to draw on and read from, shared by all charts. */
function makeSketch() {
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true })!;
  return (wide: number, high: number) => {
    if (context.canvas.width !== wide || context.canvas.height !== high) {
      context.canvas.width = wide;
      context.canvas.height = high;
    }
    return context;
  };
}

const sketch = makeSketch();
const all: Set<Chart> = new Set();
/** Creates a chart that fills the element. */
function create(element: HTMLElement, hooks: Hooks) {
  const chart = new Chart(element, hooks);
  all.add(chart);
  return chart;
}
/** Redraws all charts after the page's colors have changed. */
function redrawAll() {
  all.forEach((chart) => chart.ask(STEPS.still));
}

export { all, create, redrawAll, sketch };
