/** Parallel coordinates: one axis per column, one line per row; the brushes on the axes together form a selection. */
import { fit } from "../../../web/core/canvas_text.ts";
import { make } from "../../../web/core/dom.ts";
import { view } from "../../../web/page/view.ts";
import { type Bounds, type Brushes, brushesIn, inside, moved, widened, written } from "./brushes.ts";
import {
  canvas,
  type Coloring,
  hideTip,
  ink,
  nextScale,
  onTaps,
  reachOf,
  scaleOf,
  showTip,
  within,
} from "./drawing.ts";
import { between, greatest } from "./density.ts";
import { drawStrengths, rowsDrawn, type Shade, shadesOf } from "./shades.ts";
import type { ShownColumn } from "./payload.ts";
import type { Scale } from "./scales.ts";
import { settings } from "./settings.generated.ts";
import { clear, columns, data, firstRows, pairs as pairsIn, pick, select, selectedRows } from "./state.ts";

const HEIGHT = 322;
const TOP = 66;
const BOTTOM = HEIGHT - 34;
const LEAST_SPACING = 66;
/** Space for the ticks of the last axis. */
const SIDE = 64;
const REACH = 14;
/** Bins of an axis: as many as can be distinguished. */
const MOST_BINS = 96;
/** Where a value without a place on its axis is drawn. */
const NOWHERE = BOTTOM + 18;

interface Axis {
  column: ShownColumn;
  scale: Scale;
  x: number;
  /** One for each row. */
  ys: Float64Array;
  /** Whether some row has no place on the axis. */
  missing: boolean;
}

type Active = ReadonlySet<number> | null;

const inRange = (share: number) => Math.min(1, Math.max(0, share));
const yOf = (place: number) => (Number.isNaN(place) ? NOWHERE : BOTTOM - place * (BOTTOM - TOP));
const placeOf = (y: number) => inRange((BOTTOM - y) / (BOTTOM - TOP));

/** The columns in axis order: those that were moved, then the others in their own order. */
function inOrder(): ShownColumn[] {
  const all = columns();
  const first = view.read(settings.order).flatMap((key) => all.find((column) => column.key === key) ?? []);
  // A column that differs within every group has no value of its own, and therefore no axis.
  return [...new Set([...first, ...all])].filter(({ place }) => data().rows.some((row) => row.v[place] !== null));
}

/** Moves an axis by a number of places. */
export function moveAxis(key: string, by: number): void {
  const keys = inOrder().map((column) => column.key);
  const from = keys.indexOf(key);
  if (from >= 0) view.write(settings.order, moved(keys, from, from + by));
}

const brushes = (): Brushes => brushesIn(pairsIn(settings.brush));

/** The height of a brush's bound; `side` is 1 for the upper, -1 for the lower. */
function edgeOf({ kind, labels, place }: Scale, bound: number, side: number): number {
  return yOf(kind === "category" ? (bound + 0.5 + side * 0.4) / labels.length : place(bound));
}

// --- drawing -----------------------------------------------------------------------------------------------

function line(context: CanvasRenderingContext2D, axes: Axis[], at: number): void {
  context.beginPath();
  axes.forEach(({ x, ys }, index) => (index ? context.lineTo(x, ys[at]) : context.moveTo(x, ys[at])));
  context.stroke();
}

/** Draws all rows faintly, behind the active ones. */
function drawFaint(context: CanvasRenderingContext2D, axes: Axis[]): void {
  const { rows } = data();
  context.strokeStyle = ink("ink-dim");
  context.globalAlpha = Math.max(0.05, Math.min(0.2, 40 / rows.length));
  rows.forEach((_row, at) => line(context, axes, at));
}

/** Draws all sessions as a shade: stronger where more of them pass through. */
function drawShades(context: CanvasRenderingContext2D, axes: Axis[], shades: (Shade | null)[]): void {
  const heights = ({ middles }: Shade["first"]) => [...middles.map(yOf), NOWHERE];
  const width = Math.max(1, Math.round(axes[1].x - axes[0].x));
  const gaps = shades.map((shade) =>
    shade && between(shade.counts, [heights(shade.first), heights(shade.second)], width, HEIGHT)
  );
  const most = Math.max(...gaps.map((gap) => greatest(gap ?? [])));
  gaps.forEach((gap, at) => gap && drawStrengths(context, gap, width, most, axes[at].x));
}

