// Cards of curves: their charts are fetched while on the screen and kept up to date, with one cursor for all.
// dashboard/curves/routes.py serves the data; web/lines draws it.
import { live } from "../../web/page/live.ts";
import { settings as runSettings } from "../../runs/web/settings.generated.ts";
import { runs } from "../../runs/web/state.ts";
import type { Column } from "../../web/core/binary.ts";
import { cards as pageCards } from "../../web/cards/grid.ts";
import { failed as notLoaded, ready } from "../../web/cards/loading.ts";
import { callbackContext, callbacks, noUpdate } from "../../web/core/dash.ts";
import { storage, within } from "../../web/core/dom.ts";
import { Api } from "../../web/core/request.ts";
import { create, redrawAll, type ShownRange } from "../../web/lines/chart.ts";
import { hasten } from "../../web/lines/raster.ts";
import type { AxisName } from "../../web/lines/scene.ts";
import { view as pageView } from "../../web/page/view.ts";
import * as actions from "./actions.ts";
import "./commands.ts";
import { showBars, singles } from "./bars.ts";
import { ownOf as ownOfEntries, ownText, rangesOf, sharedOf } from "./entries.ts";
import { light, showInList } from "./light.ts";
import * as marks from "./marks_table.ts";
import type { ChartsAnswer } from "./messages.generated.ts";
import { type CurveChart, modelOf, received, type Scheme, smoothed } from "./model.ts";
import * as profiledMenu from "./profiled_menu.ts";
import * as profiled from "./profiled_steps.ts";
import { settingsOf } from "./settings.generated.ts";
import { saidBySlider, sayWeight } from "./smoothing_box.ts";
import {
  allCards,
  api,
  axisNamed,
  canShare,
  type Card,
  isZoomed,
  ownOf,
  rangeOf,
  read,
  readSetting,
  resetRange,
  setRange,
  state,
  visibleCards,
  weightOf,
} from "./state.ts";
import * as table from "./table.ts";

const SETTLED_MS = 160;
const MOST_REMEMBERED = 200;
const RETRY_MS = 2000;
const POINTS_AT_FIRST = 600;
/** The most charts in a request; the server refuses more. */
const MOST_CHARTS = 64;
/** The most keys on a card, and on a card that fills the window. */
const MOST_KEYS = { card: 8, full: 40 };

type Answer = ChartsAnswer & { arrays: Column[] };
/** What is requested for a chart. */
interface Wanted {
  key: string;
  points: number;
  window: [number, number] | null;
  version: string;
}

let revision: number | null = null;
/** Charts of cards that are not mounted now, kept so that they appear at once when mounted again. */
const remembered: Map<string, CurveChart> = new Map();
/** The last smoothing in the view. */
let saidWeight = state.weight;
/** The last horizontal axis that was chosen, whether or not its metric was. */
let kind = "";
let asking = false;
let askAgain = false;
let retrying = 0;
/** Set while the user is moving a control. */
let settling: ReturnType<typeof setTimeout> | null = null;

const ignoresOutliers = (key: string) => ownOf(key).inliers ?? read(({ ignoreOutliers }) => ignoreOutliers);
const mostKeys = ({ element }: Card) =>
  !read(({ legend }) => legend) ? 0 : element.classList.contains("full") ? MOST_KEYS.full : MOST_KEYS.card;

/** Called when the user zooms; axes that were left alone still fit the data. */
function zoomed(card: Card, range: ShownRange & { changed: AxisName[] } | null) {
  marks.forgetClick();
  if (!range) return resetRange(card.key);
  const chosen = Object.fromEntries(range.changed.map((axis) => [axis, range[axis]]));
  setRange(card.key, { ...state.ranges.get(card.key), ...chosen });
}

// --- drawing -----------------------------------------------------------------------------------------------

function draw(card: Card) {
  const { chart, element, plot, key } = card;
  if (!chart) return;
  const range = rangeOf(key);
  card.model = modelOf(chart, {
    weight: weightOf(key),
    scheme: state.scheme,
    hidden: runs.hidden(state.params),
    selected: new Set(readSetting(runSettings.select)),
    outliers: ignoresOutliers(key),
    yScale: ownOf(key).scale ?? read(({ y }) => y),
    range,
    spans: profiled.spans(chart, state.scheme),
    mostKeys: mostKeys(card),
  });
  if (!range && element.classList.contains("zoomed") && !plot.isHeld()) plot.setZoom(null);
  plot.setModel(card.model);
  element.classList.add("drawn");
  ready(element);
  showBars(element, range ? [] : singles(chart, runs.hidden(state.params)));
  element.classList.toggle("zoomed", range !== null);
  element.classList.toggle("shareable", canShare(key));
  note(card, [ownText(ownOf(key)), chart.note].filter(Boolean).join(" · "));
  light(card);
  marks.place(card);
  table.place(card);
}

