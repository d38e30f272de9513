/** Turns the frames of a job into places for all points, and into words. */
import { integer } from "../../../web/core/numbers.ts";
import { format } from "./widgets.ts";
import type { Frame } from "./jobs.ts";

/** The number of components of a principal component analysis. */
export const SHOWN_COMPONENTS = 10;
/** The most steps that are projected together. */
const MOST_STEPS = 200;

/**
 * Coordinates of all points: chosen columns for those that were projected, their middle for the rest.
 * @param picked a column for each dimension; -1 for zeros
 * @param rows of the points that were projected; null for all
 */
export function spread(
  coordinates: Float32Array,
  columns: number,
  picked: readonly number[],
  rows: Uint32Array | null,
  count: number,
): Float32Array {
  const dimensions = picked.length;
  if (!rows && columns === dimensions && picked.every((component, at) => component === at)) return coordinates;
  const held = Math.floor(coordinates.length / columns);
  const values = new Float32Array(count * dimensions);
  picked.forEach((component, axis) => {
    if (component < 0) return;
    if (rows) {
      let sum = 0;
      for (let at = 0; at < held; at += 1) sum += coordinates[at * columns + component];
      for (let row = 0; row < count; row += 1) values[row * dimensions + axis] = sum / Math.max(held, 1);
    }
    for (let at = 0; at < held; at += 1) {
      values[(rows ? rows[at] : at) * dimensions + axis] = coordinates[at * columns + component];
    }
  });
  return values;
}

/** At most as many steps as are projected together, evenly chosen, including the one shown. */
export function someOf(steps: number[], shown: number | null, most = MOST_STEPS): number[] {
  if (steps.length <= most) return steps;
  const at = (place: number) => steps[Math.round((place * (steps.length - 1)) / (most - 2))];
  const chosen = new Set(Array.from({ length: most - 1 }, (_, place) => at(place)));
  if (shown !== null) chosen.add(shown);
  return [...chosen].sort((a, b) => a - b);
}

type Progress = Pick<
  Frame,
  "state" | "phase" | "iteration" | "total" | "seconds_left" | "updates_per_second" | "message"
>;

/** Describes the progress of a job in one line. */
export function progressText(frame: Progress, title: string): string {
  const { seconds } = format;
  const { iteration, total, phase, message, updates_per_second: speed, seconds_left: left } = frame;
  const of = total ? ` of ${integer(total)}` : "";
  const at = total || iteration ? `iteration ${integer(iteration)}${of}` : phase;
  switch (frame.state) {
    case "queued":
      return `${title}: ${message || "queued"}`;
    case "running":
      return [
        `${title}: ${at || "working"}`,
        phase && total && !["done", "iterations"].includes(phase) ? phase : "",
        iteration && speed ? `${speed.toFixed(speed < 10 ? 1 : 0)} per second` : "",
        left === null ? "" : `${seconds(left)} left`,
      ].filter(Boolean).join(" · ");
    case "paused":
      return `${title}: paused at ${at}`;
    case "cancelled":
      return `${title}: stopped at ${at}`;
    case "failed":
      return `${title}: ${message || "failed"}`;
    default:
      return "";
  }
}

/** Facts about a long projection, as names and values. */
export function factsOf(frame: Frame, lossName: string): [name: string, value: string][] {
  const { number, seconds } = format;
  const { iteration, total, phase, state, loss, updates_per_second: speed, seconds_left: left } = frame;
  const ended = ["done", "cancelled", "failed"].includes(state);
  const runs = state === "running";
  const facts: [string, string | false | null][] = [
    ["Iteration", total ? `${integer(iteration)} of ${integer(total)}` : integer(iteration)],
    ["Now", !iteration && !ended && phase],
    ["Iterations per second", runs && iteration > 0 && speed !== null && speed > 0 && speed.toFixed(1)],
    ["Time left", runs && left !== null && seconds(left)],
    [lossName, loss !== null && number(loss)],
  ];
  return facts.flatMap(([name, value]): [string, string][] => (value ? [[name, value]] : []));
}
