// Draws a scene with any pen: the static parts (grid, axes, bands, rules), the lines, and whatever lies on top.
import { decimate, project, stretches } from "./points.ts";
import type { Box, Pen, Stroke } from "./pen.ts";
import type { Scale } from "./scale.ts";
import { type PlacedKey, SAMPLE, spread, TEXT } from "./legend.ts";
import {
  CORNER,
  END_HEIGHT,
  type Line,
  type Mark,
  type Measure,
  type Scene,
  type Span,
  TO_ENDS,
  type Values,
} from "./scene.ts";

const WIDTH = 1.5;
/** How much wider than its line an isolated point is, and one that is the only point of its line. */
const DOT = 3.5;
const ONLY_DOT = 6.5;
const FAINT = 0.28;
const BAND = 0.16;
const ALL_BANDS = 0.8;
const DIMMED = 0.13;
const DASHES: Record<string, number[]> = { dashed: [4, 3], solid: [] };

export interface Theme {
  surface: string;
  line: string;
  ink: string;
  soft: string;
  dim: string;
  accent: string;
  family: string;
}

/** The page's colors at the element. */
export function readTheme(element: Element): Theme {
  const style = getComputedStyle(element);
  const variable = (name: string, fallback: string) => style.getPropertyValue(name).trim() || fallback;
  return {
    surface: variable("--surface", "#ffffff"),
    line: variable("--line", "#e4e7ec"),
    ink: variable("--ink", "#1c2330"),
    soft: variable("--ink-soft", "#4b5563"),
    dim: variable("--ink-dim", "#7a8494"),
    accent: variable("--accent", "#4263eb"),
    family: style.fontFamily || "sans-serif",
  };
}

const padded = ({ x, y, w, h }: Box, by: number): Box => ({ x: x - by, y: y - by, w: w + 2 * by, h: h + 2 * by });
const scaleOf = (scene: Scene, line: Line) => (line.axis === "y2" && scene.sy2) || scene.sy;

/**
 * The main lines as strokes.
 * @param chosen lines to emphasize
 */
export function mainStrokes(scene: Scene, chosen: Set<string> | null): Stroke[] {
  const strokes = scene.model.lines.map((line) => {
    const lit = chosen && chosen.has(line.id);
    const width = (line.width || WIDTH) + (lit ? 1 : 0);
    const opacity = (line.opacity ?? 1) * (chosen && !lit ? DIMMED : 1);
    return {
      x: line.x,
      y: line.y,
      sx: scene.sx,
      sy: scaleOf(scene, line),
      color: line.color,
      opacity,
      width,
      dash: line.dash || [],
      dot: width + (line.x[0] === line.x[line.x.length - 1] ? ONLY_DOT : DOT),
      lit,
    };
  });
  // Emphasized lines lie above the rest.
  return chosen ? [...strokes.filter((s) => !s.lit), ...strokes.filter((s) => s.lit)] : strokes;
}

/** The raw lines as strokes; if lines are chosen, only theirs. */
export function rawStrokes(scene: Scene, chosen: Set<string> | null): Stroke[] {
  return scene.model.lines
    .filter((line): line is Line & { raw: Values } => Boolean(line.raw) && (!chosen || chosen.has(line.id)))
    .map((line) => ({
      x: line.x,
      y: line.raw,
      sx: scene.sx,
      sy: scaleOf(scene, line),
      color: line.color,
      opacity: (line.opacity ?? 1) * FAINT,
      width: 1,
      dash: [],
      dot: 3,
    }));
}

/** A line with a band. */
type Banded = Line & { low: Values; high: Values };

