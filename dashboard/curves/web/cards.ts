// @ts-nocheck
// Cards of curves: what they show, fetched for those on the screen, kept up to date, with one cursor for all.
// dashboard/curves/routes.py answers; curves_*.js draws; curve_table.js and curve_actions.js add to it.
import * as curveModel from "./model.ts";
import * as dash from "../../web/core/dash.ts";
import { binary } from "../../web/core/binary.ts";
import { create, redrawAll } from "../../web/lines/chart.ts";
import { curveActions } from "./actions.ts";
import { curveDock } from "./marks_table.ts";
import { curveProfiled } from "./profiled_steps.ts";
import { curveTable } from "./table.ts";
import { hasten } from "../../web/lines/raster.ts";
import { storage } from "../../web/core/dom.ts";
import { view as pageView } from "../../web/page/view.ts";

const SETTLED_MS = 160;
const MOST_REMEMBERED = 200;
const POINTS_AT_FIRST = 600;

/** `chart` is what the server sent last, `model` what of it is drawn. */
export interface Card {
  key: string;
  element: HTMLElement;
  plot: any;
  chart: any;
  model: any;
  version: string;
}

let panel = "";
/** The page's view, as the cards follow it. */
let query = "";
let params = new URLSearchParams();
let scheme = "light";
let revision = null;
let cards: Map<string, Card> = new Map();
/** Charts of cards that are not mounted now, so that they are there at once when they are again. */
const remembered = new Map();
let visible: string[] = [];
let weight = 0.6;
/** The smoothing that the view had last. */
let saidWeight = 0.6;
let asking = false;
let askAgain = false;
let settling = 0;

// --- the view ----------------------------------------------------------------------------------------------

const value = (name, otherwise) => params.get(`${panel}.${name}`) ?? otherwise;

function rangesOf(entries) {
  const found = new Map();
  for (const entry of entries) {
    const at = entry.lastIndexOf(":");
    const edges = entry.slice(at + 1).split(",").map((text) => (text === "" ? NaN : Number(text)));
    const pair = (
      i,
    ) => (Number.isFinite(edges[i]) && Number.isFinite(edges[i + 1]) ? [edges[i], edges[i + 1]] : undefined);
    if (at > 0) found.set(decodeURIComponent(entry.slice(0, at)), { x: pair(0), y: pair(2), y2: pair(4) });
  }
  return found;
}

let ranges = new Map();

/** Remembers the visible part of a card in the URL; null for all of it. */
function setRange(key, range) {
  if (range) ranges.set(key, range);
  else ranges.delete(key);
  const text = (pair) => (pair ? pair.map((edge) => Number(edge.toPrecision(12))).join(",") : ",");
  const entries = [...ranges].map(
    ([of, { x, y, y2 }]) => `${curveCards.entryKey(of)}:${[text(x), text(y), text(y2)].join(",")}`,
  );
  pageView.update((_params, set) => set(`${panel}.range`, entries));
}

/** A hand zoomed: axes that it left alone go on fitting the data. */
function zoomed(card, range) {
  curveDock.forgetClick();
  if (!range) return setRange(card.key, null);
  const next = { ...ranges.get(card.key) };
  for (const axis of range.changed) next[axis] = range[axis];
  setRange(card.key, next);
}

// --- drawing -----------------------------------------------------------------------------------------------

function draw(card) {
  if (!card.plot || !card.chart) return;
  card.model = curveModel.modelOf(card.chart, {
    weight,
    scheme,
    hidden: new Set(params.getAll("hide")),
    selected: new Set(params.getAll("runs.select")),
    outliers: value("ignore_outliers", "off") === "on",
    yScale: value("y", "linear"),
    range: ranges.get(card.key) || null,
    spans: curveCards.profiled() ? curveProfiled.spans(card.chart, scheme) : [],
  });
  if (!ranges.has(card.key) && card.element.classList.contains("zoomed") && !card.plot.isHeld()) {
    card.plot.setZoom(null);
  }
  card.plot.setModel(card.model);
  card.element.classList.add("drawn");
  card.element.classList.toggle("zoomed", ranges.has(card.key));
  card.plot.highlight(highlighted(card.chart));
  curveTable.place(card);
}

