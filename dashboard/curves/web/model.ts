// Turns a chart from the server (dashboard/curves/chart.py) into what the engine draws: pure functions.
import type { Column } from "../../web/core/binary.ts";
import type { Range } from "../../web/lines/scale.ts";
import { type Key, withoutCommonFolder } from "../../web/lines/legend.ts";
import type { Line, Mark, Model, Span, Values, Zoom } from "../../web/lines/scene.ts";
import type { LineAbout, SentChart } from "./messages.generated.ts";

export type Scheme = "light" | "dark";
type NotFinite = SentChart["marks"][number][2];
/** A line with its columns. */
export interface CurveLine extends LineAbout {
  x: Values;
  y: Values;
  /** Means of the finite values after the previous point, up to each point; only if some points were left out. */
  mean?: Values;
  count?: ArrayLike<number>;
  /** The line smoothed by the chart's smoothing; only if some points were left out. */
  smooth?: Values;
  low?: Values;
  high?: Values;
  seconds?: ArrayLike<number>;
  step?: ArrayLike<number>;
  members?: ArrayLike<number>;
  smoothing: number;
}
/** A chart with the columns of its lines. */
export type CurveChart = Omit<SentChart, "lines"> & { lines: CurveLine[]; smoothing: number };
/** What determines how a chart is drawn. */
export interface Looks {
  weight: number;
  scheme: Scheme;
  hidden: Set<string>;
  selected: Set<string>;
  outliers: boolean;
  yScale: "linear" | "log";
  range: Zoom | null;
  spans: Span[];
  /** The most keys that are shown on the chart itself. */
  mostKeys: number;
}

export const DASHES = [[], [7, 3], [2, 2.5], [9, 3, 2, 3], [12, 4], [4, 2, 1, 2]];
const MARKS: Record<NotFinite, Pick<Mark, "edge" | "shape">> = {
  NaN: { edge: "bottom", shape: "triangle-open" },
  "+Inf": { edge: "top", shape: "triangle-up" },
  "-Inf": { edge: "bottom", shape: "triangle-down" },
};

/** Powers of the last weight: all lines share it, and a power costs more than everything else for a point. */
const known = { weight: NaN, powers: new Float64Array(256) };

function powersOf(weight: number) {
  if (known.weight !== weight) {
    known.weight = weight;
    known.powers.forEach((_, count) => (known.powers[count] = weight ** count));
  }
  return known.powers;
}

/**
 * TensorBoard's smoothing: an exponential moving average without its starting bias; non-finite values are skipped.
 * @param means means of the finite values after the previous point, up to and including each point
 * @param counts how many values each mean covers; with both, points that were left out count as their mean
 */
export function smooth(y: ArrayLike<number>, weight: number, means?: ArrayLike<number>, counts?: ArrayLike<number>) {
  return means && counts
    ? average(y, weight, means, counts)
    : average(y, weight, y, Int32Array.from(y, (value) => (Number.isFinite(value) ? 1 : 0)));
}

/** Does the work of `smooth` in separate loops, because the user waits for them. */
function average(y: ArrayLike<number>, weight: number, means: ArrayLike<number>, counts: ArrayLike<number>) {
  const n = y.length;
  const out = new Float64Array(n);
  const powers = powersOf(weight);
  let last = 0;
  let decay = 1;
  let i = 0;
  // The starting bias decays until it no longer affects 1 - decay; even smaller numbers would be slow.
  for (; i < n && decay > 1e-20; i += 1) {
    const count = counts[i];
    if (count > 0) {
      const share = count < powers.length ? powers[count] : weight ** count;
      last = last * share + (1 - share) * means[i];
      decay *= share;
    }
    out[i] = y[i] - y[i] === 0 ? last / (1 - decay) : NaN;
  }
  for (; i < n; i += 1) {
    const count = counts[i];
    if (count > 0) {
      const share = count < powers.length ? powers[count] : weight ** count;
      last = last * share + (1 - share) * means[i];
    }
    out[i] = y[i] - y[i] === 0 ? last : NaN;
  }
  return out;
}

function allEqual(y: ArrayLike<number>) {
  for (let i = 1; i < y.length; i++) if (y[i] !== y[0]) return false;
  return true;
}

/** A line's values at a smoothing, exact if all of its points are here. */
export function smoothed(line: CurveLine, weight: number): Values {
  if (weight <= 0 || line.y.length < 2 || (!line.mean && allEqual(line.y))) return line.y;
  if (line.smooth && line.smoothing === weight) return line.smooth;
  return smooth(line.y, weight, line.mean, line.count);
}

/** A chart as the server sent it, with the columns of its lines filled in. */
export function received(chart: SentChart, arrays: Column[], smoothing: number): CurveChart {
  const lines = chart.lines.map(({ columns, ...line }) => {
    const found = Object.fromEntries(Object.entries(columns).map(([name, at]) => [name, arrays[at]]));
    return { ...line, ...found as Pick<CurveLine, "x" | "y">, smoothing };
  });
  return { ...chart, lines, smoothing };
}

/** TensorBoard's percentile range of the drawn values, from place ceil(0.05 (n - 1)) to floor(0.95 (n - 1)). */
export function inliers(lines: readonly { y: Values }[], log: boolean): Range | null {
  let n = 0;
  for (const line of lines) n += line.y.length;
  const all = new Float64Array(n);
  n = 0;
  for (const line of lines) {
    for (const y of line.y) if (Number.isFinite(y) && (!log || y > 0)) all[n++] = log ? Math.log10(y) : y;
  }
  if (n < 3) return null;
  const sorted = all.subarray(0, n).sort();
  const [low, high] = [sorted[Math.ceil(0.05 * (n - 1))], sorted[Math.floor(0.95 * (n - 1))]];
  const margin = (high - low) * 0.05 || Math.abs(high) * 0.1 || 1;
  return log ? [10 ** (low - margin), 10 ** (high + margin)] : [low - margin, high + margin];
}

