// @ts-nocheck
// The images panel: galleries by tag, by run and by step; a step and a sample for each card, or one step for all.
import * as dash from "../../../web/core/dash.ts";
import * as large from "./large.ts";
import * as pictures from "./pictures.ts";
import * as settings from "./settings.ts";
import * as steps from "./steps.ts";
import * as tiles from "./tiles.ts";
import { cards as pageCards } from "../../../web/cards/grid.ts";
import { elements } from "../../../web/core/dom.ts";
import { stepper as imagesStepper } from "./stepper.ts";
import { strip } from "./film_strip.ts";

const { make, runLabel, step: stepText } = elements;
const MANY = 6;

/** as images_steps.js has it */
export interface Point {
  step: number;
  nth: number;
  index: number;
}
export interface Series {
  run: string;
  tag: string;
  light: string;
  dark: string;
  epoch: string;
  points: Point[];
}
export interface Card {
  /** "tag:TAG" or "run:RUN" */
  key: string;
  /** "tag", "run" or "step" */
  group: string;
  series: Series[];
  /** all steps of all series */
  positions: Point[];
  body: HTMLElement | null;
  /** by run and tag; empty in film strips */
  tiles: Map<string, object>;
}
const cards: Map<string, Card> = new Map();
/** Step and repeat that the user chose, by card; where there is none the newest is shown. */
const chosen: Map<string, [number, number]> = new Map();
const samples = new Map(); // by card
let readFromUrl = false;

const mounted = () => [...cards.values()].filter((card) => card.body && card.body.isConnected && card.positions.length);
const linked = () => settings.on("link");

// --- which step and sample ---------------------------------------------------------------------------------

function readUrl() {
  if (readFromUrl) return;
  readFromUrl = true;
  for (
    const [name, keep] of [["step", (key, value) => chosen.set(key, [value, 0])], [
      "sample",
      (key, value) => samples.set(key, value),
    ]]
  ) {
    for (const entry of settings.all(name)) {
      const at = entry.lastIndexOf(":");
      const value = Number(entry.slice(at + 1) || NaN);
      if (at > 0 && Number.isFinite(value)) keep(entry.slice(0, at), value);
    }
  }
}

function writeUrl() {
  settings.set({
    step: [...chosen].map(([key, [step]]) => `${key}:${step}`),
    sample: [...samples].filter(([, sample]) => sample > 0).map(([key, sample]) => `${key}:${sample}`),
  });
}

function chosenStep(card) {
  if (!linked()) return chosen.get(card.key);
  const at = settings.get("at");
  return at === "" || !Number.isFinite(Number(at)) ? undefined : [Number(at), 0];
}

export function position(card) {
  const wanted = chosenStep(card);
  return wanted ? Math.max(0, steps.nearest(card.positions, wanted[0], wanted[1])) : card.positions.length - 1;
}

/** Which of the pictures of one step is shown. */
export const sample = (card) => samples.get(card.key) || 0;

/** Moves a card; at the end it follows what is new. */
function move(card, at) {
  const target = card.positions[at];
  if (at >= card.positions.length - 1) chosen.delete(card.key);
  else chosen.set(card.key, [target.step, target.nth]);
  writeUrl();
  refresh(card);
}

/** Moves the cards of a series to a step. */
export function moveTo(run, tag, step) {
  for (const card of mounted()) {
    if (!card.series.some((series) => series.run === run && series.tag === tag)) continue;
    const at = steps.nearest(card.positions, step, 0);
    if (linked()) moveAll(allPositions(), steps.nearest(allPositions(), step, 0));
    else move(card, at);
  }
}

// --- one stepper for all cards -----------------------------------------------------------------------------

let shared = null;
const allPositions = () => steps.positions(mounted().map((card) => card.positions));

function moveAll(positions, at) {
  settings.set({ at: at >= positions.length - 1 ? [] : [positions[at].step] });
  refreshAll();
}

function refreshShared() {
  const box = document.getElementById("images-stepper");
  if (!box) return;
  box.hidden = !linked();
  if (!linked() || !mounted().length) return box.replaceChildren();
  if (!shared || shared.element.parentElement !== box) {
    shared = imagesStepper(
      {
        positions: allPositions,
        at: () => {
          const positions = allPositions();
          const at = settings.get("at");
          return at === "" ? positions.length - 1 : steps.nearest(positions, Number(at), 0);
        },
        move: (at) => moveAll(allPositions(), at),
        busy: () => mounted().some(busy),
      },
      "Step of all cards",
    );
    box.replaceChildren(shared.element);
  }
  shared.refresh();
}

