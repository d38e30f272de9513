// Steps covered by traces, on the curves of their runs: bands behind the lines, and the way back from the Timeline.
// dashboard/panels/timeline/routes_steps.py serves them; dashboard/traces/step_ranges.py explains how steps are joined.
import { runs as pageRuns } from "../../runs/web/state.ts";
import { stepText } from "../../web/core/dom.ts";
import { Api } from "../../web/core/request.ts";
import type { Span } from "../../web/lines/scene.ts";
import { view } from "../../web/page/view.ts";
import { markEntries, sharedOf, withStep } from "./entries.ts";
import { rowsOf } from "./exact.ts";
import type { NamesAnswer, StepsNews, StepsOfTrace } from "./messages.generated.ts";
import type { CurveChart, CurveLine, Scheme } from "./model.ts";
import { settingsOf } from "./settings.generated.ts";
import { axisNamed, type Card, showsProfiled, state } from "./state.ts";
import {
  entriesAt,
  type Entry,
  entryByTime,
  nearestEntry,
  placeOf,
  type Profiled,
  profiledByRun,
  stretchText,
  timeAt,
} from "./trace_steps.ts";

const AGAIN_MS = 1000;

/** A band and the run that was profiled. */
interface ProfiledSpan extends Span {
  run: string;
}
/** The profiled steps of a run at a place of a card. */
export interface Found {
  run: string;
  name: string;
  /** All profiled steps of the run. */
  entries: Entry[];
  /** The step at this place; null if it was not profiled. */
  exact: Entry | null;
  /** The exact step, or else the nearest one. */
  near: Entry;
  /** How far away `near` is, in steps. */
  away: number;
}
const api = new Api("api/timeline");
const listeners: (() => void)[] = [];
const waiting: Set<() => void> = new Set();
let there = false;
let known = "";
let pending = false;
let rows: StepsOfTrace[] = [];
let byRun: Map<string, Profiled> = new Map();
let latest: number | null = null;
let requested: number | null = null;
let asking = false;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Calls back when bands must be redrawn. */
export const onNews = (listener: () => void): void => void listeners.push(listener);
/** Calls back when the profiled steps have been updated, whether curves are shown or not, until the signal. */
export function onKnown(listener: () => void, signal: AbortSignal): void {
  waiting.add(listener);
  signal.addEventListener("abort", () => waiting.delete(listener));
}
/** Asks which steps were profiled, for use where no curves are shown. */
export const know = (): void => void ask();
/** The profiled entry of a run at a step, from the first trace that has it. */
export const profiledAtStep = (run: string, step: number): Entry | null =>
  entriesAt(byRun.get(run)?.entries ?? [], step)[0] ?? null;
/** Changes whenever the known steps change. */
export const version = (): string => known;

// --- data from the server ------------------------------------------------------------------------------------

async function ask() {
  if (asking || document.hidden) return;
  asking = true;
  requested = latest;
  try {
    const news = await api.ask<StepsNews>("steps", { version: known });
    pending = news.pending;
    if (news.traces) {
      [known, rows] = [news.version, news.traces];
      byRun = profiledByRun(rows);
      for (const listener of waiting) listener();
      if (showsProfiled()) { for (const listener of listeners) listener(); }
    }
  } catch {
    // The server is unreachable; the next revision triggers another request.
  } finally {
    asking = false;
  }
  clearTimeout(timer);
  if (requested !== latest) void ask();
  else if (pending) timer = setTimeout(ask, AGAIN_MS);
}

/** Takes in news of the log directory: whether it has traces, and its revision. */
export function follow(revision: number | null, traces: boolean | null): void {
  there = traces ?? there;
  latest = revision ?? latest;
  if (there && latest !== requested && showsProfiled()) void ask();
}

// --- bands ---------------------------------------------------------------------------------------------------

/** The runs of a chart that have traces, each with the first of its visible lines. */
function runsOf(chart: CurveChart): { run: string; line: CurveLine; profiled: Profiled }[] {
  const hidden = new Set(view.params().getAll("hide"));
  const found: Map<string, { run: string; line: CurveLine; profiled: Profiled }> = new Map();
  for (const line of chart.lines) {
    if (line.kind === "member") continue;
    const isGroup = line.kind === "group";
    for (const run of (isGroup ? line.runs : [line.run]) ?? []) {
      const profiled = run === undefined ? undefined : byRun.get(run);
      if (run === undefined || !profiled || found.has(run) || (!isGroup && hidden.has(run))) continue;
      found.set(run, { run, line, profiled });
    }
  }
  return [...found.values()];
}

const nameOf = (run: string, line: CurveLine): string => pageRuns.label(line.kind === "group" ? run : line.label);

/** The bands of a chart, as spans that the engine draws. */
export function spans(chart: CurveChart, scheme: Scheme): ProfiledSpan[] {
  if (!byRun.size || !showsProfiled()) return [];
  return runsOf(chart).flatMap(({ run, line, profiled }) =>
    profiled.stretches.flatMap((stretch) => {
      const place = placeOf(stretch, chart.x, line.first ?? null);
      if (!place) return [];
      return {
        x0: place[0],
        x1: place[1],
        color: line[scheme],
        run,
        // There may be hundreds, of which few are ever read.
        get title() {
          return `${nameOf(run, line)}: ${stretchText(stretch)} profiled, click for the Timeline`;
        },
      };
    })
  );
}