function drawLines(context: CanvasRenderingContext2D, axes: Axis[], { colors }: Coloring, active: Active): void {
  context.lineJoin = "round";
  const count = active ? active.size : colors.length;
  context.globalAlpha = Math.max(0.22, Math.min(0.9, 12 / Math.sqrt(count)));
  // One-pixel lines are drawn several times as fast as thicker ones.
  context.lineWidth = count < 12 ? 2 : count < 300 ? 1.2 : 1;
  colors.forEach((color, at) => {
    if (active && !active.has(at)) return;
    context.strokeStyle = color;
    line(context, axes, at);
  });
  context.globalAlpha = 1;
}

function drawAxes(context: CanvasRenderingContext2D, axes: Axis[], bounds: Brushes): void {
  const [soft, dim, accent, surface] = ["ink-soft", "ink-dim", "accent", "surface"].map(ink);
  const spacing = axes.length > 1 ? axes[1].x - axes[0].x : LEAST_SPACING;
  for (const { x, column, scale, missing } of axes) {
    context.strokeStyle = dim;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(x, TOP);
    context.lineTo(x, BOTTOM);
    context.stroke();
    context.textAlign = "left";
    context.textBaseline = "middle";
    context.lineWidth = 3;
    context.strokeStyle = surface;
    const write = (text: string, y: number, color: string) => {
      const fitted = fit(context, text, spacing - 14);
      context.strokeText(fitted, x + 6, y);
      context.fillStyle = color;
      context.fillText(fitted, x + 6, y);
    };
    for (const { at, label } of scale.ticks) {
      const y = yOf(at);
      context.fillStyle = dim;
      // On the other side of the axis: before the label, it would look like a minus sign.
      context.fillRect(x - 5, y - 0.5, 5, 1);
      // At the ends, the label goes beyond them: lines run the other way.
      write(label, y + (y < TOP + 5 ? -7 : y > BOTTOM - 5 ? 7 : 0), soft);
    }
    if (missing) write("none", NOWHERE, dim);
    const bound = bounds.get(column.key);
    if (bound) {
      const clamped = (y: number) => Math.min(BOTTOM, Math.max(TOP, y));
      const [low, high] = [clamped(edgeOf(scale, bound[0], -1)), clamped(edgeOf(scale, bound[1], 1))];
      context.fillStyle = accent;
      context.globalAlpha = 0.28;
      context.fillRect(x - 7, high, 14, Math.max(2, low - high));
      context.globalAlpha = 1;
      context.fillRect(x - 7, high - 1, 14, 2);
      context.fillRect(x - 7, low - 1, 14, 2);
    }
  }
}

// --- axis heads --------------------------------------------------------------------------------------------

/** A name that may wrap after its separators. */
const breakable = (name: string) => name.split(/(?<=[_/.-])/).flatMap((part) => [part, make("wbr")]);

/** The name and scale of an axis; the name can be dragged. */
function axisHead({ column, scale, x }: Axis, spacing: number, whole: number): HTMLElement {
  const about = column.about ? `${column.label}: ${column.about}` : column.label;
  const name = make("button", {
    className: "hparams-axis-name",
    title: `${about}\nDrag to move, or Alt and arrow keys`,
  }, ...breakable(column.label));
  name.dataset.focus = "axis " + column.key;
  name.dataset.kind = column.kind;
  const place = make("div", { className: "hparams-axis" }, name);
  place.dataset.key = column.key;
  place.style.left = x - 8 + "px";
  place.style.width = Math.min(spacing, whole - x + 4) - 2 + "px";
  if (scale.kind !== "category" && scale.ticks.length) {
    const title = "Scale: linear, log or quantile";
    const kind = make("button", { className: "hparams-axis-scale", title }, scale.kind);
    kind.dataset.focus = "scale " + column.key;
    kind.onclick = () => nextScale(column);
    place.append(kind);
  }
  name.onpointerdown = (event) => {
    if (event.button) return;
    name.setPointerCapture(event.pointerId);
    let by = 0;
    name.onpointermove = (move) => {
      by = move.clientX - event.clientX;
      place.classList.toggle("moving", Math.abs(by) > 4);
      place.style.translate = by + "px";
    };
    name.onpointerup = () => {
      name.onpointermove = name.onpointerup = null;
      place.classList.remove("moving");
      place.style.translate = "";
      const places = Math.round(by / spacing);
      if (places) moveAxis(column.key, places);
    };
  };
  return place;
}