/** One ring per stretch where both edges exist. */
function bandRings(scene: Scene, line: Banded) {
  const sy = scaleOf(scene, line);
  const edge = (values: Values) => {
    const { points, count } = project(line.x, values, scene.sx, sy);
    return points.slice(0, 2 * count);
  };
  const [low, high] = [edge(line.low), edge(line.high)];
  const count = Math.min(low.length, high.length) / 2;
  for (let i = 0; i < count; i += 1) {
    if (Number.isNaN(low[2 * i]) || Number.isNaN(high[2 * i])) low[2 * i] = high[2 * i] = NaN;
  }
  return stretches(low, count).map(([from, to]) => {
    let [above, below]: Float64Array[] = [high.subarray(2 * from, 2 * to), low.subarray(2 * from, 2 * to)];
    // A band with one point is as wide as a dot.
    if (to - from === 1) {
      return [above[0] - 1.5, above[1], above[0] + 1.5, above[1], below[0] + 1.5, below[1], below[0] - 1.5, below[1]];
    }
    if (to - from > 2 * scene.plot.w) [above, below] = [decimate(above, to - from), decimate(below, to - from)];
    const ring = Array.from(above);
    for (let i = below.length - 2; i >= 0; i -= 2) ring.push(below[i], below[i + 1]);
    return ring;
  });
}

/** Spans of one color that are closer than this look like one. */
const SPAN_GAP = 3;
const SPAN_LEAST = 2;
const SPAN_OPACITY = 0.1;
/** The opacity of all colors together, which overlap if runs are alike. */
const ALL_SPANS = 0.28;
const SPAN_LANE = 3;
const MOST_LANES = 4;
/** With more boxes than this, there are no heads at the top edge: they would form a fringe. */
const MOST_HEADS = 24;
const HEAD = [-4, 0, 4, 0, 0, 6];
const MOST_TITLES = 6;

/** Spans of one color that look like one, in CSS pixels. */
interface SpanBox {
  x: number;
  w: number;
  lane: number;
  color: string;
  spans: Span[];
}
type SpanBoxes = SpanBox[] & { colors: number };
/** The spans under the pointer in the strip. */
export interface SpanHit {
  spans: Span[];
  title: string;
}
const spanBoxes = new WeakMap<Scene, SpanBoxes>();
const spanHits = new WeakMap<Scene, Map<string, SpanHit>>();

/** Places the spans in view: one box for neighbors of the same color, and a strip for each color along the bottom. */
export function placeSpans(
  scene: Scene,
): SpanBoxes {
  const known = spanBoxes.get(scene);
  if (known) return known;
  const { model, plot, sx } = scene;
  const right = plot.x + plot.w;
  const byColor = new Map<string, Omit<SpanBox, "lane">[]>();
  for (const span of model.spans) {
    const ends = [sx.toPx(span.x0), sx.toPx(span.x1)];
    // A log axis has no place for values that are not positive; spans that extend there begin at its edge.
    if (Number.isNaN(ends[0]) && span.x0 <= 0) ends[0] = plot.x;
    let [from, to] = [Math.max(plot.x, Math.min(...ends)), Math.min(right, Math.max(...ends))];
    if (!(to >= from)) continue;
    if (to - from < SPAN_LEAST) [from, to] = [(from + to - SPAN_LEAST) / 2, (from + to + SPAN_LEAST) / 2];
    from = Math.max(plot.x, from);
    const alike = byColor.get(span.color) ?? [];
    byColor.set(span.color, alike);
    alike.push({ x: from, w: Math.min(to, right) - from, color: span.color, spans: [span] });
  }
  const boxes: SpanBoxes = Object.assign([] as SpanBox[], { colors: byColor.size });
  [...byColor.values()].forEach((found, index) => {
    let last: SpanBox | null = null;
    for (const box of found.sort((a, b) => a.x - b.x)) {
      if (last && box.x - (last.x + last.w) < SPAN_GAP) {
        last.w = Math.max(last.x + last.w, box.x + box.w) - last.x;
        last.spans.push(...box.spans);
      } else boxes.push(last = { ...box, lane: index % MOST_LANES });
    }
  });
  spanBoxes.set(scene, boxes);
  return boxes;
}

const hasHeads = (scene: Scene) => placeSpans(scene).length <= MOST_HEADS;

