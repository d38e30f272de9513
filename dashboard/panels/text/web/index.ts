// @ts-nocheck
// The text panel: texts of a card, newest first, from any step on.
import * as dash from "../../../web/core/dash.ts";
import * as diff from "./diff.ts";
import * as pageStepper from "../../../web/core/stepper.ts";
import * as textsEntry from "./entry.ts";
import { highlight } from "./entry.ts";
import { cards as pageCards } from "../../../web/cards/grid.ts";
import { elements } from "../../../web/core/dom.ts";
import { search } from "./search.ts";
import { view } from "../../../web/page/view.ts";

const { make } = elements;
const FIRST = 3;
const MORE = 20;
const MOST_AT_ONCE = 50;

export interface Card {
  data: object;
  body: HTMLElement;
  newest: number;
  oldest: number;
  ask: number;
  at: number | null;
  step: number | null;
  stepper: object;
}

/**
 * `newest` and `oldest` bound the points that are on the page: oldest <= index < newest. A card follows new texts
 * while the newest is on the page and the user has not gone to another step.
 */
const cards: Map<string, Card> = new Map();

const value = (name, otherwise) => view.values("text." + name)[0] ?? otherwise;
const linked = () => value("link", "off") === "on";
const one = () => value("shown", "list") === "one";

async function fetchTexts(data, start, stop) {
  const query = new URLSearchParams([
    ["run", data.run],
    ["tag", data.tag],
    ["start", String(start)],
    ["stop", String(stop)],
    ["markdown", String(data.markdown)],
    ["pattern", value("find", "")],
    ["regex", String(value("regex", "off") === "on")],
  ]);
  const answer = await fetch("/api/text/entries?" + query);
  return answer.ok ? answer.json() : [];
}

/** The point of a card nearest to a step. */
async function nearest(data, step) {
  const answer = await fetch(
    "/api/text/at?" + new URLSearchParams([["run", data.run], ["tag", data.tag], ["step", String(step)]]),
  );
  return answer.ok ? answer.json() : null;
}

// --- steps -------------------------------------------------------------------------------------------------

/** The step that the URL has for a card, or null for the newest. */
function wantedStep(card) {
  const key = linked() ? "" : card.data.key;
  for (const entry of view.values("text.step")) {
    const at = entry.lastIndexOf(":");
    if (entry.slice(0, at) === key && /^-?\d+$/.test(entry.slice(at + 1))) return Number(entry.slice(at + 1));
  }
  return null;
}

function writeStep(card, step) {
  card.unwritten = false;
  const key = linked() ? "" : card.data.key;
  view.update((_params, set) => {
    const rest = linked()
      ? []
      : view.values("text.step").filter((entry) => entry.slice(0, entry.lastIndexOf(":")) !== key);
    set("text.step", step === null ? rest : [...rest, `${key}:${step}`]);
  });
}

const shownIndex = (card) => (card.at === null ? card.data.total - 1 : Math.min(card.at, card.data.total - 1));

function stepper(card) {
  return pageStepper.create({
    count: () => card.data.total,
    at: () => shownIndex(card),
    said: () => (card.step === null ? "" : elements.step(card.step)),
    hint: () => "the end follows new texts",
    move: (index) => moveTo(card, index),
    typed: async (step) => {
      const found = await nearest(card.data, step);
      if (!found) return;
      await moveTo(card, found.index);
      writeStep(card, card.at === null ? null : found.step);
    },
    settled: () => writeSettled(card),
  });
}

/** Writes the step once its text is here and its number known. */
async function writeSettled(card) {
  await card.filling;
  writeStep(card, card.at === null ? null : card.step);
}

/** Shows the texts from a point on; null for the newest. */
function goTo(card, index) {
  card.at = index;
  return (card.filling = fill(card));
}

/** The user goes to a point; until that is written, the URL has the step before and is not followed. */
function moveTo(card, index) {
  card.unwritten = true;
  return goTo(card, index >= card.data.total - 1 ? null : index);
}

/** Brings cards to the steps that the URL has. */
async function followUrl(card) {
  if (card.unwritten) return;
  const wanted = wantedStep(card);
  if (wanted === null) return card.at === null ? undefined : goTo(card, null);
  const found = await nearest(card.data, wanted);
  if (!found || wantedStep(card) !== wanted || card.unwritten) return;
  const index = found.index >= card.data.total - 1 && found.step <= wanted ? null : found.index;
  if (index !== card.at || card.newest === 0) return goTo(card, index);
}

// --- texts -------------------------------------------------------------------------------------------------

function button(card, place, label, act) {
  const made = make("button", { className: `quiet act-${place}` }, label);
  made.addEventListener("click", () => {
    made.disabled = true;
    act();
  });
  return made;
}

const said = (
  number,
  word,
) => (number > MORE ? `Show ${MORE} of ${elements.step(number)} ${word}` : `Show ${number} ${word}`);

/** The buttons above and below the texts that lead to the others. */
function edges(card) {
  for (const old of card.body.querySelectorAll(":scope > button")) old.remove();
  if (one()) return;
  const { total } = card.data;
  if (card.newest < total) {
    card.body.prepend(
      button(
        card,
        "newer",
        said(total - card.newest, "newer"),
        () => extend(card, card.newest, Math.min(total, card.newest + MORE)),
      ),
    );
  }
  if (card.oldest > 0) {
    card.body.append(
      button(
        card,
        "more",
        said(card.oldest, "older"),
        () => extend(card, Math.max(0, card.oldest - MORE), card.oldest),
      ),
    );
  }
}