/** Lines of selected runs; null where none is selected. */
function highlighted(chart) {
  const selected = new Set(params.getAll("runs.select"));
  if (!selected.size) return null;
  const found = chart.lines.filter((line) =>
    selected.has(line.run) || (line.runs || []).some((run) => selected.has(run))
  );
  return found.length ? found.map((line) => line.id) : null;
}

function note(card) {
  const note = card.element.querySelector(".note");
  note.textContent = note.title = card.chart.note;
}

// --- data --------------------------------------------------------------------------------------------------

function wanted(card) {
  const range = ranges.get(card.key);
  const width = Math.max(card.element.clientWidth, 300);
  const points = Math.min(Math.ceil(width / 100) * 150, 4000);
  const has = card.chart ? card.chart.points : 0;
  return {
    key: card.key,
    // A few points more or less are not worth another answer.
    points: has >= points * 0.6 && has <= points * 2 ? has : points,
    window: range && range.x ? range.x : null,
    version: card.version,
  };
}

/** The view that the server answered last: without the runs that are switched off, and these. */
let answered = { base: "", hidden: new Set() };

function viewOf(query) {
  const rest = new URLSearchParams(query);
  const hidden = new Set(rest.getAll("hide"));
  rest.delete("hide");
  return { base: `${panel} ${revision} ${rest}`, hidden, grouped: rest.has("runs.group") };
}

/** Whether all that is wanted is here: runs were switched off since, or on again that have not been forgotten. */
function isHere() {
  const now = viewOf(query);
  return !now.grouped && now.base === answered.base && [...answered.hidden].every((run) => now.hidden.has(run));
}

async function ask() {
  if (asking) return void (askAgain = true);
  const charts = visible.map((key) => cards.get(key)).filter(Boolean).map(wanted);
  if (!charts.length || revision === null) return;
  asking = true;
  askAgain = false;
  const [of, asked] = [panel, query];
  try {
    const answer = await fetch(`/api/${of}/curves`, { method: "POST", body: JSON.stringify({ view: asked, charts }) });
    if (!answer.ok) throw new Error((await answer.json()).detail || answer.statusText);
    const header = binary.unpack(await answer.arrayBuffer());
    if (of !== panel) return;
    receive(header, asked);
    answered = viewOf(asked);
  } catch (error) {
    if (of === panel) charts.forEach(({ key }) => failed(cards.get(key), error));
  } finally {
    asking = false;
    if (askAgain) ask();
  }
}

/**
 * Asks for the charts that the page will show first, while Dash and the frame still start. Where settings that the
 * browser remembers may be part of the view, nothing is known yet.
 */
async function prefetch() {
  const query = location.search.replace(/^\?/, "");
  const name = new URLSearchParams(query).get("tab") || "scalars";
  if (!["scalars", "custom_scalars"].includes(name) || (!query && storage.get("stepscope-settings"))) return;
  const answer = await fetch(`/api/${name}/first`, {
    method: "POST",
    body: JSON.stringify({ view: query, points: POINTS_AT_FIRST }),
  });
  if (!answer.ok) return;
  const header = binary.unpack(await answer.arrayBuffer());
  if (!panel) open(name);
  if (panel === name) receive(header, query);
}
prefetch().catch(() => undefined);

function receive(header, asked) {
  const smoothing = Number(new URLSearchParams(asked).get(`${panel}.smoothing`) ?? 0.6);
  const first = revision === null;
  for (const [key, chart] of Object.entries(header.charts)) {
    const card = cards.get(key);
    chart.smoothing = smoothing;
    curveModel.received(chart, header.arrays);
    remember(key, chart);
    if (!card || (first && card.chart)) continue;
    const smoothedOnly = card.model && card.chart && card.chart.raw_version === chart.raw_version;
    card.chart = chart;
    card.version = chart.version;
    note(card);
    if (smoothedOnly && value("ignore_outliers", "off") !== "on") follow(card, weight);
    else draw(card);
  }
  curveTable.refresh();
  curveProfiled.follow(header.revision, header.traces);
  curveCards.drawn += 1;
}

