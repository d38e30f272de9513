/** The audio panel: one card per tag, with a clip of every visible run at one step. */
import { cards as pageCards } from "../../../web/cards/grid.ts";
import { ready } from "../../../web/cards/loading.ts";
import { css, viridis } from "../../../web/core/color.ts";
import { noUpdate } from "../../../web/core/dash.ts";
import { arrange, iconButton, make, numbers, stepText, when } from "../../../web/core/dom.ts";
import * as stepper from "../../../web/core/stepper.ts";
import { joined, nearest, type Point, pointsOf } from "../../../web/core/steps.ts";
import type { Setting } from "../../../web/core/setting.ts";
import { view } from "../../../web/page/view.ts";
import { type Clip, clipUrl } from "./clip.ts";
import { tray } from "./compare.ts";
import { spanOf, spanText, split } from "./entries.ts";
import type { CardData, RunClips } from "./messages.generated.ts";
import { player } from "./player.ts";
import * as rows from "./row.ts";
import { settings } from "./settings.generated.ts";
import { clamp, type Span } from "./span.ts";
import * as views from "./view.ts";

interface Run extends RunClips {
  points: Point[];
}

/** A row and the clip it should show. */
interface Place {
  row: rows.Row;
  wanted: Clip | null;
  isSeen: boolean;
  /** Whether it is playing, so that newer clips wait until it stops. */
  isWaiting: boolean;
}

/** The parts of a card while it is on the page. */
interface Parts {
  body: HTMLElement;
  stepper: ReturnType<typeof stepper.create>;
  samples: HTMLElement;
  which: HTMLElement;
  whole: HTMLElement;
  clips: HTMLElement;
}

interface Card {
  tag: string;
  data: CardData;
  runs: Run[];
  positions: Point[];
  places: Map<string, Place>;
  parts: Parts | null;
}
const cards: Map<string, Card> = new Map();

// --- state in the URL --------------------------------------------------------------------------------------

/** A list of `KEY:VALUE` entries, and the number of parts in its values. */
interface List {
  setting: Setting<readonly string[]>;
  parts: number;
}
const STEPS: List = { setting: settings.step, parts: 1 };
const SAMPLES: List = { setting: settings.sample, parts: 1 };
const ZOOMS: List = { setting: settings.zoom, parts: 2 };

const entries = ({ setting, parts }: List): [string, string][] =>
  view.read(setting).map((entry) => split(entry, parts));

/** The value for a key in a list. */
const entryOf = (list: List, key: string): string => entries(list).find(([one]) => one === key)?.[1] ?? "";

/** Sets the value for a key in a list; an empty value removes the entry. */
function writeEntry(list: List, key: string, value: string): void {
  const rest = view.read(list.setting).filter((entry) => split(entry, list.parts)[0] !== key);
  view.write(list.setting, value ? [...rest, `${key}:${value}`] : rest);
}

const linked = () => view.read(settings.link);
/** Step and repeat, by tag, that the user is moving to and that are not in the URL yet; null for the end. */
const held: Map<string, [number, number] | null> = new Map();
const reported = () => JSON.stringify([linked(), view.read(settings.step)]);
/** The URL's step settings when they were last read or written. */
let seen = "";

function chosen(tag: string): [number, number] | null {
  const inHand = held.get(tag);
  if (inHand !== undefined) return inHand;
  const all = entries(STEPS);
  const found = all.find(([key]) => key === (linked() ? "" : tag)) ??
    all.find(([key]) => key === "" || (linked() && key === tag));
  const step = found ? Number(found[1]) : NaN;
  return Number.isFinite(step) ? [step, 0] : null;
}

function position(card: Card): number {
  const wanted = chosen(card.tag);
  return wanted ? nearest(card.positions, ...wanted) : card.positions.length - 1;
}