function refreshAll() {
  mounted().forEach(refresh);
  refreshShared();
}

// --- a card ------------------------------------------------------------------------------------------------

const tilesOf = (card) => (card.strip ? card.strip.tiles() : [...card.tiles.values()]);
const busy = (card) => tilesOf(card).some((tile) => tile.seen && tile.loading);
const mostSamples = (card) => Math.max(1, ...tilesOf(card).map((tile) => tile.samples));

function sampler(card) {
  const turn = (by) => {
    const most = mostSamples(card);
    samples.set(card.key, (sample(card) + by + most) % most);
    writeUrl();
    refresh(card);
  };
  const button = (title, text, by) => {
    const made = make("button", { type: "button", className: "icon-button", title }, text);
    made.addEventListener("click", () => turn(by));
    return made;
  };
  return make(
    "span",
    { className: "samples", hidden: true },
    button("Previous sample", "‹", -1),
    make("span", { className: "which" }),
    button("Next sample", "›", 1),
  );
}

export function showSamples(card) {
  const box = card.body && card.body.querySelector(".samples");
  if (!box) return;
  const most = Math.max(mostSamples(card), sample(card) + 1);
  box.hidden = most < 2;
  box.querySelector(".which").textContent = `sample ${sample(card) + 1} of ${most}`;
}

/** Builds the inside of a card anew. */
function build(card, body) {
  card.body = body;
  tilesOf(card).forEach(tiles.drop);
  card.tiles = new Map();
  card.stepper = imagesStepper({
    positions: () => card.positions,
    at: () => position(card),
    move: (at) => move(card, at),
    busy: () => busy(card),
  }, "Step");
  card.strip = card.group === "step" ? strip(card) : null;
  card.built = card.group;
  const controls = make(
    "div",
    { className: "controls" },
    card.stepper.element,
    make("output", { className: "linked-at" }),
    sampler(card),
  );
  body.replaceChildren(controls, card.strip ? card.strip.element : make("div", { className: "tiles" }));
}

const nameOf = (series) => series.run + "\n" + series.tag;

function arrangeTiles(card) {
  const box = card.body.querySelector(".tiles");
  box.classList.toggle("few", card.series.length < 3);
  const wide = card.body.closest(".card");
  wide.classList.toggle("many", card.series.length > MANY);
  const keep = new Set(card.series.map(nameOf));
  for (const [name, tile] of card.tiles) {
    if (keep.has(name)) continue;
    tiles.drop(tile);
    card.tiles.delete(name);
  }
  card.series.forEach((series, place) => {
    let tile = card.tiles.get(nameOf(series));
    if (!tile) {
      tile = tiles.make((one) => settled(card, one));
      tile.other = make("span", { className: "other dim" });
      const label = card.group === "run"
        ? make("span", { className: "tag-label", title: series.tag }, series.tag)
        : runLabel(series);
      tile.caption.append(label, tile.other);
      card.tiles.set(nameOf(series), tile);
    }
    if (box.children[place] !== tile.element) box.insertBefore(tile.element, box.children[place] || null);
  });
}

function settled(card, tile) {
  showSamples(card);
  if (card.ratio || !tile.ratio) return;
  card.ratio = Math.min(Math.max(tile.ratio, 0.4), 4);
  card.body.style.setProperty("--ratio", String(card.ratio));
}

/** Brings a card's page elements in line with its data and the chosen step. */
function refresh(card) {
  if (!card.body || !card.body.isConnected || !card.positions.length) return;
  const here = card.positions[position(card)];
  card.stepper.element.hidden = linked() && !card.strip;
  card.body.querySelector(".linked-at").textContent = linked() && !card.strip ? "step " + stepText(here.step) : "";
  card.stepper.refresh();
  showSamples(card);
  if (card.strip) return card.strip.show(position(card));
  for (const series of card.series) {
    const tile = card.tiles.get(nameOf(series));
    if (!tile) continue;
    const point = series.points[steps.nearest(series.points, here.step, here.nth)];
    tile.other.textContent = point.step === here.step ? "" : "step " + stepText(point.step);
    tiles.want(tile, { run: series.run, tag: series.tag, epoch: series.epoch, point, sample: sample(card) });
  }
}