export const isProfiled = (span: Span): span is ProfiledSpan => "run" in span;

// --- choosing the step -----------------------------------------------------------------------------------------

/** The profiled steps at a place of a card: for each run with traces, the step there or else the nearest. */
export function profiledAt(card: Card, x: number): Found[] {
  const { chart } = card;
  if (!byRun.size || !chart || !showsProfiled()) return [];
  const points = new Map(rowsOf(card, x).map((row) => [row.line.id, row.step]));
  return runsOf(chart).flatMap(({ run, line, profiled: { entries } }) => {
    const point = points.get(line.id) ?? NaN;
    const steps = (chart.x.kind === "step" ? [point, Math.round(x)] : [point]).filter(Number.isFinite);
    const time = timeAt(chart.x, line.first ?? null, x);
    const timed = Number.isFinite(time) ? entryByTime(entries, time) : { entry: null, during: false };
    const same = steps.map((step) => entriesAt(entries, step).at(0)).find((entry) => entry !== undefined);
    const exact = (timed.during && timed.entry) || same || null;
    const step = steps.at(-1);
    const near = exact ?? timed.entry ?? (step === undefined ? null : nearestEntry(entries, step));
    if (!near) return [];
    return {
      run,
      name: nameOf(run, line),
      entries,
      exact,
      near,
      away: step === undefined ? 0 : Math.abs(near.step - step),
    };
  });
}

/** The cursor box's hint about the step under it; empty if it was not profiled. */
export function hint(card: Card, x: number): string {
  const exact = profiledAt(card, x).map((one) => one.exact).filter((entry) => entry !== null);
  if (!exact.length) return "";
  const steps = [...new Set(exact.map((entry) => entry.step))];
  const step = steps.length === 1 ? `Step ${stepText(steps[0])}` : "A step";
  return `${step} profiled${exact.length > 1 ? ` in ${exact.length} runs` : ""}: right click or Enter for the Timeline`;
}

// --- back from the Timeline --------------------------------------------------------------------------------------

/** The steps of one trace. */
export const stepsOf = (traceId: string): Promise<StepsOfTrace> => api.ask<StepsOfTrace>("steps", { id: traceId });

/** Parameters that make runs visible, whatever hides them now. */
function shown(runs: readonly string[]): Record<string, string[]> {
  const params = view.params();
  const { rows: listed, isOn, around } = pageRuns;
  // A search that hides one of the runs is dropped, along with what it showed.
  const unsearched = runs.some((run) => !listed.has(run));
  const found = runs.map((run) => ({ run, row: listed.get(run) }))
    .filter(({ row }) => !row || unsearched || !isOn(row));
  if (!found.length) return {};
  const missing = found.map(({ run }) => run);
  const added = found.filter(({ row }) =>
    params.get("runs") !== "all" &&
    (params.has("runs") || !row || unsearched || row.order > around().last_default)
  );
  return {
    hide: params.getAll("hide").filter((run) => !missing.includes(run)),
    show: [...new Set([...params.getAll("show"), ...added.map(({ run }) => run)])],
    ...(unsearched ? { run_filter: [""] } : {}),
  };
}

/** The first card that has one of the runs. */
async function cardOf(runs: readonly string[]): Promise<string> {
  const only = new URLSearchParams([["runs", "none"], ...runs.map((run) => ["show", run])]);
  const { tags } = await new Api("api/scalars").ask<NamesAnswer>("names", { view: only.toString() })
    .catch(() => ({ tags: [] }));
  return tags[0] ?? "";
}

/**
 * @param run the run of the curves or of the trace
 * @param step the step as the curves count it
 * @param step as the curves count
 */
export async function showStep(run: string, step: number): Promise<void> {
  const row = rows.find((one) => one.run === run && one.runs.length && !one.runs.includes(run));
  const runs = row ? row.runs : [run];
  const before = view.values("tab").join();
  const key = await cardOf(runs);
  // A user who has switched to another tab meanwhile stays there.
  if (view.values("tab").join() !== before) return;
  const { axis, marks, range, zoom, full } = settingsOf("scalars");
  const shared = sharedOf(view.read(zoom));
  state.axis = axisNamed("scalars", "step", "");
  view.open("scalars", {
    [axis.name]: axis.format("step"),
    [marks.name]: key ? markEntries({ card: key, a: step, b: null }) : [],
    // The zoom may not include the step, and a zoom of another axis means nothing.
    [zoom.name]: view.read(axis) === "step" && shared && shared[0] <= step && step <= shared[1]
      ? [view.read(zoom)]
      : [],
    [range.name]: view.read(axis) === "step" ? withStep(view.read(range), step) : [],
    [full.name]: [],
    ...shown(runs),
  });
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden && there && (pending || latest !== requested)) void ask();
});