function failed(card, error) {
  if (!card || card.chart) return;
  const box = card.element.querySelector(".note");
  box.textContent = box.title = `Not loaded: ${error.message}`;
}

function remember(key, chart) {
  remembered.delete(key);
  remembered.set(key, chart);
  if (remembered.size > MOST_REMEMBERED) remembered.delete(remembered.keys().next().value);
}

// --- cards come and go -------------------------------------------------------------------------------------

function mount(element) {
  const key = element.dataset.key;
  const old = cards.get(key);
  if (old && old.element === element) return;
  if (old) old.plot.destroy();
  const host = element.querySelector(".curve");
  const card = { key, element, chart: remembered.get(key), model: null, version: "", plot: null };
  card.plot = create(host, {
    onCursor: (x, y, event) => curveTable.cursor(card, x, y, event),
    onLeave: () => curveTable.leave(),
    onZoom: (range) => zoomed(card, range),
    onClick: (
      x,
      y,
      event,
      _line,
      mark,
    ) => (mark && mark.spans ? curveProfiled.open(card, x, event, mark.spans) : curveDock.click(card, x, event)),
    onMenu: (x, event) => curveProfiled.menu(card, x, event),
    onEnter: (x, event) => curveProfiled.menu(card, x, event),
    onMarkHover: (mark, event) => curveTable.mark(mark, event),
  });
  if (card.chart) card.version = card.chart.version;
  cards.set(key, card);
  curveActions.mounted(card, panel);
  if (card.chart) {
    note(card);
    draw(card);
  }
}

function sweep() {
  for (const [key, card] of cards) {
    if (card.element.isConnected) continue;
    card.plot.destroy();
    cards.delete(key);
  }
}

function open(name) {
  if (panel === name) return;
  for (const card of cards.values()) card.plot.destroy();
  cards = new Map();
  remembered.clear();
  visible = [];
  panel = name;
}

document.addEventListener("card-mounted", ({ target }) => {
  if (!target.querySelector(".curve")) return;
  open(target.closest(".groups").dataset.panel);
  mount(target);
});
document.addEventListener("cards-visible", ({ detail }) => {
  if (detail.panel !== panel) return;
  sweep();
  visible = detail.keys;
  ask();
});

export const curveCards = {
  /** How many answers were drawn. */
  drawn: 0,
  panel: () => panel,
  params: () => params,
  query: () => query,
  all: () => [...cards.values()],
  /** Cards on the screen. */
  visible: () => visible.map((key) => cards.get(key)).filter(Boolean),
  find: (key) => cards.get(key),
  rangeOf: (key) => ranges.get(key),
  /** A key as the part of a URL entry before its colon. */
  entryKey: (key) => key.replace(/[%:]/g, encodeURIComponent),
  setRange,
  weight: () => weight,
  /** Whether the panel shows which steps were profiled. */
  profiled: () => value("profiled", "on") === "on",
  redraw: () => cards.forEach(draw),
  /** The horizontal axis that a panel is about to be opened with: what the view says of ranges and marks is meant for it. */
  expectAxis(of, kind) {
    axis = JSON.stringify([of, kind, ""]);
  },
};

let axis = "";