/** Whether a line belongs to one of the runs. */
export const isOf = (line: CurveLine, runs: ReadonlySet<string>) =>
  (line.run !== undefined && runs.has(line.run)) || (line.runs ?? []).some((run) => runs.has(run));

/** The first of each set of lines that are alike. */
function firstOf(lines: readonly CurveLine[], likeness: (line: CurveLine) => string): CurveLine[] {
  const found: Map<string, CurveLine> = new Map();
  for (const line of lines) if (!found.has(likeness(line))) found.set(likeness(line), line);
  return [...found.values()];
}

/**
 * What colors and dashes mean: runs or tags by color. If there are several of both, tags by their dashes and axes,
 * followed by runs. The first `tags` keys are those of tags.
 */
export function keysOf(lines: readonly CurveLine[], scheme: Scheme): { keys: Key[]; tags: number } {
  const main = lines.filter(({ kind }) => kind !== "member");
  const [byTag, byOwner] = [firstOf(main, ({ tag, side }) => `${side} ${tag}`), firstOf(main, ({ label }) => label)];
  const bothSides = new Set(main.map(({ side }) => side)).size > 1;
  const tagTexts = withoutCommonFolder(byTag.map(({ tag }) => tag));
  const tagText = (index: number) => tagTexts[index] + (bothSides ? ` (${byTag[index].side} axis)` : "");
  const dashOf = ({ dash }: CurveLine) => DASHES[dash % DASHES.length];
  const several = byTag.length > 1;
  if (several && byOwner.length < 2) {
    const keys = byTag.map((line, index) => (
      { label: tagText(index), color: line[scheme], dash: dashOf(line), id: line.id }
    ));
    return { keys, tags: keys.length };
  }
  const ownerTexts = withoutCommonFolder(byOwner.map(({ label }) => label));
  const owners = byOwner.map((line, index): Key => (
    { label: ownerTexts[index], color: line[scheme], ...(several ? {} : { id: line.id, dash: dashOf(line) }) }
  ));
  const tags = several
    ? byTag.map((line, index): Key => ({ label: tagText(index), color: null, dash: dashOf(line) }))
    : [];
  return { keys: [...tags, ...owners], tags: tags.length };
}

export function modelOf(chart: CurveChart, on: Looks): Model {
  const isHidden = (line: CurveLine) => line.run !== undefined && line.kind !== "group" && on.hidden.has(line.run);
  const shown = chart.lines.filter((line) => !isHidden(line));
  const { keys, tags } = keysOf(shown, on.scheme);
  // Nothing else shows which dash means which tag.
  const legend = keys.length < 2
    ? []
    : keys.length <= on.mostKeys
    ? keys
    : tags <= on.mostKeys
    ? keys.slice(0, tags)
    : [];
  const lines = shown.map((line): Line => {
    const y = line.kind === "member" ? line.y : smoothed(line, on.weight);
    // If runs are selected, only their bands are drawn.
    const banded = !on.selected.size || isOf(line, on.selected);
    return {
      id: line.id,
      label: line.label,
      color: line[on.scheme],
      width: line.kind === "member" ? 0.8 : line.kind === "group" ? 2 : 1.6,
      opacity: line.kind === "member" ? 0.45 : 1,
      dash: DASHES[line.dash % DASHES.length],
      axis: axisOf(line),
      x: line.x,
      y,
      raw: line.kind === "run" && y !== line.y ? line.y : null,
      low: banded ? line.low : undefined,
      high: banded ? line.high : undefined,
    };
  });
  const right = lines.filter((line) => line.axis === "y2");
  const left = lines.filter((line) => line.axis === "y");
  const vertical = (of: Line[], range: Range | undefined) => ({
    scale: on.yScale,
    range: range ?? (on.outliers ? inliers(of, on.yScale === "log") : null),
  });
  const range = on.range ?? {};
  const { scale, suffix, integer } = chart.x;
  return {
    lines,
    marks: marksOf(chart, on, isHidden),
    rules: chart.rules.map((rule) => ({
      x: rule.x,
      color: rule[on.scheme],
      title: rule.title,
      label: "",
      style: "dashed",
    })),
    spans: on.spans,
    x: { scale, suffix, integer, range: range.x ?? null },
    y: vertical(left.length ? left : right, range.y),
    y2: right.length ? vertical(right, range.y2) : null,
    empty: lines.length ? "" : chart.empty || "None of the visible runs has this tag",
    keys,
    legend,
  };
}

const axisOf = (line: CurveLine) => (line.side === "right" ? "y2" : "y");

/** Marks for non-finite points, at the edges, and for the best point of each line. */
function marksOf(chart: CurveChart, { scheme }: Looks, isHidden: (line: CurveLine) => boolean): Mark[] {
  const lost = chart.marks.map(([index, x, what]) => ({ line: chart.lines[index], x, what }))
    .filter(({ line }) => !isHidden(line))
    .map(({ line, x, what }) => ({ x, ...MARKS[what], color: line[scheme], title: `${what} in ${line.label}` }));
  const best = chart.best.map(([index, x, y]) => ({ line: chart.lines[index], x, y }))
    .filter(({ line }) => line.kind !== "member" && !isHidden(line))
    .map(({ line, x, y }): Mark => ({
      x,
      y,
      shape: "diamond",
      color: line[scheme],
      title: `${line.label}: ${y}`,
      axis: axisOf(line),
    }));
  return [...lost, ...best];
}
