// @ts-nocheck
// Steps that traces cover, on the curves of their runs: bands behind the lines, the way to the Timeline, and the way back.
// dashboard/panels/timeline/routes_steps.py tells them; dashboard/traces/step_ranges.py says how steps are joined.
import { curveCards } from "./cards.ts";
import { curveTable } from "./table.ts";
import { elements } from "../../web/core/dom.ts";
import { loop } from "../../web/lines/loop.ts";
import { popover } from "../../web/core/popover.ts";
import { runs as pageRuns } from "../../runs/web/state.ts";
import { view as pageView } from "../../web/page/view.ts";

const AGAIN_MS = 1000;
const MOST_CHOICES = 24;
/** The share of a step that is shown around it. */
const ROOM = 0.08;

/** What the server tells of a trace. */
export interface Entry {
  step: number;
  start: number | null;
  duration: number | null;
  number: number;
  begin: number | null;
  end: number | null;
  trace: string;
  label: string;
  joined: "step" | "time" | "marked";
  order: number;
}
/** Steps without a gap. */
export interface Row {
  id: string;
  run: string;
  label: string;
  kind: string;
  state: string;
  problem: string;
  runs: string[];
  joined: Entry["joined"];
  steps: (number | null)[][];
  left_out: number;
  range: number[] | null;
  wall: number[] | null;
}
export interface Stretch {
  first: number;
  last: number;
  begin: number;
  end: number;
}

/** A step of a trace. */

let there = false;
let version = "";
let pending = false;
let rows: Row[] = [];
/** by the run whose curves they are on */
let byRun: Map<string, { entries: Entry[]; stretches: Stretch[] }> = new Map();
let latest = null;
let asked = null;
let asking = false;
let timer = 0;

const said = (step) => elements.step(step);

// --- what the server tells -----------------------------------------------------------------------------------

function stretchesOf(entries) {
  const found = [];
  let last = null;
  for (const { step, begin, end, order } of entries) {
    // What a file says of its time is more exact than when a single step was logged.
    if (order > 0 && last && step === last.last && !Number.isNaN(last.begin)) continue;
    if (!last || step > last.last + 1) found.push(last = { first: step, last: step, begin: NaN, end: NaN });
    last.last = step;
    if (begin !== null && !(last.begin <= begin)) last.begin = begin;
    if (end !== null && !(last.end >= end)) last.end = end;
  }
  return found;
}

function arrange() {
  byRun = new Map();
  for (const row of rows) {
    for (const run of row.runs) {
      if (!byRun.has(run)) byRun.set(run, { entries: [], stretches: [] });
      const { entries } = byRun.get(run);
      for (const [step, start, duration, number, begin, end] of row.steps) {
        // A file has the whole program in it, and the steps around this one.
        entries.push({
          step,
          start,
          duration,
          number,
          begin,
          end,
          trace: row.id,
          label: row.label,
          joined: row.joined,
          order: row.kind === "file" ? 0 : 1,
        });
      }
    }
  }
  for (const one of byRun.values()) {
    one.entries.sort((a, b) => a.step - b.step || a.order - b.order);
    one.stretches = stretchesOf(one.entries);
  }
}

async function ask() {
  if (asking || document.hidden) return;
  asking = true;
  asked = latest;
  try {
    const answer = await fetch("/api/timeline/steps?" + new URLSearchParams({ version }));
    if (!answer.ok) return;
    const news = await answer.json();
    pending = news.pending;
    if (news.traces) {
      [version, rows] = [news.version, news.traces];
      arrange();
      if (curveCards.profiled()) curveCards.redraw();
    }
  } catch {
    // The server is away; the next revision asks again.
  } finally {
    asking = false;
  }
  clearTimeout(timer);
  if (asked !== latest) ask();
  else if (pending) timer = setTimeout(ask, AGAIN_MS);
}

/** News of the log directory: whether it has traces, and its revision. */
function follow(revision, traces) {
  there = traces ?? there;
  latest = revision ?? latest;
  if (there && latest !== asked && curveCards.profiled()) ask();
}

// --- bands ---------------------------------------------------------------------------------------------------

const UNITS = { s: 1, min: 60, h: 3600, d: 86400 };