function drawSpans(pen: Pen, scene: Scene) {
  const { plot } = scene;
  const opacity = Math.min(SPAN_OPACITY, ALL_SPANS / Math.max(placeSpans(scene).colors, 1));
  for (const { x, w, color } of placeSpans(scene)) {
    pen.rect({ x, y: plot.y, w, h: plot.h }, { fill: color, opacity });
  }
}

/** Draws the handles of spans, above the grid, whose lines would cut them. */
function drawHandles(pen: Pen, scene: Scene) {
  const { plot } = scene;
  const bottom = plot.y + plot.h;
  for (const { x, w, lane, color } of placeSpans(scene)) {
    pen.rect({ x, y: bottom - (lane + 1) * SPAN_LANE, w, h: SPAN_LANE }, { fill: color, opacity: 0.7 });
    if (hasHeads(scene)) {
      pen.rings([HEAD.map((v, i) => v + (i % 2 ? plot.y : x + w / 2))], { fill: color, opacity: 0.7 });
    }
  }
}

/** The spans whose strip or head is at a position on the element; the same object as long as they are the same. */
export function spansAt(scene: Scene, px: number, py: number): SpanHit | null {
  const { plot } = scene;
  const boxes = placeSpans(scene);
  const strip = Math.max(10, SPAN_LANE * (Math.min(boxes.colors, MOST_LANES) + 1));
  const head = hasHeads(scene) && py >= plot.y && py <= plot.y + 8;
  if (!head && (py < plot.y + plot.h - strip || py > plot.y + plot.h)) return null;
  const near = ({ x, w }: SpanBox) => (head ? Math.abs(px - x - w / 2) <= 6 : px >= x - 2 && px <= x + w + 2);
  const under = [...boxes.keys()].filter((index) => near(boxes[index]));
  if (!under.length) return null;
  const hits = spanHits.get(scene) ?? new Map<string, SpanHit>();
  spanHits.set(scene, hits);
  const key = under.join(" ");
  let hit = hits.get(key);
  if (!hit) {
    const spans = under.flatMap((index) => boxes[index].spans);
    const titles = [...new Set(spans.map((span) => span.title))];
    const more = titles.length > MOST_TITLES ? [`and ${titles.length - MOST_TITLES} more`] : [];
    hit = { spans, title: [...titles.slice(0, MOST_TITLES), ...more].join("\n") };
    hits.set(key, hit);
  }
  return hit;
}

function drawGrid(pen: Pen, scene: Scene, theme: Theme) {
  const { plot, sx, sy, xTicks, yTicks } = scene;
  const [right, bottom] = [plot.x + plot.w, plot.y + plot.h];
  const columns = xTicks.values.map(sx.toPx).map((x: number) => [x, plot.y, x, bottom]);
  const levels = yTicks.values.length || !scene.sy2
    ? yTicks.values.map(sy.toPx)
    : scene.y2Ticks?.values.map(scene.sy2.toPx);
  const rows = (levels ?? []).map((y) => [plot.x, y, right, y]);
  pen.segments([...rows, ...columns], { color: theme.line });
  pen.segments([[plot.x, bottom, right, bottom]], { color: theme.dim, opacity: 0.55 });
  pen.segments(columns.map(([x]) => [x, bottom, x, bottom + 4]), { color: theme.dim, opacity: 0.55 });
}