const clientside = {
  /** View, new data or scheme changed. */
  curveNews(view, number, newScheme) {
    const name = window.dash_clientside.callback_context.inputs_list[0].id.panel;
    open(name);
    // News of data alone change nothing before they are here.
    const looks = withoutSmoothing(query) !== withoutSmoothing(view || "") || (newScheme && newScheme !== scheme) ||
      revision === null;
    [query, params, revision] = [view || "", new URLSearchParams(view || ""), number ?? revision ?? 0];
    if (newScheme && newScheme !== scheme) {
      scheme = newScheme;
      redrawAll();
    }
    ranges = rangesOf(params.getAll(`${panel}.range`));
    const now = Number(value("smoothing", 0.6));
    // News of other things leave alone what the slider shows under the hand.
    if (now !== saidWeight && !settling) {
      saidWeight = now;
      if (now !== weight) smoothBy(now);
    }
    document.querySelectorAll(`.groups[data-panel="${panel}"] .card[data-key]`).forEach(mount);
    sweep();
    if (looks) cards.forEach(draw);
    curveActions.follow(panel);
    curveDock.follow(params, panel);
    if (!isHere()) ask();
    curveProfiled.follow(revision, null);
    return window.dash_clientside.no_update;
  },
  /** Another axis or scale: what was visible in the old unit means nothing in the new one. */
  curveAxisChanged(x, tag, _xScale, _yScale, _outliers, style) {
    const now = JSON.stringify([panel, x, x === "metric" ? tag : ""]);
    const before = axis;
    axis = now;
    const moved = before && JSON.parse(before)[0] === panel && before !== now;
    if (moved && (ranges.size || params.getAll(`${panel}.marks`).length)) {
      ranges.clear();
      pageView.update((_params, set) => {
        set(`${panel}.range`, []);
        set(`${panel}.marks`, []);
      });
    }
    return { ...style, display: x === "metric" ? "block" : "none" };
  },
};

/** Runs were switched on or off, or selected: what is here already is drawn before Dash hears of it. */
function lookAhead() {
  const next = pageView.params();
  const rest = (of) => {
    const others = new URLSearchParams(of);
    for (const name of ["hide", "runs.select", `${panel}.smoothing`]) others.delete(name);
    return others.toString();
  };
  if (!panel || revision === null || rest(next) !== rest(params) || next.toString() === params.toString()) return;
  [query, params] = [next.toString(), next];
  clearTimeout(settling);
  settling = window.setTimeout(settledLooks, SETTLED_MS);
  hasten(true);
  curveCards.visible().forEach(draw);
}

function settledLooks() {
  settling = 0;
  hasten(false);
  cards.forEach(draw);
}

const withoutSmoothing = (text) => {
  const rest = new URLSearchParams(text);
  rest.delete(`${panel}.smoothing`);
  return rest.toString();
};

/** Lines follow at once; what is exact comes when the slider rests. */
function smoothBy(next) {
  const raw = weight > 0 !== next > 0;
  weight = next;
  for (const card of curveCards.all()) {
    if (!card.chart || !card.model) continue;
    if (raw || value("ignore_outliers", "off") === "on") draw(card);
    else follow(card, next);
  }
}

// The slider's thumb tells while it moves; Dash hears of it when it is let go.
function onSlider(thumb) {
  const next = Number(thumb.getAttribute("aria-valuenow"));
  const said = thumb.closest(".field").querySelector(".smoothing-value");
  said.textContent = String(Number(next.toFixed(3)));
  if (next === weight || !panel) return;
  clearTimeout(settling);
  settling = window.setTimeout(settled, SETTLED_MS);
  hasten(true);
  smoothBy(next);
}

/** The hand rests: the lines once more, with fine edges. */
function settled() {
  settling = 0;
  hasten(false);
  smoothBy(weight);
}

new MutationObserver((changes) => {
  for (const { target } of changes) if (target.closest(".smoothing")) onSlider(target);
}).observe(document.documentElement, { subtree: true, attributes: true, attributeFilter: ["aria-valuenow"] });

/** Smooths the lines of a card anew, and nothing else of it. */
function follow(card, next) {
  const smoothed = new Map();
  for (const line of card.chart.lines) {
    if (line.kind !== "member") smoothed.set(line.id, curveModel.smoothed(line, next));
  }
  for (const line of card.model.lines) line.y = smoothed.get(line.id) || line.y;
  card.plot.setLines(smoothed);
}

// The view is a later script.
document.addEventListener("DOMContentLoaded", () => pageView.onChange(lookAhead));

dash.callbacks("stepscope", clientside);
