// What a chart shows, worked out before anything is drawn: ranges, margins, ticks and scales.
import { axisTicks } from "./ticks.js";
import { extent, fitRange, joinRanges, makeScale, usableRange } from "./scale.js";
import { inView, isSorted } from "./points.js";

/**
 * @typedef {object} Line
 * @property {string} id unique in the model
 * @property {string} label @property {string} color any CSS colour
 * @property {number} [width] CSS pixels, 1.5 where absent @property {number[]} [dash] @property {"y"|"y2"} axis
 * @property {number} [opacity] 0..1
 * @property {Float64Array|Float32Array} x data units, of any order @property {Float64Array|Float32Array} y as long as x
 * @property {Float64Array|Float32Array|null} [raw] as long as x; drawn thin and faint behind
 * @property {Float64Array|Float32Array|null} [low] lower edge of a band @property {Float64Array|Float32Array|null} [high]
 * @property {boolean} [single] exactly one finite point; such points are drawn as dots, told or not
 *
 * @typedef {object} Mark a small shape at (x, y), or in the strip along an edge
 * @property {number} x @property {number} [y] left axis @property {"top"|"bottom"} [edge]
 * @property {"triangle-up"|"triangle-down"|"triangle-open"|"diamond"|"dot"} shape
 * @property {string} color @property {string} title
 *
 * @typedef {object} Rule a vertical line with a word at its head
 * @property {number} x @property {string} [color] @property {string} label @property {string} title @property {"dashed"|"solid"} style
 *
 * @typedef {object} Span a shaded range of x
 * @property {number} x0 @property {number} x1 @property {string} color @property {string} title
 *
 * @typedef {object} XAxis
 * @property {"linear"|"log"|"time"} scale "time": x is Unix seconds @property {[number, number]|null} range null: fit to the data
 * @property {string} [suffix] after each label @property {boolean} [integer] no ticks between whole numbers
 * @property {number} [offsetSeconds] what local time is ahead of UTC
 *
 * @typedef {object} YAxis
 * @property {"linear"|"log"} scale @property {[number, number]|null} range @property {string} [label]
 *
 * @typedef {object} Model
 * @property {Line[]} lines @property {Mark[]} [marks] @property {Rule[]} [rules] @property {Span[]} [spans]
 * @property {XAxis} x @property {YAxis} y @property {YAxis} [y2] used by lines with axis "y2"
 * @property {string} [empty] text where there is nothing to draw
 *
 * @typedef {{x?: [number, number], y?: [number, number], y2?: [number, number]}} Zoom what the hand has chosen, over the model's ranges
 */

const NO_AXIS = { scale: "linear", range: null };

/** The model with every optional part present. @param {Partial<Model>} model @returns {Model} */
export function completed(model) {
  const { lines = [], marks = [], rules = [], spans = [], x = NO_AXIS, y = NO_AXIS, empty = "No data" } = model;
  const second = lines.some((line) => line.axis === "y2");
  return { lines, marks, rules, spans, x, y, y2: second ? model.y2 || NO_AXIS : null, empty };
}

/** The extent of x, over all lines. */
function extentOfX(model) {
  const log = model.x.scale === "log";
  let found = null;
  for (const { x } of model.lines) {
    const sorted = isSorted(x) && x.length && Number.isFinite(x[0]) && Number.isFinite(x[x.length - 1]) && !log;
    found = joinRanges(found, sorted ? [x[0], x[x.length - 1]] : extent(x, log));
  }
  return found;
}