// --- the pointer -------------------------------------------------------------------------------------------

/** The row whose line passes nearest, within a number of pixels; -1 if none does. */
function nearest(axes: Axis[], active: Active, x: number, y: number, reach: number): number {
  if (!axes.length) return -1;
  const found = axes.findIndex((axis) => axis.x >= x);
  const after = Math.max(1, found === -1 ? axes.length - 1 : found);
  const [left, right] = [axes[after - 1], axes[after] ?? axes[after - 1]];
  const share = right.x > left.x ? inRange((x - left.x) / (right.x - left.x)) : 0;
  let best = -1;
  let distance = reach;
  for (let at = 0; at < left.ys.length; at += 1) {
    if (active && !active.has(at)) continue;
    const slope = (right.ys[at] - left.ys[at]) / (right.x - left.x || 1);
    const away = Math.abs(left.ys[at] + share * (right.ys[at] - left.ys[at]) - y) / Math.hypot(1, slope);
    if (away < distance) [best, distance] = [at, away];
  }
  return best;
}

/** The axes that are scrolled into view, and one more on either side. */
function inSight(box: HTMLElement, axes: Axis[]): Axis[] {
  const { scrollLeft, clientWidth } = box.parentElement ?? box;
  const reach = axes.length > 1 ? axes[1].x - axes[0].x : 0;
  return axes.filter(({ x }) => x >= scrollLeft - reach && x <= scrollLeft + clientWidth + reach);
}

type DrawBase = (active: Active, bounds: Brushes, drawn?: Axis[]) => void;

/** The bounds between two heights. */
function boundsOf(scale: Scale, upper: number, lower: number): Bounds {
  const [low, high] = [placeOf(lower), placeOf(upper)];
  const count = scale.labels.length;
  return scale.kind === "category"
    ? [Math.ceil(low * count - 0.6), Math.floor(high * count - 0.4)]
    : [scale.value(low), scale.value(high)];
}

/** Handles brushing, hovering and clicking. */
function listen(
  box: HTMLElement,
  axes: Axis[],
  { colors }: Coloring,
  overlay: CanvasRenderingContext2D,
  drawBase: DrawBase,
  drawnFirst: Active,
): void {
  const { rows } = data();
  let hovered = -1;
  const axisAt = (x: number, y: number) =>
    y > TOP - 8 && y < BOTTOM + 8 ? axes.find((axis) => Math.abs(axis.x - x) <= REACH) : undefined;

  function hover(row: number, event: PointerEvent): void {
    if (row !== hovered) {
      hovered = row;
      overlay.clearRect(0, 0, box.clientWidth, HEIGHT);
      overlay.lineWidth = 3;
      overlay.strokeStyle = colors[row];
      if (row >= 0) line(overlay, axes, row);
    }
    if (row < 0) return hideTip();
    const [x] = within(box, event);
    const near = axes.reduce((best, axis) => (Math.abs(axis.x - x) < Math.abs(best.x - x) ? axis : best));
    showTip(rows[row], [near.column.key], event);
  }

  function brush({ column, scale }: Axis, event: PointerEvent): void {
    const bounds = brushes();
    const begin = within(box, event)[1];
    const had = bounds.get(column.key);
    const edges = had && [edgeOf(scale, had[1], 1), edgeOf(scale, had[0], -1)];
    const held = edges && begin >= edges[0] && begin <= edges[1] ? edges : null;
    box.setPointerCapture(event.pointerId);
    hover(-1, event);
    let isMoved = false;
    let frame = 0;
    box.onpointermove = (move) => {
      const y = within(box, move)[1];
      isMoved ||= Math.abs(y - begin) > 3;
      if (!isMoved) return;
      const [upper, lower] = held ? held.map((one) => one + y - begin) : [Math.min(y, begin), Math.max(y, begin)];
      bounds.set(column.key, boundsOf(scale, upper, lower));
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        if (box.isConnected) drawBase(inside(rows, axes, bounds), bounds, inSight(box, axes));
      });
    };
    const release = () => {
      box.onpointermove = idle;
      box.onpointerup = box.onpointercancel = null;
    };
    box.onpointercancel = release;
    box.onpointerup = () => {
      release();
      if (!isMoved && !had) return;
      const drawn = isMoved ? bounds.get(column.key) : undefined;
      if (!drawn || !(drawn[0] <= drawn[1])) bounds.delete(column.key);
      else if (scale.kind !== "category") bounds.set(column.key, widened(drawn));
      // If nothing is inside, the brushes stay visible and nothing is selected.
      if (bounds.size) select([...inside(rows, axes, bounds)].map((row) => rows[row]), written(bounds));
      else clear();
    };
  }

  function idle(event: PointerEvent): void {
    const [x, y] = within(box, event);
    hover(nearest(axes, selectedRows() ?? drawnFirst, x, y, reachOf(event, 8)), event);
    box.style.cursor = axisAt(x, y) ? "row-resize" : hovered >= 0 ? "pointer" : "";
  }
  const show = (event: PointerEvent) => {
    idle(event);
    return hovered;
  };
  const hide = (event: PointerEvent) => hover(-1, event);
  onTaps(box, () => hovered, show, hide, (row, event) => pick([rows[row]], event));
  box.onpointermove = idle;
  box.onpointerleave = (event) => event.pointerType !== "touch" && hide(event);
  box.onpointerdown = (event) => {
    if (event.button || (event.target instanceof Element && event.target.closest(".hparams-axis"))) return;
    const axis = axisAt(...within(box, event));
    if (axis) brush(axis, event);
    else if (hovered >= 0 && event.pointerType !== "touch") pick([rows[hovered]], event);
  };
}

