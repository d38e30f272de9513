// @ts-nocheck
// The audio panel: a card per tag with a clip of every shown run at one step.
import * as audioRow from "./row.ts";
import * as audioView from "./view.ts";
import * as compare from "./compare.ts";
import * as dash from "../../../web/core/dash.ts";
import * as draw from "./draw.ts";
import * as stepper from "../../../web/core/stepper.ts";
import * as steps from "./steps.ts";
import { clipUrl } from "./steps.ts";
import { cards as pageCards } from "../../../web/cards/grid.ts";
import { elements } from "../../../web/core/dom.ts";
import { player } from "./player.ts";
import { view } from "../../../web/page/view.ts";

// Assets load in the order of their names; elements.js comes later.
const make = (...args) => elements.make(...args);
const LEAST_SPAN = 0.0005;

export interface Run {
  run: string;
  light: string;
  dark: string;
  points: Point[];
}
export interface Card {
  tag: string;
  runs: Run[];
  positions: Point[];
  body: HTMLElement | null;
  rows: Map<string, object>;
  data: object;
}
const cards: Map<string, Card> = new Map();

// --- what the URL says -------------------------------------------------------------------------------------

/** Key and value of an entry of a list parameter: a tag may hold colons, its value has one number, or two in a zoom. */
function split(name, entry) {
  const parts = entry.split(":");
  const value = parts.splice(name === "audio.zoom" ? -2 : -1);
  return [parts.join(":"), value.join(":")];
}

/** The value that a list parameter has for a key, or null. */
function entryOf(name, key) {
  const found = view.values(name).map((entry) => split(name, entry)).find(([one]) => one === key);
  return found ? found[1] : null;
}

/** Sets the value that a list parameter has for a key; null takes it out. */
function writeEntry(name, key, value) {
  view.update((_params, set) => {
    const rest = view.values(name).filter((entry) => split(name, entry)[0] !== key);
    set(name, value === null ? rest : [...rest, `${key}:${value}`]);
  });
}

const linked = () => view.values("audio.link")[0] === "on";
/** Step and repeat that the hand is at, by tag, before it is in the URL; null for the end. */
const held: Map<string, [number, number] | null> = new Map();
const told = () => JSON.stringify([linked(), view.values("audio.step")]);
/** What the URL said of steps when it was last looked at or written. */
let seen = "";

function chosen(tag) {
  if (held.has(tag)) return held.get(tag);
  const parts = view.values("audio.step").map((
    entry,
  ) => [entry.slice(0, entry.lastIndexOf(":")), entry.slice(entry.lastIndexOf(":") + 1)]);
  const found = parts.find(([key]) => key === (linked() ? "" : tag)) ||
    parts.find(([key]) => key === "" || (linked() && key === tag));
  const step = found ? Number(found[1]) : NaN;
  return Number.isFinite(step) ? [step, 0] : null;
}

function position(card) {
  const wanted = chosen(card.tag);
  return wanted ? steps.nearest(card.positions, ...wanted) : card.positions.length - 1;
}

function writeSteps() {
  view.update((_params, set) => {
    const entries = new Map(view.values("audio.step").map((entry) => [entry.slice(0, entry.lastIndexOf(":")), entry]));
    for (const [tag, wanted] of held) {
      const key = linked() ? "" : tag;
      if (linked()) entries.clear();
      if (wanted) entries.set(key, `${key}:${wanted[0]}`);
      else entries.delete(key);
    }
    set("audio.step", [...entries.values()]);
  });
  seen = told();
}

const sample = (card) => Math.max(0, Math.floor(Number(entryOf("audio.sample", card.tag)) || 0));

function zoomOf(card) {
  const found = /^([\d.]+):([\d.]+)$/.exec(entryOf("audio.zoom", card.tag) || "");
  return found ? { start: Number(found[1]), stop: Number(found[2]) } : null;
}