const redraw = () => state.cards.forEach(draw);

/** Smooths the lines of a card again and redraws nothing else. */
function smoothAnew({ key, chart, model, plot }: Card) {
  const lines = chart?.lines.filter((line) => line.kind !== "member") ?? [];
  const updates = new Map(lines.map((line) => [line.id, smoothed(line, weightOf(key))]));
  for (const line of model?.lines ?? []) line.y = updates.get(line.id) ?? line.y;
  plot.setLines(updates);
}

function note(card: Card, text: string) {
  const box = card.element.querySelector<HTMLElement>(".note");
  if (box) box.textContent = box.title = text;
}

// --- data --------------------------------------------------------------------------------------------------

function wanted({ key, element, chart, version }: Card): Wanted {
  const width = Math.max(element.clientWidth, 300);
  const points = Math.min(Math.ceil(width / 100) * 150, 4000);
  const has = chart?.points ?? 0;
  return {
    key,
    // A few points more or less do not justify another request.
    points: has >= points * 0.6 && has <= points * 2 ? has : points,
    window: rangeOf(key)?.x ?? null,
    version,
  };
}

/** The view that the server last answered: the view without its hidden runs, and the hidden runs. */
let answered = { base: "", hidden: new Set<string>() };

function viewOf(query: string) {
  const rest = new URLSearchParams(query);
  const hidden = runs.hidden(rest);
  rest.delete("hide");
  return {
    base: `${state.panel} ${live.restarts} ${revision} ${rest}`,
    hidden,
    grouped: rest.has(runSettings.group.name),
  };
}

/** Whether all data needed is here; since the answer, runs may have been hidden, or shown again if it has them. */
function isHere() {
  const now = viewOf(state.query);
  return !now.grouped && now.base === answered.base && [...answered.hidden].every((run) => now.hidden.has(run));
}

/** Requests charts and draws those that changed; returns whether some are pictures, after which the points come. */
async function request(cards: readonly Card[]): Promise<boolean> {
  const { panel, query } = state;
  const answer = await api().ask<Answer>("curves", {}, { body: { view: query, charts: cards.map(wanted) } });
  if (panel !== state.panel) return false;
  receive(answer, query);
  return Object.values(answer.charts).some(({ is_picture }) => is_picture);
}

/** Loads the charts of cards that are not on the screen too. */
export async function load(cards: readonly Card[]): Promise<void> {
  const lacking = cards.filter(({ chart, key }) => !chart || !state.visible.includes(key));
  for (let from = 0; from < lacking.length; from += MOST_CHARTS) {
    const some = lacking.slice(from, from + MOST_CHARTS);
    if (await request(some)) await request(some);
  }
}

async function ask() {
  if (asking) return void (askAgain = true);
  const cards = visibleCards();
  if (!cards.length || revision === null) return;
  asking = true;
  askAgain = false;
  const { panel, query } = state;
  try {
    if (await request(cards)) askAgain = true;
    if (panel === state.panel) answered = viewOf(query);
  } catch (error) {
    if (panel === state.panel) cards.forEach(({ key }) => failed(state.cards.get(key), error));
    clearTimeout(retrying);
    retrying = window.setTimeout(retryStale, RETRY_MS);
  } finally {
    asking = false;
    if (askAgain) void ask();
  }
}

/** Asks again for stale charts: they lack the retry button that a chart that never arrived has. */
function retryStale() {
  if (!isHere() && visibleCards().some(({ chart }) => chart)) void ask();
}

/**
 * Asks for the charts that the page will show first, while Dash and the frame are still starting. Does nothing if
 * settings remembered by the browser may be part of the view, which is then not known yet.
 */
async function prefetch() {
  const query = location.search.replace(/^\?/, "");
  const name = new URLSearchParams(query).get("tab") || "scalars";
  if (!["scalars", "custom_scalars"].includes(name) || (!query && storage.get("stepscope-settings"))) return;
  const body = { view: query, points: POINTS_AT_FIRST };
  const answer = await new Api(`api/${name}`).ask<Answer>("first", {}, { body });
  if (!state.panel) open(name);
  if (state.panel === name && (revision === null || query === state.query)) receive(answer, query, true);
}

