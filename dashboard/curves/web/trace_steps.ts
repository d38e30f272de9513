// Steps covered by traces, as the curves count them: pure functions of the server's data.
import { firstWhere } from "../../web/core/steps.ts";
import { stepText } from "../../web/core/dom.ts";
import type { AxisAbout, StepsOfTrace } from "./messages.generated.ts";

/** A step of a trace. */
export interface Entry {
  step: number;
  start: number | null;
  duration: number | null;
  number: number;
  begin: number | null;
  end: number | null;
  trace: string;
  label: string;
  joined: StepsOfTrace["joined"];
  order: number;
}
/** Consecutive steps, with their wall times where these are known. */
export interface Stretch {
  first: number;
  last: number;
  begin: number;
  end: number;
}
export interface Profiled {
  /** Sorted by step. */
  entries: Entry[];
  stretches: Stretch[];
}

/** The room shown around a step, as a share of its duration. */
const ROOM = 0.08;
const UNITS: Record<string, number> = { s: 1, min: 60, h: 3600, d: 86400 };

function stretchesOf(entries: readonly Entry[]): Stretch[] {
  const found: Stretch[] = [];
  for (const { step, begin, end, order } of entries) {
    let last = found.at(-1);
    // The times recorded in a file are more exact than the time at which a single step was logged.
    if (order > 0 && last && step === last.last && !Number.isNaN(last.begin)) continue;
    if (!last || step > last.last + 1) found.push(last = { first: step, last: step, begin: NaN, end: NaN });
    last.last = step;
    if (begin !== null && !(last.begin <= begin)) last.begin = begin;
    if (end !== null && !(last.end >= end)) last.end = end;
  }
  return found;
}

/** The profiled steps by the run whose curves they belong to. */
export function profiledByRun(rows: readonly StepsOfTrace[]): Map<string, Profiled> {
  const byRun: Map<string, Entry[]> = new Map();
  for (const { id: trace, label, joined, kind, steps, runs } of rows) {
    // A file holds the whole program, including the steps around this one.
    const order = kind === "file" ? 0 : 1;
    const entries = steps.map(([step, start, duration, number, begin, end]): Entry => (
      { step, start, duration, number, begin, end, trace, label, joined, order }
    ));
    for (const run of runs) {
      const all = byRun.get(run) ?? [];
      byRun.set(run, all);
      for (const entry of entries) all.push(entry);
    }
  }
  return new Map([...byRun].map(([run, entries]) => {
    entries.sort((a, b) => a.step - b.step || a.order - b.order);
    return [run, { entries, stretches: stretchesOf(entries) }];
  }));
}

/** Where a stretch lies on a horizontal axis, for a line that began at `first`; null if it has no place there. */
export function placeOf(stretch: Stretch, { kind, suffix }: AxisAbout, first: number | null): [number, number] | null {
  if (kind === "step") return [stretch.first - 0.5, stretch.last + 0.5];
  if (kind === "metric" || Number.isNaN(stretch.begin)) return null;
  if (kind === "wall") return [stretch.begin, stretch.end];
  const seconds = UNITS[suffix.trim()];
  return seconds && first !== null ? [(stretch.begin - first) / seconds, (stretch.end - first) / seconds] : null;
}

/** The time at a place on a time axis, for a line that began at `first`; NaN on other axes. */
export function timeAt({ kind, suffix }: AxisAbout, first: number | null, x: number): number {
  if (kind === "wall") return x;
  return kind === "relative" && first !== null ? first + x * (UNITS[suffix.trim()] ?? NaN) : NaN;
}

/** The entries of a step. */
export function entriesAt(entries: readonly Entry[], step: number): Entry[] {
  const from = firstWhere(entries.length, (at) => entries[at].step >= step);
  return entries.slice(from, firstWhere(entries.length, (at) => entries[at].step > step));
}

/** The first entry of the nearest step; of two equally near steps, the later one. */
export function nearestEntry(entries: readonly Entry[], step: number): Entry | null {
  const at = firstWhere(entries.length, (index) => entries[index].step >= step);
  const [above, below] = [entries.at(at), at > 0 ? entries[at - 1] : undefined];
  if (below && (!above || step - below.step < above.step - step)) return entriesAt(entries, below.step)[0];
  return above ?? null;
}

/** The step that was running at a time, or else the one that began or ended nearest to it. */
export function entryByTime(entries: readonly Entry[], time: number): { entry: Entry | null; during: boolean } {
  let best: Entry | null = null;
  let least = Infinity;
  for (const entry of entries) {
    if (entry.begin === null || entry.end === null) continue;
    if (entry.begin <= time && time <= entry.end) return { entry, during: true };
    const distance = Math.min(Math.abs(entry.begin - time), Math.abs(entry.end - time));
    if (distance < least) [best, least] = [entry, distance];
  }
  return { entry: best, during: false };
}

/** The range the Timeline shows for a step: the step with some room, or everything if the trace is a single step. */
export function rangeOf({ start, duration }: Pick<Entry, "start" | "duration">): string {
  if (start === null || duration === null) return "";
  const room = Math.max(1000, Math.round(duration * ROOM));
  return `${start - room}:${start + duration + room}`;
}

export const stretchText = ({ first, last }: Stretch): string =>
  first === last ? `step ${stepText(first)}` : `steps ${stepText(first)} to ${stepText(last)}`;

/** Explains how a step was found in its trace. */
export function explained(
  { joined, number, step, label }: Pick<Entry, "joined" | "number" | "step" | "label">,
): string {
  const how = {
    step: "joined by step number",
    time: `joined by wall time: the trace calls it step ${stepText(number)}`,
    marked: "by the trace's own step numbers: nothing was logged at its time",
  };
  return `Step ${stepText(step)} in ${label}, ${how[joined]}`;
}
