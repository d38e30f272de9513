// @ts-nocheck
// From what the server sends of a chart (dashboard/curves/chart.py) to what the engine draws: pure functions.

export const DASHES = [[], [7, 3], [2, 2.5], [9, 3, 2, 3], [12, 4], [4, 2, 1, 2]];
const MARKS = { NaN: ["bottom", "triangle-open"], "+Inf": ["top", "triangle-up"], "-Inf": ["bottom", "triangle-down"] };

/** Powers of the last weight: all lines are smoothed by one, and a power costs more than the rest of a point. */
const known = { weight: NaN, powers: new Float64Array(256) };

function powersOf(weight) {
  if (known.weight !== weight) {
    known.weight = weight;
    known.powers.forEach((_, count) => (known.powers[count] = weight ** count));
  }
  return known.powers;
}

/**
 * TensorBoard's smoothing: an exponential moving average without the bias of its start; what is not finite is skipped.
 * @param means of the finite values from behind the point before, exclusively, to each point
 * @param counts how many these are; with both, points that were left out count as their mean
 */
export function smooth(y: ArrayLike<number>, weight: number, means?: ArrayLike<number>, counts?: ArrayLike<number>) {
  return counts
    ? average(y, weight, means, counts)
    : average(y, weight, y, Int32Array.from(y, (value) => (Number.isFinite(value) ? 1 : 0)));
}

/** What `smooth` does, in loops of their own: a hand waits for them. */
function average(y, weight, means, counts) {
  const n = y.length;
  const out = new Float64Array(n);
  const powers = powersOf(weight);
  let last = 0;
  let decay = 1;
  let i = 0;
  // The bias of the start decays until 1 - decay cannot feel it; numbers smaller still would be slow.
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

function allEqual(y) {
  for (let i = 1; i < y.length; i++) if (y[i] !== y[0]) return false;
  return true;
}

/** A line's values at a smoothing, exact where all of its points are here. */
export function smoothed(line, weight) {
  if (weight <= 0 || line.y.length < 2 || (!line.mean && allEqual(line.y))) return line.y;
  if (line.smooth && line.smoothing === weight) return line.smooth;
  return smooth(line.y, weight, line.mean, line.count);
}

/** Lines of a chart with their columns, as the server sent them. */
export function received(chart, arrays) {
  for (const line of chart.lines) {
    for (const [name, at] of Object.entries(line.columns)) line[name] = arrays[at];
    line.smoothing = chart.smoothing;
  }
  return chart;
}

/** The places of TensorBoard's percentiles among what is drawn: ceil(0.05 (n - 1)) and floor(0.95 (n - 1)). */
export function inliers(lines, log) {
  let n = 0;
  for (const line of lines) n += line.y.length;
  const all = new Float64Array(n);
  n = 0;
  for (const line of lines) {
    for (const y of line.y) {
      if (Number.isFinite(y) && (!log || y > 0)) {
        all[n++] = log ? Math.log10(y) : y;
      }
    }
  }
  if (n < 3) return null;
  const sorted = all.subarray(0, n).sort();
  let [low, high] = [sorted[Math.ceil(0.05 * (n - 1))], sorted[Math.floor(0.95 * (n - 1))]];
  const margin = (high - low) * 0.05 || Math.abs(high) * 0.1 || 1;
  [low, high] = [low - margin, high + margin];
  return log ? [10 ** low, 10 ** high] : [low, high];
}

/** @param chart what `received` gave */
export function modelOf(
  chart: any,
  on: {
    weight: number;
    scheme: "light" | "dark";
    hidden: Set<string>;
    selected: Set<string>;
    outliers: boolean;
    yScale: string;
    xScale: string;
    range: { x?: number[]; y?: number[]; y2?: number[] } | null;
    spans?: any[];
  },
) {
  const shown = chart.lines.filter((line) => !line.run || line.kind === "group" || !on.hidden.has(line.run));
  // Where runs are selected, only theirs are told by bands.
  const banded = (line) =>
    !on.selected.size || on.selected.has(line.run) || (line.runs || []).some((run) => on.selected.has(run));
  const lines = shown.map((line) => {
    const y = line.kind === "member" ? line.y : smoothed(line, on.weight);
    return {
      id: line.id,
      label: line.label,
      color: line[on.scheme],
      width: line.kind === "member" ? 0.8 : line.kind === "group" ? 2 : 1.6,
      opacity: line.kind === "member" ? 0.45 : 1,
      dash: DASHES[line.dash % DASHES.length],
      axis: line.side === "right" ? "y2" : "y",
      x: line.x,
      y,
      raw: line.kind === "run" && y !== line.y ? line.y : null,
      low: banded(line) ? line.low : undefined,
      high: banded(line) ? line.high : undefined,
    };
  });
  const marks = [];
  for (const [index, x, what] of chart.marks) {
    const line = chart.lines[index];
    if (line.run && on.hidden.has(line.run)) continue;
    const [edge, shape] = MARKS[what];
    marks.push({ x, edge, shape, color: line[on.scheme], title: `${what} in ${line.label}` });
  }
  for (const [index, x, y] of chart.best) {
    const line = chart.lines[index];
    if (line.kind === "member" || (line.run && on.hidden.has(line.run))) continue;
    marks.push({
      x,
      y,
      shape: "diamond",
      color: line[on.scheme],
      title: `${line.label}: ${y}`,
      axis: line.side === "right" ? "y2" : "y",
    });
  }
  const right = lines.filter((line) => line.axis === "y2");
  const left = lines.filter((line) => line.axis === "y");
  const vertical = (of, range) => ({
    scale: on.yScale,
    range: range || (on.outliers ? inliers(of, on.yScale === "log") : null),
  });
  const range = on.range || {};
  return {
    lines,
    marks,
    rules: chart.rules.map((rule) => ({
      x: rule.x,
      color: rule[on.scheme],
      title: rule.title,
      label: "",
      style: "dashed",
    })),
    spans: on.spans || [],
    x: {
      scale: chart.x.scale,
      range: range.x || null,
      suffix: chart.x.suffix,
      integer: chart.x.integer,
      offsetSeconds: chart.x.offsetSeconds,
      label: chart.x.label,
    },
    y: vertical(left.length ? left : right, range.y),
    y2: right.length ? vertical(right, range.y2) : undefined,
    empty: lines.length ? "" : chart.empty || "No shown run has this",
  };
}