function fill(card, data) {
  const points = data.steps.map(steps.points);
  card.group = data.group;
  card.series = data.series.map((series) => ({ ...series, points: points[series.steps] })).filter((series) =>
    series.points.length
  );
  card.positions = card.series.length ? steps.positions(card.series.map((series) => series.points)) : [];
  const article = pageCards.find("images", card.key);
  const body = article && article.querySelector(".fill");
  if (!body) return;
  if (card.body !== body || !body.firstChild || card.built !== card.group) build(card, body);
  if (card.strip) card.strip.refresh();
  else arrangeTiles(card);
  const note = article.querySelector(".note");
  const kinds = card.group === "run" ? "tag" : "run";
  const count = `${card.series.length} ${kinds}${card.series.length === 1 ? "" : "s"} · ${
    stepText(card.positions.length)
  } step${card.positions.length === 1 ? "" : "s"}`;
  note.textContent = note.title = (card.strip && card.strip.note()) || count;
  refresh(card);
}

document.addEventListener("keydown", (event) => {
  const article = event.target.closest && event.target.closest(".images-card");
  if (!article || event.target.matches("input") || event.ctrlKey || event.metaKey || event.altKey) return;
  const card = cards.get(article.dataset.key);
  const stepper = card && (linked() && !card.strip ? shared : card.stepper);
  const act = stepper &&
    {
      ArrowLeft: () => stepper.move(-1),
      ArrowRight: () => stepper.move(1),
      Home: () => stepper.to(0),
      End: () => stepper.to(stepper.last()),
    }[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

// --- toolbar -----------------------------------------------------------------------------------------------

let sizes = "";

/** What the toolbar says, as CSS. */
function adjust() {
  const root = document.documentElement;
  for (const name of ["brightness", "contrast"]) {
    const value = settings.number(name, 1);
    root.style.setProperty("--" + name, String(value));
    const shown = document.querySelector(`.adjusted[data-setting="images.${name}"]`);
    if (shown) shown.textContent = Math.round(value * 100) + "%";
  }
  const width = settings.number("width", 160);
  root.style.setProperty("--thumb", width + "px");
  const shown = document.querySelector('.adjusted[data-setting="images.width"]');
  if (shown) shown.textContent = width + " px";
  root.dataset.imageSize = settings.get("size") === "actual" ? "actual" : "fit";
  const group = settings.get("group") || "tag";
  const panel = document.getElementById("panel");
  if (panel && root.dataset.imageGroup && root.dataset.imageGroup !== group) panel.scrollTop = 0;
  root.dataset.imageGroup = group;
  root.classList.toggle(
    "images-adjusted",
    settings.number("brightness", 1) !== 1 || settings.number("contrast", 1) !== 1,
  );
  const now = [width, root.dataset.imageSize, linked(), settings.get("at")].join();
  if (now !== sizes) {
    sizes = now;
    mounted().forEach((card) => card.strip && card.strip.refresh());
    refreshAll();
  }
  pictures.crispAll();
}

/** What is shown: a picture for each tile, in film strips those that are seen. */
export const shown = () => mounted().flatMap((card) => tilesOf(card).map((tile) => tile.wanted)).filter(Boolean);

const clientside = {
  drawImages(all) {
    readUrl();
    for (const data of all) {
      if (!data) continue;
      let card = cards.get(data.key);
      if (!card) {
        cards.set(
          data.key,
          card = {
            key: data.key,
            group: "",
            series: [],
            positions: [],
            body: null,
            tiles: new Map(),
            strip: null,
            data: null,
            ratio: 0,
          },
        );
      }
      if (card.data === data && card.body && card.body.isConnected) continue;
      card.data = data;
      fill(card, data);
    }
    refreshShared();
    large.renew();
    return window.dash_clientside.no_update;
  },
  resetAdjustments: () => [1, 1],
  adjustImages() {
    adjust();
    large.openFromUrl();
    return window.dash_clientside.no_update;
  },
};
dash.callbacks("stepscope", clientside);