function place(card, found, atTop) {
  const made = found.map((entry) => textsEntry.element(card.data, entry));
  if (atTop) card.body.prepend(...made);
  else card.body.append(...made);
  made.forEach(textsEntry.fold);
  highlight();
  return made;
}

/** Adds texts at one end. */
async function extend(card, start, stop) {
  const ask = card.ask;
  const newer = start >= card.newest;
  let found = null;
  try {
    found = await fetchTexts(card.data, start, stop);
  } finally {
    if (!found) edges(card);
  }
  if (card.ask !== ask || (newer ? start !== card.newest : stop !== card.oldest)) return;
  if (newer) card.newest = stop;
  else card.oldest = start;
  for (const old of card.body.querySelectorAll(":scope > button")) old.remove();
  const before = card.body.scrollHeight;
  place(card, found, newer);
  if (newer) card.body.scrollTop += Math.max(0, card.body.scrollHeight - before);
  edges(card);
}

/** Everything anew. */
async function fill(card) {
  const { data } = card;
  const ask = (card.ask += 1);
  const newest = shownIndex(card) + 1;
  const oldest = Math.max(0, newest - (one() ? 1 : FIRST));
  const found = await fetchTexts(data, oldest, newest);
  if (card.ask !== ask) return;
  card.newest = newest;
  card.oldest = oldest;
  card.step = found.length ? found[0].step : null;
  card.body.replaceChildren();
  card.body.scrollTop = 0;
  place(card, found, false);
  edges(card);
  card.stepper.refresh();
}

/** Texts that came since; the reader's place stays. */
async function prepend(card) {
  const { data } = card;
  if (card.at !== null) {
    // The user is at another step: only the number of newer texts changes.
    edges(card);
    card.stepper.refresh();
    return;
  }
  if (one() || data.total - card.newest > MOST_AT_ONCE) return fill(card);
  const { ask } = card;
  const turn = (card.added += 1);
  const found = await fetchTexts(data, card.newest, data.total);
  if (card.ask !== ask || card.added !== turn) return;
  card.newest = data.total;
  if (found.length) card.step = found[0].step;
  const before = card.body.scrollHeight;
  const reading = card.body.scrollTop > 0;
  place(card, found, true);
  if (reading) card.body.scrollTop += Math.max(0, card.body.scrollHeight - before);
  card.stepper.refresh();
}

function draw(data) {
  const article = pageCards.find("text", data.key);
  const body = article && article.querySelector(".fill");
  if (!body) return;
  const card = cards.get(data.key);
  if (!card || card.body !== body) {
    const fresh = {
      data,
      body,
      newest: 0,
      oldest: 0,
      ask: 0,
      added: 0,
      at: null,
      step: null,
      filling: null,
      unwritten: false,
    };
    cards.set(data.key, fresh);
    fresh.stepper = stepper(fresh);
    const steps = article.querySelector(".text-steps");
    steps.replaceChildren(fresh.stepper.element);
    steps.hidden = data.total < 2;
    article.querySelector(".act-save").onclick = () => saveCard(data);
    fresh.filling = wantedStep(fresh) === null ? fill(fresh) : followUrl(fresh);
    fresh.filling.then(() => search.arrived(data.key));
    return;
  }
  const old = card.data;
  if (old === data) return;
  card.data = data;
  article.querySelector(".text-steps").hidden = data.total < 2;
  const grew = data.total >= old.total && data.epoch === old.epoch && data.markdown === old.markdown;
  if (grew && card.newest > 0) prepend(card);
  else card.filling = fill(card);
}

function saveCard(data) {
  const link = make("a", {
    href: "/api/text/file?" + new URLSearchParams([["run", data.run], ["tag", data.tag]]),
    download: "",
  });
  document.body.append(link);
  link.click();
  link.remove();
}

// --- toolbar -----------------------------------------------------------------------------------------------

let before = "";

function adjust() {
  const panel = document.querySelector(".panel.text");
  if (!panel) return;
  panel.classList.toggle("no-wrap", value("wrap", "on") === "off");
  panel.classList.toggle("mono", value("mono", "off") === "on");
  const save = document.getElementById("text-save");
  if (save) save.href = "/api/text/file?" + new URLSearchParams([["query", view.params().toString()]]);
  const now = JSON.stringify(["find", "regex", "shown", "link"].map((name) => value(name, "")));
  if (now !== before) {
    before = now;
    search.start();
    for (const card of cards.values()) if (card.body.isConnected && card.newest) card.filling = fill(card);
  }
  for (const card of cards.values()) if (card.body.isConnected && card.newest) followUrl(card);
  diff.fromUrl();
}

const exportedCards = {
  nearest,
  /** Brings a text of a card onto the page; null where the card is not there. */
  async reveal(key, index): Promise<HTMLElement | null> {
    const card = cards.get(key);
    if (!card || !card.body.isConnected) return null;
    await card.filling;
    if (index < card.oldest || index >= card.newest) {
      await moveTo(card, index);
      writeStep(card, card.at === null ? null : card.step);
    }
    return card.body.querySelector(`.entry[data-index="${index}"]`);
  },
  settings: { value },
};

const clientside = {
  drawTexts(all) {
    for (const data of all) if (data) draw(data);
    return window.dash_clientside.no_update;
  },
  adjustTexts() {
    adjust();
    return window.dash_clientside.no_update;
  },
};
dash.callbacks("stepscope", clientside);

export { exportedCards as cards };