/** Where a stretch is on the horizontal axis of a chart; null where it has no place there. */
function placeOf(stretch, chart, line) {
  const { kind, suffix } = chart.x;
  if (kind === "step") return [stretch.first - 0.5, stretch.last + 0.5];
  if (kind === "metric" || Number.isNaN(stretch.begin)) return null;
  if (kind === "wall") return [stretch.begin, stretch.end];
  const seconds = UNITS[(suffix || "").trim()];
  if (!seconds || line.first === undefined || line.first === null) return null;
  return [(stretch.begin - line.first) / seconds, (stretch.end - line.first) / seconds];
}

/** The runs of a chart that have traces, each with the first of its lines that is shown. */
function runsOf(chart) {
  const hidden = new Set(pageView.params().getAll("hide"));
  const found = new Map();
  for (const line of chart.lines) {
    if (line.kind === "member") continue;
    for (const run of line.kind === "group" ? line.runs : [line.run]) {
      if (byRun.has(run) && !found.has(run) && !(line.kind !== "group" && hidden.has(run))) found.set(run, line);
    }
  }
  return found;
}

const nameOf = (run, line) => pageRuns.label(line.kind === "group" ? run : line.label);
const stepsText = (
  { first, last },
) => (first === last ? `step ${said(first)}` : `steps ${said(first)} to ${said(last)}`);

/** Bands for a chart, as the engine draws spans. */
function spans(chart: any, scheme: "light" | "dark") {
  const found = [];
  if (!byRun.size) return found;
  for (const [run, line] of runsOf(chart)) {
    for (const stretch of byRun.get(run).stretches) {
      const place = placeOf(stretch, chart, line);
      if (!place) continue;
      found.push({
        x0: place[0],
        x1: place[1],
        color: line[scheme],
        run,
        // There may be hundreds, and few are ever read.
        get title() {
          return `${nameOf(run, line)}: ${stepsText(stretch)} profiled, click for the Timeline`;
        },
      });
    }
  }
  return found;
}

// --- which step is meant ---------------------------------------------------------------------------------------

/** The first place in `entries` whose step is not below. */
function firstAt(entries, step) {
  let [low, high] = [0, entries.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (entries[middle].step < step) low = middle + 1;
    else high = middle;
  }
  return low;
}

function nearest(entries, step) {
  const at = firstAt(entries, step);
  const [above, below] = [entries[at], entries[at - 1]];
  if (!above || (below && step - below.step < above.step - step)) return entries[firstAt(entries, below.step)];
  return above;
}

/** The time at a place on an axis of time; NaN on others. */
function timeAt(chart, line, x) {
  if (chart.x.kind === "wall") return x;
  const seconds = chart.x.kind === "relative" ? UNITS[(chart.x.suffix || "").trim()] : NaN;
  return line.first === undefined || line.first === null ? NaN : line.first + x * seconds;
}

/** The step that ran at a time, or the one that began nearest to it. */
function byTime(entries, time) {
  let [best, least] = [null, Infinity];
  for (const entry of entries) {
    if (entry.begin === null) continue;
    if (entry.begin <= time && time <= entry.end) return { entry, during: true };
    const distance = Math.min(Math.abs(entry.begin - time), Math.abs(entry.end - time));
    if (distance < least) [best, least] = [entry, distance];
  }
  return { entry: best, during: false };
}

/**
 * What was profiled at a place of a card: for each run with traces the step under it, or else the one nearest.
 * @returns `away`: in steps
 */
function profiledAt(card, x): { run: string; name: string; exact: Entry | null; near: Entry; away: number }[] {
  const found = [];
  if (!byRun.size || !card.chart || !curveCards.profiled()) return found;
  const points = new Map(curveTable.rowsAt(card, x).map((row) => [row.line.id, row.step]));
  for (const [run, line] of runsOf(card.chart)) {
    const { entries } = byRun.get(run);
    const point = points.get(line.id);
    const steps = (card.chart.x.kind === "step" ? [point, Math.round(x)] : [point]).filter(Number.isFinite);
    const time = timeAt(card.chart, line, x);
    const timed = Number.isFinite(time) ? byTime(entries, time) : { entry: null, during: false };
    const same = steps.map((step) => entries[firstAt(entries, step)]).find((entry, index) =>
      entry && entry.step === steps[index]
    );
    const exact = (timed.during && timed.entry) || same || null;
    const near = exact || timed.entry || (steps.length ? nearest(entries, steps[steps.length - 1]) : null);
    if (near) {
      found.push({
        run,
        name: nameOf(run, line),
        exact,
        near,
        away: steps.length ? Math.abs(near.step - steps[steps.length - 1]) : 0,
      });
    }
  }
  return found;
}