/**
 * Draws the server's answer.
 * @param isFirst whether it was requested before anything was known; anything already on the page is then newer
 */
function receive({ charts, arrays, revision: at, traces }: Answer, requested: string, isFirst = false) {
  const settings = settingsOf(state.panel);
  const params = new URLSearchParams(requested);
  const common = settings.smoothing.parse(params.getAll(settings.smoothing.name));
  const own = ownOfEntries(params.getAll(settings.card.name));
  for (const [key, sent] of Object.entries(charts)) {
    const card = state.cards.get(key);
    if (isFirst && card?.chart) continue;
    const chart = received(sent, arrays, own.get(key)?.smoothing ?? common);
    remember(key, chart);
    if (!card) continue;
    const smoothedOnly = card.model !== null && card.chart?.raw_version === chart.raw_version;
    card.chart = chart;
    card.version = chart.version;
    if (smoothedOnly && !ignoresOutliers(key)) smoothAnew(card);
    else draw(card);
  }
  table.refresh();
  profiled.follow(at, traces);
  curveCards.drawn += 1;
}

function failed(card: Card | undefined, error: unknown) {
  if (card && !card.chart) notLoaded(card.element, error, ask);
}

function remember(key: string, chart: CurveChart) {
  remembered.delete(key);
  remembered.set(key, chart);
  if (remembered.size > MOST_REMEMBERED) remembered.delete([...remembered.keys()][0]);
}

// --- mounting and removing cards ---------------------------------------------------------------------------

function mount(element: HTMLElement) {
  const key = element.dataset.key ?? "";
  const old = state.cards.get(key);
  const host = element.querySelector<HTMLElement>(".curve");
  if (old?.element === element || !host) return;
  old?.plot.destroy();
  const chart = remembered.get(key) ?? null;
  const plot = create(host, {
    onCursor: (x, y, event) => table.cursor(card, x, y, event),
    onLeave: () => table.leave(),
    onZoom: (range) => zoomed(card, range),
    onClick: (x, _y, event, lineId, hit) => {
      if (hit && "spans" in hit) return profiledMenu.open(card, x, event, hit.spans);
      showInList(card.chart?.lines.find(({ id }) => id === lineId) ?? null);
      marks.click(card, x, event);
    },
    onMenu: (x, event) => profiledMenu.menu(card, x, event),
    onEnter: (x, event) => profiledMenu.menu(card, x, event),
    onMarkHover: table.mark,
  });
  const card: Card = { key, element, plot, chart, model: null, version: chart?.version ?? "" };
  state.cards.set(key, card);
  actions.mounted(card);
  draw(card);
}

function sweep() {
  for (const [key, card] of state.cards) {
    if (card.element.isConnected) continue;
    card.plot.destroy();
    state.cards.delete(key);
  }
  table.sweep();
}

function open(name: string) {
  if (state.panel === name) return;
  for (const card of allCards()) card.plot.destroy();
  state.cards.clear();
  table.sweep();
  remembered.clear();
  state.visible = [];
  state.panel = name;
}

document.addEventListener("card-mounted", (event) => {
  const card = within(event, ".card");
  const panel = card?.closest<HTMLElement>(".groups")?.dataset.panel;
  if (!card?.querySelector(".curve") || !panel) return;
  open(panel);
  mount(card);
});
document.addEventListener("cards-visible", (event) => {
  const { panel, keys } = (event as CustomEvent<{ panel: string; keys: string[] }>).detail;
  if (panel !== state.panel) return;
  sweep();
  state.visible = keys;
  void ask();
});

// --- page events -------------------------------------------------------------------------------------------

function withoutSmoothing(text: string): string {
  const rest = new URLSearchParams(text);
  rest.delete(settingsOf(state.panel).smoothing.name);
  return rest.toString();
}

