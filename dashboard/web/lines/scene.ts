// What a chart shows, computed before anything is drawn: ranges, margins, ticks and scales.
import { axisTicks, type Ticks } from "./ticks.ts";
import { extent, fitRange, joinRanges, type Kind, makeScale, type Range, type Scale, usableRange } from "./scale.ts";
import { inRows, type Key, type PlacedKey, ROW, textsOf } from "./legend.ts";
import { inView, isSorted } from "./points.ts";

/** Coordinates of points. */
export type Values = Float64Array | Float32Array;

export interface Line {
  /** unique in the model */
  id: string;
  label: string;
  /** any CSS color */
  color: string;
  /** CSS pixels; 1.5 if absent */
  width?: number;
  dash?: number[];
  axis: Side;
  /** 0..1 */
  opacity?: number;
  /** data units, in any order */
  x: Values;
  /** as long as x */
  y: Values;
  /** as long as x; drawn thin and faint behind */
  raw?: Values | null;
  /** lower edge of a band */
  low?: Values | null;
  high?: Values | null;
  /** exactly one finite point; such points are drawn as dots even if this is not set */
  single?: boolean;
}
/** a small shape at (x, y), or in the strip along an edge */
export interface Mark {
  x: number;
  y?: number;
  /** the axis of y; the left one if absent */
  axis?: Side;
  edge?: "top" | "bottom";
  shape: "triangle-up" | "triangle-down" | "triangle-open" | "diamond" | "dot";
  color: string;
  title: string;
}
/** a vertical line with a label at its top */
export interface Rule {
  x: number;
  color?: string;
  label: string;
  title: string;
  style: "dashed" | "solid";
}
/** a shaded range of x */
export interface Span {
  x0: number;
  x1: number;
  color: string;
  title: string;
}
export interface XAxis {
  /** "time": x is Unix seconds */
  scale: Kind;
  /** null: fit to the data */
  range: Range | null;
  /** appended to each label */
  suffix?: string;
  /** no ticks between whole numbers */
  integer?: boolean;
}
export interface YAxis {
  scale: "linear" | "log";
  range: Range | null;
  label?: string;
}
export interface Model {
  lines: Line[];
  marks: Mark[];
  rules: Rule[];
  spans: Span[];
  x: XAxis;
  y: YAxis;
  /** The axis of lines with the axis "y2"; null if there are none. */
  y2: YAxis | null;
  /** text shown if there is nothing to draw */
  empty: string;
  /** The meaning of the line styles, for a picture. */
  keys: Key[];
  /** The keys that are shown on the chart itself. */
  legend: Key[];
}
/** Which vertical axis. */
export type Side = "y" | "y2";
export type AxisName = "x" | Side;
/** The width of a text in CSS pixels. */
export type Measure = (text: string) => number;
/** the ranges that the user has chosen, which take precedence over the model's */
export interface Zoom {
  x?: Range;
  y?: Range;
  y2?: Range;
}
/** The ranges that the axes show. */
export interface Ranges {
  x: Range;
  y: Range;
  y2?: Range;
  drawable: boolean;
  /** There is nothing to draw only because of a log axis. */
  hidden: boolean;
}

const NO_AXIS: YAxis = { scale: "linear", range: null };

/** The model with every optional part present. */
export function completed(model: Partial<Model>): Model {
  const { lines = [], marks = [], rules = [], spans = [], x = NO_AXIS, y = NO_AXIS, empty = "No data" } = model;
  const { keys = lines, legend = [] } = model;
  const second = lines.some((line) => line.axis === "y2");
  return { lines, marks, rules, spans, x, y, y2: second ? model.y2 || NO_AXIS : null, empty, keys, legend };
}

/** The extent of x, over all lines. */
function extentOfX(model: Model): Range | null {
  const log = model.x.scale === "log";
  let found: Range | null = null;
  for (const { x } of model.lines) {
    const sorted = isSorted(x) && x.length && Number.isFinite(x[0]) && Number.isFinite(x[x.length - 1]) && !log;
    found = joinRanges(found, sorted ? [x[0], x[x.length - 1]] : extent(x, log));
  }
  return found;
}