// --- to the Timeline -------------------------------------------------------------------------------------------

/** What the Timeline shows for a step: the step with some room, or all of a trace that is one step. */
function rangeOf({ start, duration }) {
  if (start === null || duration === null) return "";
  const room = Math.max(1000, Math.round(duration * ROOM));
  return `${start - room}:${start + duration + room}`;
}

/** Opens the Timeline at a step. */
function show(entry: Entry) {
  pageView.open("timeline", {
    "timeline.trace": [entry.trace],
    "timeline.range": [rangeOf(entry)],
    "timeline.slice": [],
  });
}

/** Entries of a menu: the step of each run, or that of one run in every trace that has it. */
function choices(found, near) {
  const several = found.length > 1;
  const all = [];
  for (const { run, name, exact, near: next } of found) {
    const entry = near ? next : exact;
    const { entries } = byRun.get(run);
    const same = [];
    for (let i = firstAt(entries, entry.step); i < entries.length && entries[i].step === entry.step; i += 1) {
      same.push(entries[i]);
    }
    const label = near ? `Nearest profiled step: ${said(entry.step)}` : `Show step ${said(entry.step)} on the Timeline`;
    for (const one of several ? [entry] : same) {
      const of = several ? name : same.length > 1 ? one.label : "";
      all.push([of ? `${label} (${of})` : label, () => show(one)]);
    }
  }
  if (all.length <= MOST_CHOICES) return all;
  const more = elements.make(
    "div",
    { className: "menu-heading" },
    `and ${all.length - MOST_CHOICES} more: show fewer runs, or zoom in`,
  );
  return [...all.slice(0, MOST_CHOICES), more];
}

function openMenu(card, found, near, at) {
  const place = { left: at.clientX, top: at.clientY, bottom: at.clientY };
  // The last move of the pointer is still to be drawn.
  loop.before(card, () => curveTable.leave());
  popover.menu(card.element.querySelector(".curve"), "Profiled steps", choices(found, near), place);
}

/** The strip of bands was clicked: to the step there, or to a choice where several runs have one. */
function open(card, x, event, spansThere) {
  const runs = new Set(spansThere.map((span) => span.run));
  const found = profiledAt(card, x).filter((one) => runs.has(one.run));
  const meant = found.map((one) => ({ ...one, exact: one.near }));
  if (meant.length === 1) show(meant[0].near);
  else if (meant.length) openMenu(card, meant, false, event);
}

/** A menu was asked for at a place, or Enter pressed there; where nothing is to be offered the browser's own comes. */
function menu(card, x, event) {
  const all = profiledAt(card, x);
  if (!all.length) return;
  event.preventDefault();
  const exact = all.filter((one) => one.exact);
  if (event.type === "keydown" && exact.length === 1) return show(exact[0].exact);
  const [middle] = card.plot.visibleRange().y;
  openMenu(
    card,
    exact.length ? exact : all,
    !exact.length,
    event.type === "keydown" ? card.plot.toClient(x, middle) : event,
  );
}

/** What the cursor's box says of the step under it; empty where it was not profiled. */
function hint(card, x) {
  const exact = profiledAt(card, x).filter((one) => one.exact);
  if (!exact.length) return "";
  const steps = [...new Set(exact.map((one) => one.exact.step))];
  const step = steps.length === 1 ? `Step ${said(steps[0])}` : "A step";
  return `${step} profiled${exact.length > 1 ? ` in ${exact.length} runs` : ""}: right click or Enter for the Timeline`;
}