callbacks("stepscope", {
  /** The view, the data or the color scheme changed. */
  curveNews(_view: string | null, number: number | null, scheme: Scheme | null) {
    const [{ id: { panel } }] = callbackContext().inputs_list as [{ id: { panel: string } }];
    open(panel);
    // On a busy page, what Dash passes on may lack a mark or a zoom of just now.
    const query = pageView.query();
    const recolored = scheme && scheme !== state.scheme;
    // A change of the data alone changes nothing until the data arrive.
    const looks = withoutSmoothing(state.query) !== withoutSmoothing(query) || recolored || revision === null;
    [state.query, state.params, revision] = [query, new URLSearchParams(query), number ?? revision ?? 0];
    if (recolored) {
      state.scheme = scheme;
      redrawAll();
    }
    state.ranges = rangesOf(read(({ range }) => range));
    state.shared = sharedOf(read(({ zoom }) => zoom));
    state.own = ownOfEntries(read(({ card }) => card));
    const weight = read(({ smoothing }) => smoothing);
    // Other changes leave the value under the user's hand on the slider alone.
    if (weight !== saidWeight && !settling) {
      saidWeight = weight;
      if (weight !== state.weight) smoothBy(weight);
    }
    sayWeight(state.weight, settingsOf(panel).smoothing.name, choose);
    pageCards.observe();
    document.querySelectorAll<HTMLElement>(`.groups[data-panel="${panel}"] .card[data-key]`).forEach(mount);
    sweep();
    actions.follow();
    if (looks) redraw();
    marks.follow();
    // A request under way may be for a view that is already outdated.
    if (asking || !isHere()) void ask();
    profiled.follow(revision, null);
    return noUpdate();
  },
  /** Another axis or scale was chosen: the visible range in the old unit means nothing in the new one. */
  curveAxisChanged(
    x: string,
    tag: string,
    _xScale: string,
    _yScale: string,
    _outliers: boolean,
    style: Record<string, string>,
  ) {
    const { axis: before, panel } = state;
    state.axis = axisNamed(panel, x, tag);
    const isHere = before !== "" && JSON.parse(before)[0] === panel;
    if (isHere && x === "metric" && x !== kind && !tag) chooseMetric(panel);
    kind = x;
    if (isHere && before !== state.axis && (isZoomed() || read(({ marks }) => marks).length)) {
      [state.ranges, state.shared] = [new Map(), null];
      pageView.update((_params, set) => {
        const { range, zoom, marks } = settingsOf(panel);
        set(range, []);
        set(zoom, "");
        set(marks, []);
      });
    }
    return { ...style, display: x === "metric" ? "block" : "none" };
  },
});

/** Opens the list of metrics and focuses its field; until a metric is chosen the axis stays as it is. */
function chooseMetric(panel: string) {
  const box = document.getElementById(`${panel}-axis-tag`);
  if (!box) return;
  box.style.display = "block";
  box.querySelector<HTMLInputElement>("input")?.focus();
}

/** Called when runs are switched on or off, or selected: draws the data already here before Dash hears of it. */
function lookAhead() {
  const next = pageView.params();
  const rest = (of: URLSearchParams) => {
    const others = new URLSearchParams(of);
    for (const name of ["hide", runSettings.select.name, settingsOf(state.panel).smoothing.name]) others.delete(name);
    return others.toString();
  };
  const { panel, params } = state;
  if (!panel || revision === null || rest(next) !== rest(params) || next.toString() === params.toString()) return;
  [state.query, state.params] = [next.toString(), next];
  moving(redraw);
  visibleCards().forEach(draw);
}

/** Draws fast while the user moves a control; once it rests, `settle` draws once more with fine edges. */
function moving(settle: () => void) {
  if (settling) clearTimeout(settling);
  settling = setTimeout(() => {
    settling = null;
    hasten(false);
    settle();
  }, SETTLED_MS);
  hasten(true);
}

/** The lines follow at once; the exact values arrive when the slider rests. */
function smoothBy(next: number) {
  const raw = state.weight > 0 !== next > 0;
  state.weight = next;
  for (const card of allCards()) {
    if (!card.chart || !card.model || ownOf(card.key).smoothing !== undefined) continue;
    if (raw || ignoresOutliers(card.key)) draw(card);
    else smoothAnew(card);
  }
}

// The slider's thumb reports its value while it moves; Dash learns of it only on release.
function onSlider(thumb: Element) {
  const value = state.panel ? saidBySlider(thumb) : null;
  if (value !== null) choose(value);
}

/** Called when the user chooses another smoothing. */
function choose(next: number) {
  sayWeight(next, settingsOf(state.panel).smoothing.name, choose);
  if (next === state.weight) return;
  moving(() => smoothBy(state.weight));
  smoothBy(next);
}

new MutationObserver((changes) => {
  for (const { target } of changes) if (target instanceof Element && target.closest(".smoothing")) onSlider(target);
}).observe(document.documentElement, { subtree: true, attributes: true, attributeFilter: ["aria-valuenow"] });

pageView.onChange(lookAhead);
profiled.onNews(redraw);
prefetch().catch(() => undefined);

/** For tests and benchmarks. */
export const curveCards = {
  /** How many answers have been drawn. */
  drawn: 0,
  find: (key: string) => state.cards.get(key),
  visible: visibleCards,
  weight: () => state.weight,
  redraw,
};
