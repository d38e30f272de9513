/** The contents of cards: their controls and tiles, kept in line with their data and the chosen step. */
import { cards as pageCards } from "../../../web/cards/grid.ts";
import { ready } from "../../../web/cards/loading.ts";
import { arrange, make, numbers, runLabel, stepText } from "../../../web/core/dom.ts";
import { joined, nearest, type Point, pointsOf } from "../../../web/core/steps.ts";
import { makeStrip } from "./film_strip.ts";
import * as gallery from "./gallery.ts";
import { type Card, follows, mounted, type Parts, partsOf } from "./gallery.ts";
import type { CardData } from "./messages.generated.ts";
import { Stepper } from "./stepper.ts";
import { drop, makeTile, type Tile, want } from "./tiles.ts";
import type { Wanted } from "./pictures.ts";

// --- the stepper shared by all cards -----------------------------------------------------------------------

let shared: Stepper | null = null;

export function refreshShared(): void {
  const box = document.getElementById("images-stepper");
  if (!box) return;
  const followers = mounted().filter(follows);
  box.hidden = !followers.length;
  if (!followers.length) return box.replaceChildren();
  shared ??= new Stepper({
    positions: gallery.commonPositions,
    at: gallery.commonPosition,
    move: (at) => {
      gallery.chooseCommon(at);
      refreshAll();
    },
    busy: () => mounted().filter(follows).some(gallery.busy),
  }, "Step of all cards");
  if (shared.element.parentElement !== box) box.replaceChildren(shared.element);
  shared.refresh();
}

export function refreshAll(): void {
  mounted().forEach((card) => refresh(card));
  refreshShared();
}

/** The stepper that moves the card with a key: its own, or the one shared by all cards. */
export function stepperOf(key: string): Stepper | null {
  const card = gallery.cardOf(key);
  return follows(card) ? shared : card.parts?.stepper ?? null;
}

/** Moves the cards of a series to a point. */
export function moveTo(run: string, tag: string, { step, nth }: Point): void {
  for (const card of mounted()) {
    if (!card.series.some((series) => series.run === run && series.tag === tag)) continue;
    if (follows(card)) {
      gallery.chooseCommon(nearest(gallery.commonPositions(), step, nth));
      refreshAll();
    } else {
      gallery.choose(card, nearest(card.positions, step, nth));
      refresh(card);
    }
  }
}

// --- a card ------------------------------------------------------------------------------------------------

function showSamples(card: Card): void {
  if (!card.parts) return;
  const { samples, sampleAt } = card.parts;
  const sample = gallery.sample(card) + 1;
  const most = Math.max(gallery.mostSamples(card), sample);
  samples.hidden = most < 2;
  sampleAt.textContent = `sample ${sample} of ${most}`;
}

/** Rebuilds the contents of a card. */
function build(card: Card, body: HTMLElement, group: CardData["group"]): Parts {
  gallery.tilesOf(card).forEach(drop);
  const turn = (title: string, text: string, by: number) => {
    const made = make("button", { type: "button", className: "icon-button", title, "aria-label": title }, text);
    made.addEventListener("click", () => {
      gallery.turnSample(card, by);
      refresh(card);
    });
    return made;
  };
  const stepper = new Stepper({
    positions: () => card.positions,
    at: () => gallery.position(card),
    move: (at) => {
      gallery.choose(card, at);
      refresh(card);
    },
    busy: () => gallery.busy(card),
  }, "Step");
  const linkedAt = make("output", { className: "linked-at" });
  const sampleAt = make("span", { className: "which" });
  const [previous, next] = [turn("Previous sample", "‹", -1), turn("Next sample", "›", 1)];
  const samples = make("span", { className: "samples", hidden: true }, previous, sampleAt, next);
  const strip = group === "step" ? makeStrip(card, () => showSamples(card)) : null;
  const box = strip?.element ?? make("div", { className: "tiles" });
  body.replaceChildren(make("div", { className: "controls" }, stepper.element, linkedAt, samples), box);
  return { body, group, stepper, linkedAt, samples, sampleAt, box, tiles: new Map(), strip };
}

const nameOf = (series: { run: string; tag: string }) => series.run + "\n" + series.tag;

function arrangeTiles(card: Card, { body, box, group, tiles }: Parts): void {
  const keep = new Set(card.series.map(nameOf));
  for (const [name, { tile }] of tiles) {
    if (keep.has(name)) continue;
    drop(tile);
    tiles.delete(name);
  }
  const settled = (tile: Tile) => {
    showSamples(card);
    if (gallery.learnRatio(card, tile)) body.style.setProperty("--ratio", String(card.ratio));
  };
  const elements = card.series.map((series) => {
    let entry = tiles.get(nameOf(series));
    if (!entry) {
      entry = { tile: makeTile(settled), other: make("span", { className: "other dim" }) };
      const label = group === "run"
        ? make("span", { className: "tag-label", title: series.tag }, series.tag)
        : runLabel(series);
      entry.tile.caption.append(label, entry.other);
      tiles.set(nameOf(series), entry);
    }
    return entry.tile.element;
  });
  arrange(box, elements);
}

/** Brings a card's page elements in line with its data and the chosen step. */
function refresh(card: Card, moved = true): void {
  const parts = partsOf(card);
  if (!parts) return;
  const { stepper, linkedAt, strip, tiles } = parts;
  const here = card.positions[gallery.position(card)];
  const together = follows(card);
  stepper.element.hidden = together;
  linkedAt.textContent = together ? "step " + stepText(here.step) : "";
  stepper.refresh();
  showSamples(card);
  if (strip) return strip.show(gallery.position(card), moved);
  for (const { run, tag, epoch, points } of card.series) {
    const entry = tiles.get(nameOf({ run, tag }));
    if (!entry) continue;
    const point = points[nearest(points, here.step, here.nth)];
    entry.other.textContent = point.step === here.step ? "" : "step " + stepText(point.step);
    want(entry.tile, { run, tag, epoch, point, sample: gallery.sample(card) });
  }
}

const counted = (count: number, what: string) => `${stepText(count)} ${what}${count === 1 ? "" : "s"}`;

/** Puts the server's data for a card on the page. */
export function draw(data: CardData): void {
  const card = gallery.cardOf(data.key);
  if (card.data === data && card.parts?.body.isConnected) return;
  card.data = data;
  const points = data.steps.map((steps) => pointsOf(numbers(steps)));
  card.series = data.series.map((series) => ({ ...series, points: points[series.steps] }))
    .filter((series) => series.points.length);
  card.positions = card.series.length ? joined(card.series.map((series) => series.points)) : [];
  const article = pageCards.find("images", data.key);
  const body = article?.querySelector<HTMLElement>(".fill");
  if (!article || !body) return;
  let { parts } = card;
  const isNew = parts?.body !== body || !body.firstChild || parts.group !== data.group;
  if (!parts || isNew) {
    parts = build(card, body, data.group);
    card.parts = parts;
  }
  if (parts.strip) parts.strip.refresh();
  else arrangeTiles(card, parts);
  const count = `${counted(card.series.length, data.group === "run" ? "tag" : "run")} · ${
    counted(card.positions.length, "step")
  }`;
  const note = article.querySelector<HTMLElement>(".note");
  if (note) note.textContent = note.title = parts.strip?.note() || count;
  ready(article);
  refresh(card, isNew);
}

/** The pictures on show: one for each tile, and in film strips only for visible tiles. */
export const shown = (): Wanted[] =>
  mounted().flatMap((card) => gallery.tilesOf(card).flatMap((tile) => tile.wanted ?? []));