function drawAxes(pen: Pen, scene: Scene, theme: Theme, measure: Measure) {
  const { model, plot, width, sx, sy, sy2, xTicks, yTicks, y2Ticks } = scene;
  const [right, bottom] = [plot.x + plot.w, plot.y + plot.h];
  const color = theme.dim;
  yTicks.values.forEach((v: number, i: number) =>
    pen.text(plot.x - 6, sy.toPx(v), yTicks.labels[i], { color, align: "right" })
  );
  if (y2Ticks && sy2) {
    y2Ticks.values.forEach((v: number, i: number) =>
      pen.text(right + 6, sy2.toPx(v), y2Ticks.labels[i], { color, align: "left" })
    );
  }
  let drawn = -Infinity;
  xTicks.values.forEach((v: number, i: number) => {
    const half = measure(xTicks.labels[i]) / 2;
    // The lower right corner has the grip for resizing a chart.
    const at = Math.min(Math.max(sx.toPx(v), half + 2), width - half - CORNER);
    if (!xTicks.labels[i] || at - half < drawn) return;
    pen.text(at, bottom + 12, xTicks.labels[i], { color, align: "center" });
    drawn = at + half + 4;
  });
  if (xTicks.context) pen.text(plot.x, bottom + 25, xTicks.context, { color });
  if (model.y.label) pen.text(8, plot.y + plot.h / 2, model.y.label, { color, align: "center", up: true });
  if (model.y2 && model.y2.label) {
    pen.text(width - 8, plot.y + plot.h / 2, model.y2.label, { color, align: "center", up: true });
  }
}

function drawRules(pen: Pen, { model, plot, sx }: Scene, theme: Theme, measure: Measure) {
  let free = -Infinity;
  const inside = model.rules.map((rule) => ({ rule, x: sx.toPx(rule.x) })).filter(({ x }) =>
    x >= plot.x && x <= plot.x + plot.w
  );
  for (const { rule, x } of inside.sort((a, b) => a.x - b.x)) {
    const color = rule.color || theme.dim;
    pen.segments([[x, plot.y, x, plot.y + plot.h]], { color, opacity: 0.8, dash: DASHES[rule.style] || [] });
    const size = measure(rule.label || "");
    const leftwards = x + size + 8 > plot.x + plot.w;
    const start = leftwards ? x - size - 4 : x + 4;
    if (!rule.label || start < free || start < plot.x) continue;
    pen.text(start, plot.y + 6, rule.label, { color: rule.color || theme.soft, size: 10 });
    free = start + size + 8;
  }
}

/** Draws everything that stays while lines change, which excludes the raw lines. */
export function drawStill(pen: Pen, scene: Scene, theme: Theme, measure: Measure) {
  pen.rect({ x: 0, y: 0, w: scene.width, h: scene.height }, { fill: theme.surface });
  if (scene.tiny) return;
  drawSpans(pen, scene);
  drawGrid(pen, scene, theme);
  drawHandles(pen, scene);
  const bands = scene.model.lines.filter((line: Line): line is Banded => Boolean(line.low && line.high));
  if (bands.length) {
    pen.within(scene.plot, () => {
      // Many overlapping bands would hide whatever lies below.
      const opacity = Math.min(BAND, ALL_BANDS / bands.length);
      for (const line of bands) {
        pen.rings(bandRings(scene, line), { fill: line.color, opacity: opacity * (line.opacity ?? 1) });
      }
    });
  }
  drawAxes(pen, scene, theme, measure);
  drawRules(pen, scene, theme, measure);
  for (const key of scene.legend) drawKey(pen, key, theme);
}

/** The area where lines are painted: slightly beyond the plot, so that a line along its edge is not cut in half. */
export const lineClip = (scene: Scene) => padded(scene.plot, 1);

const SHAPES: Record<string, number[]> = {
  "triangle-up": [0, -4, 4, 3, -4, 3],
  "triangle-down": [0, 4, 4, -3, -4, -3],
  "triangle-open": [0, -4, 4, 3, -4, 3],
  diamond: [0, -4.5, 4.5, 0, 0, 4.5, -4.5, 0],
};

/** The marks in view, with their positions. */
export function placeMarks(scene: Scene): { mark: Mark; x: number; y: number }[] {
  const { model, plot, sx, sy, sy2 } = scene;
  const placed: { mark: Mark; x: number; y: number }[] = [];
  for (const mark of model.marks) {
    const x = sx.toPx(mark.x);
    let y = mark.edge === "bottom" ? plot.y + plot.h - 5 : plot.y + 5;
    if (!mark.edge && mark.y !== undefined) y = ((mark.axis === "y2" && sy2) || sy).toPx(mark.y);
    if (x >= plot.x - 0.5 && x <= plot.x + plot.w + 0.5 && y >= plot.y - 0.5 && y <= plot.y + plot.h + 0.5) {
      placed.push({ mark, x, y });
    }
  }
  return placed;
}