/** A stretch inside a clip of some length; null for the whole. */
export const clamp = (span, length) => {
  if (!span || !(span.stop > span.start) || !length) return null;
  const wide = Math.min(length, Math.max(LEAST_SPAN, span.stop - span.start));
  const start = Math.min(Math.max(0, span.start), length - wide);
  return wide >= length * 0.999 ? null : { start, stop: start + wide };
};

/** The colours of a run, of any card that shows it. */
export const runColor = (name) => {
  for (const card of cards.values()) {
    for (const run of card.runs) if (run.run === name) return { light: run.light, dark: run.dark };
  }
  return { light: "var(--accent)", dark: "var(--accent)" };
};

// --- a card ------------------------------------------------------------------------------------------------

/** Moves a card, and with it all others if they are linked; at the end it follows what is new. */
function move(card, at) {
  const last = card.positions.length - 1;
  const target = card.positions[at];
  for (const other of linked() ? cards.values() : [card]) {
    held.set(other.tag, at >= last ? null : [target.step, target.nth]);
    refresh(other, true);
  }
}

function controls(card) {
  card.stepper = stepper.create({
    count: () => card.positions.length,
    at: () => position(card),
    said: () => elements.step(card.positions[position(card)].step),
    hint: () => elements.when(card.positions[position(card)].wall),
    move: (at) => move(card, at),
    typed: (step) => {
      move(card, steps.nearest(card.positions, step, 0));
      writeSteps();
    },
    settled: writeSteps,
  });
  const turn = (title, text, by) => {
    const button = make("button", { className: "icon-button", title }, text);
    button.addEventListener("click", () => turnSample(card, by));
    return button;
  };
  const samples = make(
    "span",
    { className: "samples", hidden: true },
    turn("Previous sample", "‹", -1),
    make("span", { className: "which" }),
    turn("Next sample", "›", 1),
  );
  const whole = make("button", {
    className: "quiet act-whole",
    hidden: true,
    title: "Show whole clips (0, or double click)",
  }, "Whole clips");
  whole.addEventListener("click", () => zoom(card, null));
  return make("div", { className: "controls audio-controls" }, card.stepper.element, samples, whole);
}

const mostSamples = (card) =>
  Math.max(1, ...[...card.rows.values()].map((row) => (row.known && row.known.samples) || 1));

function turnSample(card, by) {
  const most = mostSamples(card);
  const next = (sample(card) + by + most) % most;
  writeEntry("audio.sample", card.tag, next || null);
  refresh(card, true);
}

function zoom(card, span) {
  const kept = clamp(span, longest(card));
  writeEntry("audio.zoom", card.tag, kept ? `${+kept.start.toFixed(5)}:${+kept.stop.toFixed(5)}` : null);
  layout(card);
}

const longest = (card) =>
  Math.max(
    0,
    ...[...card.rows.values()].map((row) => (row.known && row.known.rate ? row.known.frames / row.known.rate : 0)),
  );

/** All rows of a card show the same stretch of time. */
function layout(card) {
  if (!card.body || !card.body.isConnected) return;
  const length = longest(card);
  const span = clamp(zoomOf(card), length);
  card.body.querySelector(".act-whole").hidden = !span;
  for (const row of card.rows.values()) audioRow.stretch(row, span || { start: 0, stop: length || 1 });
  const most = mostSamples(card);
  card.body.querySelector(".samples").hidden = most < 2;
  card.body.querySelector(".which").textContent = `sample ${sample(card) + 1} of ${most}`;
}

const lazy = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      const row = entry.target.stepscopeRow;
      row.seen = entry.isIntersecting;
      if (row.seen && row.wanted) audioRow.show(row, row.wanted);
    }
  },
  { rootMargin: "200px 0px" },
);

