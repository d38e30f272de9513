// Actions on cards of curves: pin, reorder, resize, fill the window; menus and the sheet of tags.
import { within } from "../../web/core/dom.ts";
import { listed } from "../../web/cards/order.ts";
import { had } from "../../web/core/lost_scripts.ts";
import { messageOf } from "../../web/core/request.ts";
import { say } from "../../web/page/layout.ts";
import { heightsOf, isCombined, withHeight } from "./entries.ts";
import { allCards, assign, canShare, type Card, fits, list, resetRange, shareRange, state } from "./state.ts";

const DRAGGED = "application/x-stepscope-card";
const DROPS = ["drop-before", "drop-behind"];

const keyOf = (element: HTMLElement): string => element.dataset.key ?? "";
function cardOf(element: HTMLElement): Card | undefined {
  const card = element.closest<HTMLElement>(".card");
  return card ? state.cards.get(keyOf(card)) : undefined;
}

// --- pin, full, height -------------------------------------------------------------------------------------

function pin({ key }: Card) {
  const pinned = list("pin");
  assign("pin", pinned.includes(key) ? pinned.filter((other) => other !== key) : [...pinned, key]);
}

const fill = ({ key }: Card) => assign("full", list("full")[0] === key ? [] : [key]);

/** Returns a card that fills the window to its place; returns whether there was one. */
export function endFull(): boolean {
  if (!list("full").length) return false;
  assign("full", []);
  return true;
}

/** Applies the zoom of the card that fills the window or has the focus to all cards; returns whether it is zoomed. */
export function zoomAll(): boolean {
  const focused = document.activeElement instanceof HTMLElement ? cardOf(document.activeElement) : undefined;
  const card = state.cards.get(list("full")[0]) ?? focused;
  if (!card || !canShare(card.key)) return false;
  shareRange(card.key);
  return true;
}

/** Brings a card in line with the view. */
function dress({ element, key, plot }: Card) {
  const full = list("full")[0] === key;
  const pinned = list("pin").includes(key);
  element.classList.toggle("full", full);
  element.classList.toggle("pinned", pinned);
  const button = element.querySelector<HTMLElement>(".act-pin");
  if (button) button.title = pinned ? "Unpin" : "Pin to the top";
  const height = heightsOf(list("height")).get(key);
  plot.element.style.height = height && !full ? height + "px" : "";
}

export function mounted(card: Card): void {
  const header = card.element.querySelector("header");
  if (header && card.element.querySelector(".act-pin")) header.draggable = true;
  dress(card);
}

/** Called when the view changes. */
export const follow = (): void => allCards().forEach(dress);

// When the corner of a chart is dragged, its new height is kept.
document.addEventListener("pointerup", (event) => {
  const host = within(event, ".curve");
  const card = host?.style.height ? cardOf(host) : undefined;
  if (!host || !card || card.element.classList.contains("full")) return;
  const height = Math.round(host.getBoundingClientRect().height);
  if (heightsOf(list("height")).get(card.key) === height) return;
  assign("height", withHeight(list("height"), card.key, height));
});

// --- order -------------------------------------------------------------------------------------------------

let dragged: HTMLElement | null = null;

const unmark = (...names: string[]) =>
  document.querySelectorAll(names.map((name) => "." + name).join()).forEach((card) => card.classList.remove(...names));

/** The card that another one is dragged over, if it can be dropped there, and whether it would go behind it. */
function target(event: DragEvent): { over: HTMLElement; behind: boolean } | null {
  const over = dragged && within(event, ".card");
  if (!over || over === dragged || over.parentElement !== dragged?.parentElement) return null;
  const box = over.getBoundingClientRect();
  return { over, behind: event.clientX > box.left + box.width / 2 };
}

document.addEventListener("dragstart", (event) => {
  const card = within(event, ".card > header[draggable]")?.parentElement;
  if (!card || !event.dataTransfer) return;
  dragged = card;
  event.dataTransfer.setData(DRAGGED, keyOf(card));
  event.dataTransfer.effectAllowed = "move";
  card.classList.add("dragged");
});
document.addEventListener("dragover", (event) => {
  const found = target(event);
  unmark(...DROPS);
  if (!found) return;
  event.preventDefault();
  found.over.classList.add(found.behind ? "drop-behind" : "drop-before");
});
document.addEventListener("dragend", () => {
  unmark(...DROPS, "dragged");
  dragged = null;
});
document.addEventListener("drop", (event) => {
  const found = target(event);
  if (!found || !dragged) return;
  event.preventDefault();
  move(dragged, found.over, found.behind);
});

function move(card: HTMLElement, over: HTMLElement, behind: boolean) {
  const siblings = [...over.parentElement?.children ?? []].filter((other) => other instanceof HTMLElement);
  const others = siblings.filter((other) => other !== card);
  const to = others.indexOf(over) + (behind ? 1 : 0);
  const onPage = others.toSpliced(to, 0, card).map(keyOf);
  const earlier: string[] = JSON.parse(card.closest<HTMLElement>(".group")?.dataset.earlier ?? "[]");
  const name = card.classList.contains("pinned") ? "pin" : isCombined(onPage[0]) ? "chart" : "order";
  const keys = listed(list(name), [...earlier, ...onPage], earlier.length + to);
  if (fits(name, keys)) assign(name, keys);
  else say("Too many cards to keep their order in the link.");
}

// --- buttons -----------------------------------------------------------------------------------------------

const menus = () => had(import("./menus.ts"));

const ACTS: Record<string, (card: Card, button: HTMLElement) => unknown> = {
  reset: ({ key }) => resetRange(key),
  zoom_all: ({ key }) => shareRange(key),
  pin,
  full: fill,
  menu: async (card, button) => (await menus()).cardMenu(card, button),
  combine: async (card) => (await had(import("./combine.ts"))).combine(card),
};

document.addEventListener("click", (event) => {
  const button = within(event, "button");
  if (!button) return;
  if (button.classList.contains("act-all")) return void menus().then(({ allMenu }) => allMenu(button));
  const act = Object.keys(ACTS).find((name) => button.matches(`.actions .act-${name}`));
  const card = act ? cardOf(button) : undefined;
  if (act && card?.element.contains(button)) {
    Promise.resolve(ACTS[act](card, button)).catch((error) => say(messageOf(error)));
  }
});
