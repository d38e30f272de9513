/** The texts of a card, newest first, starting at any step. */
import { cards as pageCards } from "../../../web/cards/grid.ts";
import { failed, ready } from "../../../web/cards/loading.ts";
import { make, stepText, within } from "../../../web/core/dom.ts";
import { save } from "../../../web/core/download.ts";
import * as pageStepper from "../../../web/core/stepper.ts";
import { choose, chosen } from "../../../web/cards/step_slider.ts";
import { view } from "../../../web/page/view.ts";
import { element, fold } from "./entry.ts";
import { highlight } from "./marks.ts";
import { type CardData, type Entry, MOST_ENTRIES } from "./messages.generated.ts";
import { settings } from "./settings.generated.ts";
import { api, fetchTexts, nearest } from "./texts.ts";

const FIRST = 3;
const MORE = 20;

/**
 * `newest` and `oldest` bound the points on the page: oldest <= index < newest. A card follows new texts while the
 * newest is on the page and the user has not gone to another step.
 */
interface Card {
  data: CardData;
  body: HTMLElement;
  stepper: ReturnType<typeof pageStepper.create>;
  newest: number;
  oldest: number;
  /** Counts refills, so that late answers are recognized. */
  ask: number;
  /** The same for texts added on top. */
  added: number;
  /** The point chosen by the user; null at the newest. */
  at: number | null;
  step: number | null;
  /** Counts the user's moves, so that the position of a step typed earlier is recognized as late. */
  moves: number;
  /** The last refill that has arrived. */
  filled: number;
  filling: Promise<void>;
  /** Whether the user is ahead of the URL. */
  unwritten: boolean;
}
const cards: Map<string, Card> = new Map();

const shownCards = () => [...cards.values()].filter((card) => card.body.isConnected && card.newest);
const linked = () => view.read(settings.link);
const one = () => view.read(settings.shown) === "one";

// --- steps -------------------------------------------------------------------------------------------------

/** The step of a card in the URL, or null for the newest. */
const wantedStep = (card: Card) => chosen(settings.step, linked() ? "" : card.data.key);

function writeStep(card: Card): void {
  card.unwritten = false;
  const step = card.at === null ? null : card.step;
  if (linked()) view.write(settings.step, step === null ? [] : [`:${step}`]);
  else choose(settings.step, card.data.key, step);
}

/** Writes the step chosen by the user once its text has arrived and its number is known; nothing if that fails. */
async function settle(card: Card): Promise<void> {
  let filling: Promise<void>;
  do {
    filling = card.filling;
    await filling;
  } while (filling !== card.filling);
  if (card.filled === card.ask) writeStep(card);
}

const shownIndex = (card: Card) => (card.at === null ? card.data.total - 1 : Math.min(card.at, card.data.total - 1));

const stepperOf = (card: () => Card) =>
  pageStepper.create({
    count: () => card().data.total,
    at: () => shownIndex(card()),
    said: () => {
      const { step } = card();
      return step === null ? "" : stepText(step);
    },
    hint: () => "at the last step, new texts appear automatically",
    move: (index) => moveTo(card(), index),
    typed: async (step) => {
      const { run, tag } = card().data;
      const own = card().moves += 1;
      const found = await nearest(run, tag, step);
      if (!found || card().moves !== own) return;
      moveTo(card(), found.index);
      await settle(card());
    },
    settled: () => void settle(card()),
  });

/** Shows the texts from a point onward; null for the newest. */
function goTo(card: Card, index: number | null): Promise<void> {
  card.at = index;
  return card.filling = fill(card);
}

/** Moves to a point for the user; until that is written, the URL still has the previous step and is not followed. */
function moveTo(card: Card, index: number): void {
  card.unwritten = true;
  card.moves += 1;
  void goTo(card, index >= card.data.total - 1 ? null : index);
}

/** Brings a card to the step in the URL. */
async function followUrl(card: Card): Promise<void> {
  if (card.unwritten) return;
  const wanted = wantedStep(card);
  if (wanted === null) return card.at === null ? undefined : await goTo(card, null);
  const found = await nearest(card.data.run, card.data.tag, wanted);
  if (card.unwritten) return;
  if (wantedStep(card) !== wanted) return await followUrl(card);
  // If nothing is shown yet, the newest texts are better than none.
  if (!found) return card.newest ? undefined : await goTo(card, null);
  const index = found.index >= card.data.total - 1 && found.step <= wanted ? null : found.index;
  if (index !== card.at || card.newest === 0) await goTo(card, index);
}

export function followUrls(): void {
  shownCards().forEach(followUrl);
}

export function fillAll(): void {
  for (const card of shownCards()) void again(card);
}

// --- texts -------------------------------------------------------------------------------------------------

function button(place: "newer" | "more", label: string, act: () => void): HTMLElement {
  const made = make("button", { className: `quiet act-${place}` }, label);
  made.addEventListener("click", () => {
    made.disabled = true;
    act();
  });
  return made;
}

const said = (number: number, word: string) =>
  number > MORE ? `Show ${MORE} of ${stepText(number)} ${word}` : `Show ${number} ${word}`;

function removeEdges(card: Card): void {
  for (const old of card.body.querySelectorAll(":scope > button")) old.remove();
}

