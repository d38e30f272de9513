// The values of a card at one place of its axis, and how numbers are formatted: pure functions.
import { shortNumber } from "../../web/core/numbers.ts";
import { isSorted } from "../../web/lines/points.ts";
import type { NearestPoint } from "../../web/lines/chart.ts";
import type { Values } from "../../web/lines/scene.ts";
import type { PointAt } from "./messages.generated.ts";
import type { CurveChart, CurveLine } from "./model.ts";

/** A line's point nearest to a place; unknown values are NaN. */
export interface Row {
  line: CurveLine;
  x: number;
  /** As drawn. */
  y: number;
  /** As logged. */
  value: number;
  low: number;
  high: number;
  members: number;
  step: number;
  /** Since the line began. */
  seconds: number;
  wall: number;
  /** Whether the place lies before the line's beginning or after its end. */
  beyond: boolean;
}
/** A line's values at two places, and the change between them. */
export interface Change {
  line: CurveLine;
  a: number;
  stepA: number;
  b: number;
  stepB: number;
  change: number;
  /** As a share of the first value. */
  relative: number;
  slope: number;
  seconds: number;
}
/** What `rowsAt` needs to know about a plot. */
export interface Plotted {
  model: { lines: { id: string; x: Values }[] };
  nearest(x: number): NearestPoint[];
  toClient(x: number, y: number): { clientX: number };
}

/** How far a line's end may be from the pointer for its point to count as there, in pixels. */
const REACH = 2;

/** Six significant digits, without noise. */
export const show = (value: number): string => shortNumber(value, 6);

const LEAST_FIXED = 1e-4;
const MOST_FIXED = 1e7;
const MOST_PLACES = 7;
const exponentOf = (size: number) => Math.floor(Math.log10(size) + 1e-12);

/**
 * Formats the numbers of one column in the same notation and with the same number of decimal places, so that decimal
 * points line up: six digits of the largest, and three of the smallest.
 */
export function aligned(values: readonly number[]): string[] {
  const sizes = values.filter((value) => Number.isFinite(value) && value !== 0).map(Math.abs);
  const [least, most] = [Math.min(...sizes), Math.max(...sizes)];
  const places = Math.max(0, 5 - exponentOf(most), 2 - exponentOf(least));
  const isScientific = sizes.length > 0 &&
    (most < LEAST_FIXED || most >= MOST_FIXED || 2 - exponentOf(least) > MOST_PLACES);
  const written = (digits: number) => (value: number) =>
    !Number.isFinite(value) ? show(value) : isScientific ? value.toExponential(4) : value.toFixed(digits);
  const behind = (text: string) => text.match(/\.(\d*?)0*$/)?.[1].length ?? 0;
  const needed = sizes.length ? Math.max(...values.filter(Number.isFinite).map(written(places)).map(behind)) : 0;
  return values.map(written(needed)).map((text) => text.replaceAll("-", "−").replace("e+", "e"));
}

/** Time of day, with the date unless that is today. */
export function clock(seconds: number): string {
  const when = new Date(seconds * 1000);
  if (Number.isNaN(when.getTime())) return "";
  const time = when.toLocaleTimeString("en-GB");
  if (when.toDateString() === new Date().toDateString()) return time;
  return when.toLocaleDateString("en-GB", { day: "numeric", month: "short" }) + " " + time;
}

/** Whether a place means the same on both charts. */
export const sameAxis = (one: CurveChart | null, other: CurveChart | null): boolean =>
  one !== null && other !== null && one.x.kind === other.x.kind && one.x.suffix === other.x.suffix &&
  one.x.label === other.x.label;

/** Whether the line ends before x or begins after it. */
function isBeyond(plot: Plotted, near: NearestPoint, x: number): boolean {
  const places = plot.model.lines.find((line) => line.id === near.id)?.x;
  if (!places || !isSorted(places) || (x >= places[0] && x <= places[places.length - 1])) return false;
  return Math.abs(plot.toClient(near.x, 0).clientX - plot.toClient(x, 0).clientX) > REACH;
}

const wallOf = (line: CurveLine, seconds: number) => (line.first ?? NaN) + seconds;