function writeSteps(): void {
  const all = new Map(entries(STEPS));
  for (const [tag, wanted] of held) {
    if (linked()) all.clear();
    if (wanted) all.set(linked() ? "" : tag, String(wanted[0]));
    else all.delete(linked() ? "" : tag);
  }
  view.write(settings.step, [...all].map(([key, step]) => `${key}:${step}`));
  seen = reported();
}

const sample = (card: Card) => Math.max(0, Math.floor(Number(entryOf(SAMPLES, card.tag)) || 0));

// --- a card ------------------------------------------------------------------------------------------------

const rowsOf = (card: Card): rows.Row[] => [...card.places.values()].map(({ row }) => row);

/** Moves a card and, if cards are linked, all others; a card at the end follows new data. */
function move(card: Card, at: number): void {
  const last = card.positions.length - 1;
  const { step, nth } = card.positions[at];
  for (const other of linked() ? cards.values() : [card]) {
    held.set(other.tag, at >= last ? null : [step, nth]);
    refresh(other, true);
  }
}

function partsOf(card: Card, body: HTMLElement): Parts {
  const here = () => card.positions[position(card)];
  const steps = stepper.create({
    count: () => card.positions.length,
    at: () => position(card),
    said: () => stepText(here().step),
    hint: () => when(here().wall),
    move: (at) => move(card, at),
    typed(step) {
      move(card, nearest(card.positions, step, 0));
      writeSteps();
    },
    settled: writeSteps,
  });
  const which = make("span", { className: "which" });
  const samples = make(
    "span",
    { className: "samples", hidden: true },
    iconButton("left", "Previous sample", () => turnSample(card, -1)),
    which,
    iconButton("right", "Next sample", () => turnSample(card, 1)),
  );
  const whole = make("button", {
    className: "quiet act-whole",
    hidden: true,
    title: "Show whole clips (0, or double click)",
  }, "Whole clips");
  whole.addEventListener("click", () => zoom(card, null));
  const clips = make("div", { className: "clips" });
  body.replaceChildren(make("div", { className: "controls audio-controls" }, steps.element, samples, whole), clips);
  return { body, stepper: steps, samples, which, whole, clips };
}

const mostSamples = (card: Card) => Math.max(1, ...rowsOf(card).map(({ known }) => known?.samples ?? 1));

function turnSample(card: Card, by: number): void {
  const most = mostSamples(card);
  const next = (sample(card) + by + most) % most;
  writeEntry(SAMPLES, card.tag, next ? String(next) : "");
  refresh(card, true);
}

function zoom(card: Card, span: Span | null): void {
  const kept = clamp(span, rows.longest(rowsOf(card)));
  writeEntry(ZOOMS, card.tag, kept ? spanText(kept) : "");
  layout(card);
}

/** Makes all rows of a card show the same time range. */
function layout(card: Card): void {
  if (!card.parts?.body.isConnected) return;
  const { samples, which, whole } = card.parts;
  const all = rowsOf(card);
  const length = rows.longest(all);
  const span = clamp(spanOf(entryOf(ZOOMS, card.tag)), length);
  whole.hidden = !span;
  for (const row of all) rows.stretch(row, span ?? { start: 0, stop: length || 1 });
  const most = mostSamples(card);
  samples.hidden = most < 2;
  which.textContent = `sample ${sample(card) + 1} of ${most}`;
}

const placeOf = new WeakMap<Element, Place>();
const lazy = new IntersectionObserver(
  (changes) => {
    for (const { target, isIntersecting } of changes) {
      const place = placeOf.get(target);
      if (!place) continue;
      place.isSeen = isIntersecting;
      if (isIntersecting && place.wanted) void rows.show(place.row, place.wanted);
    }
  },
  { rootMargin: "200px 0px" },
);

/** Brings a card in line with its data and the chosen step; `requested` if this is due to the user, not to new data. */
function refresh(card: Card, requested = false): void {
  if (!card.parts?.body.isConnected || !card.positions.length) return;
  const here = card.positions[position(card)];
  card.parts.stepper.refresh();
  for (const run of card.runs) {
    const place = card.places.get(run.run);
    if (place) refreshPlace(place, card, run, here, requested);
  }
  layout(card);
}