/** Creates the chart. */
export function parallel(width: number, coloring: Coloring): HTMLElement {
  const { rows } = data();
  const shown = inOrder();
  const gaps = shown.length - 1;
  const spacing = Math.max(LEAST_SPACING, Math.floor((width - 22 - SIDE) / Math.max(1, gaps)));
  const whole = Math.max(width - 2, 20 + SIDE + spacing * gaps);
  const axes = shown.map((column, index): Axis => {
    const scale = scaleOf(column);
    const ys = Float64Array.from(rows, (row) => yOf(scale.place(row.v[column.place])));
    return { column, scale, ys, x: 20 + spacing * index, missing: ys.includes(NOWHERE) };
  });
  const pairs = axes.slice(1).map((_axis, at): [number, number] => [at, at + 1]);
  const shades = shadesOf(axes, pairs, MOST_BINS);
  const drawnFirst = shades && firstRows();
  const box = make("div", {
    className: "hparams-parallel",
    role: "group",
    ariaLabel: `Parallel coordinates of ${
      rowsDrawn(drawnFirst)
    } over ${axes.length} columns; the table below has the same data`,
  });
  box.style.width = whole + "px";
  box.style.height = HEIGHT + "px";
  const faint = canvas(whole, HEIGHT, "");
  const base = canvas(whole, HEIGHT, "");
  const overlay = canvas(whole, HEIGHT, "over");
  if (shades) drawShades(faint, axes, shades);
  let faintDrawn = shades !== null;
  const drawBase: DrawBase = (active, bounds, drawn = axes) => {
    // While a brush moves, only the active lines are redrawn.
    if (active && !faintDrawn) drawFaint(faint, axes);
    faintDrawn ||= active !== null;
    faint.canvas.hidden = !active && !shades;
    base.clearRect(0, 0, whole, HEIGHT);
    drawLines(base, drawn, coloring, active ?? drawnFirst);
    drawAxes(base, axes, bounds);
  };
  const bounds = brushes();
  drawBase(selectedRows() ?? (bounds.size ? inside(rows, axes, bounds) : null), bounds);
  box.append(faint.canvas, base.canvas, overlay.canvas, ...axes.map((axis) => axisHead(axis, spacing, whole)));
  listen(box, axes, coloring, overlay, drawBase, drawnFirst);
  return make("div", { className: "hparams-scroll" }, box);
}