/**
 * One row for each line of a card: its point nearest to x.
 * @param reported by line id, the points there that the server found among all points of the lines
 * @param weight the smoothing of the drawn lines
 */
export function rowsAt(
  chart: CurveChart,
  plot: Plotted,
  x: number,
  reported: Record<string, PointAt> | null,
  weight: number,
): Row[] {
  const byId = new Map(chart.lines.map((line, index) => [line.id, { line, index }]));
  const notFinite = new Map(chart.marks.map(([index, place, what]) => [`${index} ${place}`, what]));
  const rows: Row[] = [];
  for (const near of plot.nearest(x)) {
    const { line, index } = byId.get(near.id) ?? {};
    if (!line || line.kind === "member") continue;
    const what = notFinite.get(`${index} ${near.x}`);
    const seconds = line.seconds?.[near.index] ?? NaN;
    const row = {
      line,
      x: near.x,
      y: near.y,
      value: what === "+Inf" ? Infinity : what === "-Inf" ? -Infinity : line.y[near.index],
      low: line.low?.[near.index] ?? NaN,
      high: line.high?.[near.index] ?? NaN,
      members: line.members?.[near.index] ?? 0,
      step: line.step?.[near.index] ?? (chart.x.kind === "step" ? near.x : NaN),
      seconds,
      wall: wallOf(line, seconds),
      beyond: isBeyond(plot, near, x),
    };
    rows.push(reported?.[near.id] ? exactly(row, reported[near.id], weight === chart.smoothing) : row);
  }
  return rows;
}

/**
 * As many of the rows nearest to a height as there is room for, from the highest down; rows beyond their line's ends
 * come last, and none of those counts as the nearest.
 */
export function nearestRows(
  rows: readonly Row[],
  heightOf: (row: Row) => number,
  height: number,
  most: number,
): { shown: Row[]; near: Row | undefined; away: number } {
  const placed = rows.map((row) => {
    const at = heightOf(row);
    return { row, at, away: Number.isFinite(at) ? Math.abs(at - height) : Infinity };
  });
  placed.sort((a, b) =>
    Number(a.row.beyond) - Number(b.row.beyond) || (a.away < b.away ? -1 : Number(a.away > b.away))
  );
  const [first] = placed;
  const isNear = first !== undefined && !first.row.beyond && first.away < Infinity;
  const level = ({ at }: { at: number }) => (Number.isFinite(at) ? at : Infinity);
  const shown = placed.slice(0, most);
  shown.sort((a, b) =>
    Number(a.row.beyond) - Number(b.row.beyond) || (level(a) < level(b) ? -1 : Number(level(a) > level(b)))
  );
  return {
    shown: shown.map(({ row }) => row),
    near: isNear ? first.row : undefined,
    away: isNear ? first.away : Infinity,
  };
}

/** Replaces drawn values with the server's; while the slider moves, only the page knows the smoothed value. */
function exactly(row: Row, point: PointAt, isSmoothed: boolean): Row {
  const reported: Partial<Row> = Object.fromEntries(
    Object.entries(point).map(([name, value]) => [name, Number(value)]),
  );
  const exact = { ...row, ...reported, y: isSmoothed ? reported.y ?? row.y : row.y };
  return { ...exact, wall: wallOf(row.line, exact.seconds) };
}

/** The changes between the rows at two places; without the second, only A is known. */
export function changes(first: readonly Row[], second: readonly Row[]): Change[] {
  const byId = new Map(second.map((row) => [row.line.id, row]));
  return first.map((one) => {
    const other = byId.get(one.line.id);
    const change = other ? other.value - one.value : NaN;
    return {
      line: one.line,
      a: one.value,
      stepA: one.step,
      b: other ? other.value : NaN,
      stepB: other ? other.step : NaN,
      change,
      relative: one.value !== 0 ? change / Math.abs(one.value) : NaN,
      slope: other && other.x !== one.x ? change / (other.x - one.x) : NaN,
      seconds: other ? other.wall - one.wall : NaN,
    };
  });
}

/** A table of cells as CSV. */
export function csvOf(table: readonly (readonly (string | number)[])[]): string {
  const quoted = (text: string) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return table.map((cells) => cells.map((cell) => quoted(String(cell))).join(",") + "\n").join("");
}