/** The extent of lines, raw lines and bands on a vertical axis, in a range of x, or for all x if the range is empty. */
function extentOfY(model: Model, axis: Side, xRange: Range | null): Range | null {
  const log = model[axis]?.scale === "log";
  const over = (range: Range | null) => {
    let found: Range | null = null;
    for (const line of model.lines) {
      if ((line.axis || "y") !== axis) continue;
      let [from, to] = [0, line.x.length];
      if (range && isSorted(line.x)) {
        [from, to] = inView(line.x, range[0], range[1]);
        if (from < to && line.x[from] < range[0]) from += 1;
        if (from < to && line.x[to - 1] > range[1]) to -= 1;
      }
      for (const values of [line.y, line.raw, line.low, line.high]) {
        if (values) found = joinRanges(found, extent(values, log, from, Math.min(to, values.length)));
      }
    }
    return found;
  };
  return over(xRange) || (xRange && over(null));
}

/**
 * The ranges to show: the user's, or else the model's, or else those that fit the data.
 * @param model completed
 */
export function rangesOf(model: Model, zoom: Zoom): Ranges {
  const chosen = (name: AxisName, axis: XAxis | YAxis) =>
    [zoom[name], axis.range].find((range): range is Range => usableRange(axis.scale, range));
  const foundX = extentOfX(model);
  const x = chosen("x", model.x) || fitRange(model.x.scale, foundX, 0, model.x.integer);
  let drawable = false;
  const fitted = (name: Side, axis: YAxis) => {
    const found = extentOfY(model, name, zoom.x || model.x.range ? x : null);
    if (found && foundX) drawable = true;
    return chosen(name, axis) || fitRange(axis.scale, found, 0.05);
  };
  const y = fitted("y", model.y);
  const ranges: Ranges = { x, y, ...(model.y2 ? { y2: fitted("y2", model.y2) } : {}), drawable, hidden: false };
  const log = [model.x, model.y, model.y2].some((axis) => axis && axis.scale === "log");
  if (!drawable && log) {
    const any = (values: Values | null | undefined) => values && extent(values) !== null;
    ranges.hidden = model.lines.some((line) => any(line.x) && (any(line.y) || any(line.raw)));
  }
  return ranges;
}

const widest = (labels: string[], measure: Measure) => Math.max(0, ...labels.map((text) => measure(text)));

/** As many x ticks as possible without overlapping labels. */
function ticksOfX(axis: XAxis, range: Range, width: number, measure: Measure): Ticks {
  const suffix = axis.suffix || "";
  for (let count = Math.max(2, Math.min(12, Math.floor(width / 56)));; count -= 1) {
    const ticks = axisTicks(axis, range, count);
    const labels = ticks.labels.map((text) => text && text + suffix);
    const scale = makeScale(axis.scale, range, 0, width);
    const places = ticks.values.map(scale.toPx);
    const sizes = labels.map((text) => measure(text));
    const apart = places.every((at, i) => i === 0 || at - places[i - 1] >= (sizes[i] + sizes[i - 1]) / 2 + 12);
    if (apart || count <= 1) return { ...ticks, labels: apart ? labels : labels.map((text, i) => (i ? "" : text)) };
  }
}

export interface Scene {
  model: Model;
  plot: { x: number; y: number; w: number; h: number };
  width: number;
  height: number;
  sx: Scale;
  sy: Scale;
  /** null if no line uses it */
  sy2: Scale | null;
  xTicks: Ticks;
  yTicks: Ticks;
  y2Ticks: Ticks | null;
  ranges: Ranges;
  /** Keys above the plot. */
  legend: PlacedKey[];
  /** Keys at the ends of their lines, with their texts. */
  ends: { key: Key; text: string }[];
  /** there is no room for a plot */
  tiny: boolean;
}