function refreshPlace(place: Place, card: Card, run: Run, here: Point, requested: boolean): void {
  const { row } = place;
  const { index, step, wall } = run.points[nearest(run.points, here.step, here.nth)];
  const clip = { run: run.run, tag: card.tag, index, step, wall, sample: sample(card) };
  row.run = run;
  const isOtherHeard = row.url !== "" && row.url !== clipUrl(clip) && player.playing(row.url);
  // New data never interrupt a clip that the user is listening to.
  place.isWaiting = isOtherHeard && !requested;
  if (place.isWaiting) {
    row.other.textContent = `playing step ${stepText(row.clip?.step ?? 0)}; the newest is ${stepText(step)}`;
    return;
  }
  if (isOtherHeard) player.pause();
  row.other.textContent = step === here.step ? "" : "step " + stepText(step);
  place.wanted = clip;
  if (place.isSeen) void rows.show(row, clip);
}

player.onMove(() => {
  // Leaving the panel removes its buttons, and playback must not go on without them.
  if (!document.querySelector(".panel.audio")) player.pause();
  for (const card of cards.values()) {
    if ([...card.places.values()].some(({ isWaiting, row }) => isWaiting && !player.playing(row.url))) refresh(card);
  }
});

function addPlace(card: Card, run: Run): Place {
  const row = rows.create(run, { zoom: (span) => zoom(card, span), changed: () => layout(card) });
  const place: Place = { row, wanted: null, isSeen: false, isWaiting: false };
  placeOf.set(row.element, place);
  lazy.observe(row.element);
  card.places.set(run.run, place);
  return place;
}

function fill(card: Card): void {
  card.runs = card.data.runs
    .map((run) => ({ ...run, points: pointsOf(numbers(run.steps), numbers(run.walls)) }))
    .filter((run) => run.points.length);
  card.positions = joined(card.runs.map((run) => run.points));
  const article = pageCards.find("audio", card.tag);
  const body = article?.querySelector<HTMLElement>(".fill");
  if (!article || !body) return;
  ready(article);
  if (card.parts?.body !== body || !body.firstChild) {
    rowsOf(card).forEach(rows.remove);
    card.places = new Map();
    card.parts = partsOf(card, body);
  }
  const { clips } = card.parts;
  const shown = new Set(card.runs.map((run) => run.run));
  for (const [run, { row }] of card.places) {
    if (shown.has(run)) continue;
    if (player.playing(row.url)) player.pause();
    rows.remove(row);
    card.places.delete(run);
  }
  arrange(clips, card.runs.map((run) => (card.places.get(run.run) ?? addPlace(card, run)).row.element));
  refresh(card);
}

// --- toolbar -----------------------------------------------------------------------------------------------

function adjust(): void {
  // Steps that changed elsewhere replace those the user is moving to; other settings do not.
  if (seen !== reported()) held.clear();
  seen = reported();
  const { floor, ceiling } = views.look();
  const shown = document.querySelector<HTMLElement>(".audio-levels");
  if (shown) {
    shown.textContent = `${floor} to ${ceiling}`;
    const stops = [0, 0.25, 0.5, 0.75, 1].map((share) => css(viridis(share)));
    shown.style.setProperty("--scale", `linear-gradient(90deg, ${stops.join(", ")})`);
  }
  player.adjust();
  for (const card of cards.values()) refresh(card, true);
  views.refreshAll();
  tray();
}

export function drawAudio(all: (CardData | null)[]) {
  for (const data of all) {
    if (!data) continue;
    const known = cards.get(data.tag);
    if (known?.data === data && known.parts?.body.isConnected) continue;
    const card = known ?? { tag: data.tag, data, runs: [], positions: [], places: new Map(), parts: null };
    cards.set(data.tag, card);
    card.data = data;
    fill(card);
  }
  return noUpdate();
}

export function adjustAudio() {
  adjust();
  return noUpdate();
}