/** Updates the buttons above and below the texts that load the others. */
function edges(card: Card): void {
  removeEdges(card);
  if (one()) return;
  const { body, newest, oldest, data: { total } } = card;
  if (newest < total) {
    const more = () => extend(card, newest, Math.min(total, newest + MORE));
    body.prepend(button("newer", said(total - newest, "newer"), more));
  }
  if (oldest > 0) {
    body.append(button("more", said(oldest, "older"), () => extend(card, Math.max(0, oldest - MORE), oldest)));
  }
}

function place(card: Card, found: Entry[], atTop: boolean): void {
  const made = found.map((entry) => element(card.data, entry));
  if (atTop) card.body.prepend(...made);
  else card.body.append(...made);
  made.forEach(fold);
  highlight();
}

/** Adds texts on top without moving what the user is reading. */
function placeAbove(card: Card, found: Entry[]): void {
  const before = card.body.scrollHeight;
  place(card, found, true);
  card.body.scrollTop += Math.max(0, card.body.scrollHeight - before);
}

/** Adds texts at one end. */
async function extend(card: Card, start: number, stop: number): Promise<void> {
  const { ask } = card;
  const newer = start >= card.newest;
  const found = await fetchTexts(card.data, start, stop).catch(() => null);
  // Restore the buttons for another attempt.
  if (!found) return edges(card);
  if (card.ask !== ask || (newer ? start !== card.newest : stop !== card.oldest)) return;
  if (newer) card.newest = stop;
  else card.oldest = start;
  removeEdges(card);
  if (newer) placeAbove(card, found);
  else place(card, found, false);
  edges(card);
}

/** Loads everything again. */
async function fill(card: Card): Promise<void> {
  const ask = card.ask += 1;
  const newest = shownIndex(card) + 1;
  const oldest = Math.max(0, newest - (one() ? 1 : FIRST));
  const article = card.body.closest(".card")!;
  let found: Entry[];
  try {
    found = await fetchTexts(card.data, oldest, newest);
  } catch (error) {
    if (card.ask === ask) failed(article, error, () => void again(card));
    return;
  }
  if (card.ask !== ask) return;
  ready(article);
  Object.assign(card, { filled: ask, newest, oldest, step: found[0]?.step ?? null });
  card.body.replaceChildren();
  card.body.scrollTop = 0;
  place(card, found, false);
  edges(card);
  card.stepper.refresh();
}

async function again(card: Card): Promise<void> {
  card.filling = fill(card);
  if (card.unwritten) await settle(card);
}

/** Adds texts that have arrived since, keeping the reader's place. */
async function prepend(card: Card): Promise<void> {
  const { data, ask } = card;
  if (card.at !== null) {
    // The user is at another step: only the number of newer texts changes.
    edges(card);
    card.stepper.refresh();
    return;
  }
  if (one() || data.total - card.newest > MOST_ENTRIES) return await fill(card);
  const turn = card.added += 1;
  const found = await fetchTexts(data, card.newest, data.total).catch(() => null);
  if (!found) return edges(card);
  if (card.ask !== ask || card.added !== turn) return;
  card.newest = data.total;
  if (found.length) card.step = found[0].step;
  if (card.body.scrollTop > 0) placeAbove(card, found);
  else place(card, found, true);
  card.stepper.refresh();
}

function add(data: CardData, article: HTMLElement, body: HTMLElement): Card {
  const card: Card = {
    data,
    body,
    stepper: stepperOf(() => card),
    newest: 0,
    oldest: 0,
    ask: 0,
    added: 0,
    at: null,
    step: null,
    moves: 0,
    filled: 0,
    filling: Promise.resolve(),
    unwritten: false,
  };
  cards.set(data.key, card);
  article.querySelector(".text-steps")?.replaceChildren(card.stepper.element);
  card.filling = wantedStep(card) === null ? fill(card) : followUrl(card);
  return card;
}

/** Downloads all texts of the card whose button was clicked. */
export function download(event: Event): void {
  const key = within(event, ".text-card .act-download")?.closest<HTMLElement>(".card")?.dataset.key;
  const card = key === undefined ? undefined : cards.get(key);
  if (card) save(api.address("file", { run: card.data.run, tag: card.data.tag }), "");
}

/** Puts the server's data for a card on the page; returns the promise of its texts if the card is new there. */
export function draw(data: CardData): Promise<void> | null {
  const article = pageCards.find("text", data.key);
  const body = article?.querySelector<HTMLElement>(".fill");
  if (!article || !body) return null;
  const steps = article.querySelector<HTMLElement>(".text-steps");
  if (steps) steps.hidden = data.total < 2;
  const card = cards.get(data.key);
  if (card?.body !== body) return add(data, article, body).filling;
  const old = card.data;
  if (old === data) return null;
  card.data = data;
  const grew = data.total >= old.total && data.epoch === old.epoch && data.markdown === old.markdown;
  if (grew && card.newest > 0) prepend(card);
  else void again(card);
  return null;
}

/** Brings a text of a card onto the page; null if the card is not there. */
export async function reveal(key: string, index: number): Promise<HTMLElement | null> {
  const card = cards.get(key);
  if (!card?.body.isConnected) return null;
  await card.filling;
  if (index < card.oldest || index >= card.newest) {
    moveTo(card, index);
    await settle(card);
  }
  return card.body.querySelector(`.entry[data-index="${index}"]`);
}