/** The space kept free at the right: the lower corner has the grip for resizing a chart. */
export const CORNER = 16;
/** More grid rows than this convey no more. */
const MOST_ROWS = 10;
/** The gap between the plot and the names at the ends of lines, and the least height that a name needs. */
export const TO_ENDS = 13;
export const END_HEIGHT = 14;
const ENDS_FROM = 560;
const WIDEST_END = 150;
/** More names would be too far from their lines. */
const MOST_ENDS = 8;
const NO_TICKS: Ticks = { values: [], labels: [], context: "" };

/** Names at the ends of lines, if there is room for them. */
function endsOf({ legend, y2 }: Model, width: number, height: number, measure: Measure): Scene["ends"] {
  const fits = width >= ENDS_FROM && legend.length <= MOST_ENDS && legend.length * END_HEIGHT * 2 <= height;
  if (!fits || y2 || !legend.every((key) => key.id !== undefined)) return [];
  const texts = textsOf(legend, WIDEST_END, measure);
  return legend.map((key, index) => ({ key, text: texts[index] }));
}

/**
 * Puts a model into a box.
 * @param model completed
 * @param ranges from `rangesOf`
 * @param box CSS pixels; `top` and `bottom` are kept free
 * @param measure width of an axis label
 */
export function layOut(
  model: Model,
  ranges: Ranges,
  { width, height, top = 0, bottom = 0 }: { width: number; height: number; top?: number; bottom?: number },
  measure: Measure,
): Scene {
  const foot = model.x.scale === "time" ? 33 : 20;
  const ends = endsOf(model, width, height, measure);
  const keys = ends.length ? [] : model.legend;
  const { placed, rows } = inRows(keys, width - 24, Math.max(1, Math.floor((height * 0.2) / ROW)), measure);
  const legend = placed.map((one) => ({ ...one, x: one.x + 12, y: one.y + top + ROW / 2 + 1 }));
  const y = top + 9 + rows * ROW;
  const h = height - bottom - foot - y;
  const ticksOf = (axis: YAxis, range: Range) =>
    axisTicks(axis, range, Math.min(MOST_ROWS, Math.max(2, Math.floor(h / (axis.scale === "log" ? 26 : 38)))));
  const roomFor = (axis: YAxis, ticks: Ticks) => {
    const labels = Math.min(width * 0.4, widest(ticks.labels, measure)) + 10 + (axis.label ? 16 : 0);
    // In steps, so that an additional digit does not move the whole plot.
    return Math.ceil(labels / 4) * 4;
  };
  const second = model.y2 && ranges.y2 ? { axis: model.y2, range: ranges.y2 } : null;
  const onlyRight = second !== null && model.lines.every((line) => line.axis === "y2");
  const yTicks = onlyRight ? NO_TICKS : ticksOf(model.y, ranges.y);
  const y2Ticks = second && ticksOf(second.axis, second.range);
  const left = onlyRight ? CORNER : Math.max(24, roomFor(model.y, yTicks));
  const beside = ends.length ? TO_ENDS + 6 + Math.ceil(widest(ends.map(({ text }) => text), measure)) : CORNER;
  const right = second && y2Ticks ? Math.max(24, roomFor(second.axis, y2Ticks)) : beside;
  const plot = { x: left, y, w: width - left - right, h };
  const tiny = plot.w < 8 || plot.h < 8;
  const span = tiny ? 8 : plot.w;
  const upward = (axis: YAxis, range: Range) => makeScale(axis.scale, range, plot.y + plot.h, plot.y);
  return {
    model,
    ranges,
    plot,
    tiny,
    width,
    height,
    legend,
    ends,
    xTicks: ticksOfX(model.x, ranges.x, span, measure),
    yTicks,
    y2Ticks,
    sx: makeScale(model.x.scale, ranges.x, plot.x, plot.x + span),
    sy: upward(model.y, ranges.y),
    sy2: second && upward(second.axis, second.range),
  };
}