/** Brings a card in line with its data and the chosen step; `asked` where the user wants that, not new data. */
function refresh(card, asked) {
  if (!card.body || !card.body.isConnected || !card.positions.length) return;
  const here = card.positions[position(card)];
  card.stepper.refresh();
  for (const run of card.runs) {
    const row = card.rows.get(run.run);
    const point = run.points[steps.nearest(run.points, here.step, here.nth)];
    const clip = {
      run: run.run,
      tag: card.tag,
      index: point.index,
      step: point.step,
      wall: point.wall,
      sample: sample(card),
    };
    const url = clipUrl(clip);
    row.run = run;
    // New data never takes away what is being listened to.
    if (!asked && row.url && row.url !== url && player.playing(row.url)) {
      row.other.textContent = `step ${elements.step(row.clip.step)} plays; the newest is ${elements.step(point.step)}`;
      row.waiting = true;
      continue;
    }
    if (asked && row.url && row.url !== url && player.playing(row.url)) player.pause();
    row.waiting = false;
    row.other.textContent = point.step === here.step ? "" : "step " + elements.step(point.step);
    row.wanted = clip;
    if (row.seen) audioRow.show(row, clip);
  }
  layout(card);
}

document.addEventListener("audio-moved", () => {
  // Leaving the panel takes the buttons away; what plays must not go on without them.
  if (!document.querySelector(".panel.audio")) player.pause();
  for (const card of cards.values()) {
    if ([...card.rows.values()].some((row) => row.waiting && !player.playing(row.url))) refresh(card);
  }
});

function fill(card) {
  card.runs = card.data.runs.map((run) => ({ ...run, points: steps.points(run) })).filter((run) => run.points.length);
  card.positions = steps.positions(card.runs);
  const article = pageCards.find("audio", card.tag);
  const body = article && article.querySelector(".fill");
  if (!body) return;
  if (card.body !== body || !body.firstChild) {
    for (const row of card.rows.values()) audioRow.remove(row);
    card.body = body;
    card.rows = new Map();
    body.replaceChildren(controls(card), make("div", { className: "clips" }));
  }
  const box = body.querySelector(".clips");
  const keep = new Set(card.runs.map((run) => run.run));
  for (const [run, row] of card.rows) {
    if (keep.has(run)) continue;
    player.playing(row.url) && player.pause();
    audioRow.remove(row);
    card.rows.delete(run);
  }
  card.runs.forEach((run, place) => {
    let row = card.rows.get(run.run);
    if (!row) {
      row = audioRow.create(run, { zoom: (span) => zoom(card, span), changed: () => layout(card) });
      row.element.stepscopeRow = row;
      lazy.observe(row.element);
      card.rows.set(run.run, row);
    }
    // Moving an element that is in its place already would stop a focus or a drag in it.
    if (box.children[place] !== row.element) box.insertBefore(row.element, box.children[place] || null);
  });
  refresh(card);
}

// --- toolbar -----------------------------------------------------------------------------------------------

function adjust() {
  // Another setting is no reason to let go of what the hand moves; steps that came from elsewhere are.
  if (seen !== told()) held.clear();
  seen = told();
  const { floor, ceiling } = audioView.look();
  const shown = document.querySelector(".audio-levels");
  if (shown) {
    shown.textContent = `${floor} to ${ceiling}`;
    const stops = [0, 0.25, 0.5, 0.75, 1].map((place) => `rgb(${draw.viridis(place).map(Math.round).join(" ")})`);
    shown.style.setProperty("--scale", `linear-gradient(90deg, ${stops.join(", ")})`);
  }
  player.adjust();
  for (const card of cards.values()) refresh(card, true);
  audioView.refreshAll();
  compare.tray();
}

const clientside = {
  drawAudio(all) {
    for (const data of all) {
      if (!data) continue;
      let card = cards.get(data.tag);
      if (!card) {
        cards.set(
          data.tag,
          card = { tag: data.tag, runs: [], positions: [], body: null, rows: new Map(), data: null, stepper: null },
        );
      }
      if (card.data === data && card.body && card.body.isConnected) continue;
      card.data = data;
      fill(card);
    }
    return window.dash_clientside.no_update;
  },
  adjustAudio() {
    adjust();
    return window.dash_clientside.no_update;
  },
};
dash.callbacks("stepscope", clientside);