function drawMarks(pen: Pen, scene: Scene, theme: Theme) {
  // Marks that look alike and share a spot look like one mark, and there may be very many.
  const seen = new Set();
  for (const { mark, x, y } of placeMarks(scene)) {
    const key = `${Math.round(x)} ${Math.round(y)} ${mark.shape} ${mark.color}`;
    if (seen.has(key)) continue;
    seen.add(key);
    if (mark.shape === "dot" || !SHAPES[mark.shape]) {
      pen.disc(x, y, 3.5, { fill: mark.color, stroke: theme.surface, title: mark.title });
      continue;
    }
    const ring = SHAPES[mark.shape].map((v, i) => v + (i % 2 ? y : x));
    if (mark.shape === "triangle-open") {
      pen.rings([ring], { fill: theme.surface, stroke: mark.color, width: 1.3, title: mark.title });
    } else pen.rings([ring], { fill: mark.color, stroke: theme.surface, width: 1, title: mark.title });
  }
}

/** Draws a sample of the lines that a key stands for, and its text. */
export function drawKey(pen: Pen, { key, text, x, y }: PlacedKey, theme: Theme) {
  const isSample = key.color !== null || key.dash;
  if (isSample) pen.segments([[x, y, x + SAMPLE, y]], { color: key.color ?? theme.soft, width: 2, dash: key.dash });
  pen.text(x + TEXT, y, text, { color: theme.soft });
}

/** The last point of a line that is in view; null if there is none. */
function endOf({ plot, sx }: Scene, line: Line, sy: Scale): { x: number; y: number } | null {
  for (let i = line.x.length - 1; i >= 0; i -= 1) {
    const y = sy.toPx(line.y[i]);
    if (line.x[i] >= sx.lo && line.x[i] <= sx.hi && y >= plot.y && y <= plot.y + plot.h) {
      return { x: sx.toPx(line.x[i]), y };
    }
  }
  return null;
}

/** A line that ends at least this far before the plot's edge gets a leader to its name. */
const EARLY = 12;

/** Draws names beside the ends of lines, without overlaps. */
function drawEnds(pen: Pen, scene: Scene, theme: Theme) {
  const { plot, model } = scene;
  const [right, bottom] = [plot.x + plot.w, plot.y + plot.h];
  const byId = new Map(model.lines.map((line) => [line.id, line]));
  const found = scene.ends.flatMap(({ key, text }) => {
    const line = byId.get(key.id ?? "");
    const end = line && endOf(scene, line, scaleOf(scene, line));
    return end ? [{ key, text, ...end }] : [];
  });
  const heights = spread(found.map(({ y }) => y), END_HEIGHT, plot.y, bottom);
  found.forEach(({ key, text, x, y }, index) => {
    const level = heights[index];
    const color = key.color ?? theme.soft;
    if (right - x > EARLY) pen.segments([[x + 4, y, right, y]], { color, opacity: 0.5, dash: [1, 3] });
    pen.segments([[right + 2, y, right + TO_ENDS - 4, level]], { color, width: 1.5 });
    pen.text(right + TO_ENDS, level, text, { color: theme.soft });
  });
}

/** Draws whatever lies above the lines. */
export function drawFront(pen: Pen, scene: Scene, theme: Theme) {
  if (scene.tiny) return;
  drawMarks(pen, scene, theme);
  drawEnds(pen, scene, theme);
  if (scene.ranges.drawable) return;
  const text = scene.ranges.hidden ? "No values above zero to show on a log axis" : scene.model.empty;
  pen.text(scene.plot.x + scene.plot.w / 2, scene.plot.y + scene.plot.h / 2, text, {
    color: theme.soft,
    size: 12,
    align: "center",
  });
}