/** The extent on one vertical axis of lines, raw lines and bands, in a range of x; of all x where nothing is in it. */
function extentOfY(model, axis, xRange) {
  const log = model[axis].scale === "log";
  const over = (range) => {
    let found = null;
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
 * The ranges to show: the hand's, else the model's, else what fits the data.
 * @param {Model} model completed @param {Zoom} zoom
 * @returns {{x: [number, number], y: [number, number], y2?: [number, number], drawable: boolean, hidden: boolean}} `hidden`: only a log axis leaves nothing to draw
 */
export function rangesOf(model, zoom) {
  const chosen = (axis) => [zoom[axis], model[axis].range].find((range) => usableRange(model[axis].scale, range));
  const foundX = extentOfX(model);
  const x = chosen("x") || fitRange(model.x.scale, foundX, 0, model.x.integer);
  const ranges = { x, y: null, drawable: false, hidden: false };
  for (const axis of model.y2 ? ["y", "y2"] : ["y"]) {
    const found = extentOfY(model, axis, zoom.x || model.x.range ? x : null);
    ranges[axis] = chosen(axis) || fitRange(model[axis].scale, found, 0.05);
    if (found && foundX) ranges.drawable = true;
  }
  const log = [model.x, model.y, model.y2].some((axis) => axis && axis.scale === "log");
  if (!ranges.drawable && log) {
    const any = (values) => values && extent(values) !== null;
    ranges.hidden = model.lines.some((line) => any(line.x) && (any(line.y) || any(line.raw)));
  }
  return ranges;
}

const widest = (labels, measure) => Math.max(0, ...labels.map((text) => measure(text)));

/** The most ticks of x whose labels keep apart. */
function ticksOfX(axis, range, width, measure) {
  const suffix = axis.suffix || "";
  for (let count = Math.max(2, Math.min(12, Math.floor(width / 56))); ; count -= 1) {
    const ticks = axisTicks(axis, range, count);
    const labels = ticks.labels.map((text) => text && text + suffix);
    const scale = makeScale(axis.scale, range, 0, width);
    const places = ticks.values.map(scale.toPx);
    const sizes = labels.map((text) => measure(text));
    const apart = places.every((at, i) => i === 0 || at - places[i - 1] >= (sizes[i] + sizes[i - 1]) / 2 + 12);
    if (apart || count <= 1) return { ...ticks, labels: apart ? labels : labels.map((text, i) => (i ? "" : text)) };
  }
}

/**
 * @typedef {object} Scene
 * @property {Model} model @property {{x: number, y: number, w: number, h: number}} plot
 * @property {number} width @property {number} height
 * @property {any} sx @property {any} sy @property {any} sy2 null where no line uses it
 * @property {any} xTicks @property {any} yTicks @property {any} y2Ticks
 * @property {{x: [number, number], y: [number, number], y2?: [number, number], drawable: boolean, hidden: boolean}} ranges
 * @property {boolean} tiny there is no room for a plot
 */

/**
 * Puts a model into a box.
 * @param {Model} model completed @param {any} ranges from `rangesOf`
 * @param {{width: number, height: number, top?: number, bottom?: number}} box CSS pixels; `top` and `bottom` are kept free
 * @param {(text: string) => number} measure width of an axis label
 * @returns {Scene}
 */
export function layOut(model, ranges, { width, height, top = 0, bottom = 0 }, measure) {
  const foot = model.x.scale === "time" ? 33 : 20;
  const y = top + 9;
  const h = height - bottom - foot - y;
  const ticksOf = (axis) => axisTicks(model[axis], ranges[axis], Math.max(2, Math.floor(h / (model[axis].scale === "log" ? 26 : 38))));
  const roomFor = (axis, ticks) => {
    const labels = Math.min(width * 0.4, widest(ticks.labels, measure)) + 10 + (model[axis].label ? 16 : 0);
    // In steps, so that a digit more does not move the whole plot.
    return Math.ceil(labels / 4) * 4;
  };
  const yTicks = ticksOf("y");
  const y2Ticks = model.y2 ? ticksOf("y2") : null;
  const left = Math.max(24, roomFor("y", yTicks));
  const right = y2Ticks ? Math.max(24, roomFor("y2", y2Ticks)) : 12;
  const plot = { x: left, y, w: width - left - right, h };
  const tiny = plot.w < 8 || plot.h < 8;
  const span = tiny ? 8 : plot.w;
  const upward = (axis) => makeScale(model[axis].scale, ranges[axis], plot.y + plot.h, plot.y);
  return {
    model,
    ranges,
    plot,
    tiny,
    width,
    height,
    xTicks: ticksOfX(model.x, ranges.x, span, measure),
    yTicks,
    y2Ticks,
    sx: makeScale(model.x.scale, ranges.x, plot.x, plot.x + span),
    sy: upward("y"),
    sy2: model.y2 ? upward("y2") : null,
  };
}