/** Buttons for the step that is marked: to it, or to the nearest that was profiled. */
function actions(card, x) {
  const all = profiledAt(card, x);
  if (!all.length) return [];
  const exact = all.filter((one) => one.exact);
  const offered = exact.length ? exact : [all.reduce((best, one) => (one.away < best.away ? one : best))];
  const steps = [...new Set(offered.map((one) => one.near.step))];
  const which = steps.length === 1 ? `step ${said(steps[0])}` : "a step";
  const of = all.length > 1 ? ` (${offered[0].name})` : "";
  const text = exact.length
    ? `Show ${which} on the Timeline${exact.length > 1 ? "…" : of}`
    : `Nearest profiled step: ${said(steps[0])}${of}`;
  const button = elements.make(
    "button",
    { className: "quiet act-profiled", title: explained(offered[0].near) },
    elements.icon("timeline", 14),
    text,
  );
  button.addEventListener("click", () => {
    const { left, top } = button.getBoundingClientRect();
    if (offered.length === 1) show(offered[0].near);
    else openMenu(card, offered, false, { clientX: left, clientY: top });
  });
  return [button];
}

/** How a step was found in its trace. */
function explained({ joined, number, step, label }) {
  const how = {
    step: "joined by step number",
    time: `joined by wall time: the trace calls it step ${said(number)}`,
    marked: "by the trace's own step numbers: nothing was logged at its time",
  };
  return `Step ${said(step)} in ${label}, ${how[joined]}`;
}

// --- back from the Timeline --------------------------------------------------------------------------------------

/** The steps of one trace. */
export async function stepsOf(traceId: string): Promise<Row> {
  const answer = await fetch("/api/timeline/steps?" + new URLSearchParams({ id: traceId }));
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.detail || answer.statusText);
  return found;
}

/** Parameters with which runs are shown, whatever hides them now. */
function shown(runs) {
  const params = pageView.params();
  const { rows: known, isOn, around } = pageRuns;
  const missing = runs.filter((run) => !known.has(run) || !isOn(known.get(run)));
  if (!missing.length) return {};
  const inBase = (run) =>
    params.get("runs") === "all" ||
    (!params.has("runs") && known.has(run) && known.get(run).order < around().defaultRuns);
  const searched = missing.some((run) => !known.has(run));
  return {
    hide: params.getAll("hide").filter((run) => !missing.includes(run)),
    show: [...new Set([...params.getAll("show"), ...missing.filter((run) => !inBase(run))])],
    ...(searched ? { run_filter: [""] } : {}),
  };
}

/** The first card of the open view that has one of the runs. */
async function cardOf(runs) {
  const view = new URLSearchParams([["runs", "none"], ...runs.map((run) => ["show", run])]);
  const answer = await fetch("/api/scalars/names?" + new URLSearchParams({ view: view.toString() }));
  const { tags } = answer.ok ? await answer.json() : { tags: [] };
  return tags[0] || "";
}

/**
 * Shows a step on the curves: opens the Scalars with the step marked on all cards, and the run switched on.
 * @param run that of the curves or of the trace
 * @param step as the curves count
 */
export async function showStep(run: string, step: number): Promise<void> {
  const row = rows.find((one) => one.run === run && one.runs.length && !one.runs.includes(run));
  const runs = row ? row.runs : [run];
  const key = await cardOf(runs);
  const kind = pageView.values("scalars.axis")[0] || "step";
  curveCards.expectAxis("scalars", "step");
  pageView.open("scalars", {
    "scalars.axis": ["step"],
    "scalars.marks": key ? [`card:${key}`, `a:${step}`] : [],
    // A zoom may not have the step in it; one of another axis means nothing.
    "scalars.range": kind === "step" ? withStep(pageView.params().getAll("scalars.range"), step) : [],
    "scalars.full": [],
    ...shown(runs),
  });
}

/** Zooms of cards, without those that leave a step out. */
function withStep(entries, step) {
  return entries.filter((entry) => {
    const [low, high] = entry.slice(entry.lastIndexOf(":") + 1).split(",");
    return !low || !high || (Number(low) <= step && step <= Number(high));
  });
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden && there && (pending || latest !== asked)) ask();
});

export const curveProfiled = { follow, spans, open, menu, hint, actions, version: () => version, at: profiledAt };
