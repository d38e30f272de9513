// Grids of cards (dashboard/panels/cards.py): which cards are on the screen, sections, pages, columns, full width.
import { register } from "../core/commands.ts";
import { callbackContext, callbacks, noUpdate, onFailedCallback, setProps } from "../core/dash.ts";
import { icon, make, within } from "../core/dom.ts";
import { popover } from "../core/popover.ts";
import { withValue } from "../core/setting.ts";
import { view } from "../page/view.ts";
import { failed } from "./loading.ts";
import { listed } from "./order.ts";
import { dragSections } from "./section_drag.ts";
import { sectionsIn, showSection, turnSections } from "./sections.ts";

// --- which cards are on the screen -------------------------------------------------------------------------

const onScreen: Set<Element> = new Set();
/** The grid whose visible cards were reported: a panel that is opened again has another, and knows nothing yet. */
let reportedGrid: Element | null = null;
let reported = "";
let telling = 0;

function tellVisible() {
  telling = 0;
  for (const card of onScreen) if (!card.isConnected) onScreen.delete(card);
  const groups = document.querySelector<HTMLElement>(".groups[data-panel]");
  if (!groups) return;
  const panel = groups.dataset.panel!;
  const keys = [
    ...new Set([...onScreen].filter((card) => groups.contains(card)).map((card) => (card as HTMLElement).dataset.key)),
  ]
    .sort();
  const text = JSON.stringify(keys);
  if (groups === reportedGrid && text === reported) return;
  reportedGrid = groups;
  reported = text;
  setProps(panel + "-visible", { data: keys });
  groups.dispatchEvent(new CustomEvent("cards-visible", { bubbles: true, detail: { panel, keys } }));
}

const observer = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) onScreen.add(entry.target);
      else onScreen.delete(entry.target);
    }
    if (!telling) telling = window.setTimeout(tellVisible, 30);
  },
  { rootMargin: "200px 0px" },
);
const observed = new WeakSet();

function tellAgain() {
  reported = "";
  tellVisible();
}

// Cards that are on the screen but not drawn yet will not be drawn.
onFailedCallback(() => {
  for (const card of onScreen) {
    if (card.ariaBusy === "true") failed(card, "The server did not respond.", tellAgain);
  }
});

function observeCards() {
  const groups = document.querySelector<HTMLElement>(".groups[data-panel]");
  if (!groups) {
    reportedGrid = null;
    return;
  }
  for (const card of groups.querySelectorAll(".card[data-key]")) {
    if (observed.has(card)) continue;
    observed.add(card);
    observer.observe(card);
    fillActions(card);
    card.dispatchEvent(new CustomEvent("card-mounted", { bubbles: true }));
  }
  if (moved) focusMoved(groups);
  for (const pager of groups.querySelectorAll(".mantine-Pagination-root")) nameArrows(pager);
}

/** Creates the buttons in a card's head, as described by `Action` in `dashboard/panels/cards.py`. */
function fillActions(card: Element) {
  const place = card.querySelector<HTMLElement>(".actions");
  const actions: Record<string, string> = JSON.parse(place?.dataset.actions ?? "{}");
  place?.replaceChildren(
    ...Object.entries(actions).map(([name, title]) =>
      make("button", { type: "button", className: `icon-button act-${name}`, title }, icon(name))
    ),
  );
}

/** Mantine's arrows have neither text nor label. */
function nameArrows(pager: Element) {
  const buttons = pager.querySelectorAll("button");
  const ends: [HTMLButtonElement, string][] = [[buttons[0], "Previous page"], [
    buttons[buttons.length - 1],
    "Next page",
  ]];
  for (const [button, name] of ends) {
    button.title = name;
    button.setAttribute("aria-label", name);
  }
}
let observing = 0;
new MutationObserver(() => {
  if (!observing) observing = requestAnimationFrame(() => (observing = 0, observeCards()));
}).observe(document.documentElement, { childList: true, subtree: true });

// --- sections, columns and full width ----------------------------------------------------------------------

const grid = () => document.querySelector<HTMLElement>(".groups[data-panel]");

function fold(open: boolean): unknown {
  const around = grid();
  if (!around) return false;
  // Sections whose cards the server has not sent are left to it; it opens them as far as it will.
  sectionsIn(around).filter((section) => !open || section.querySelector(".card")).forEach((section) =>
    showSection(section, open)
  );
  const panel = around.dataset.panel;
  view.update((_params, set) => {
    set(panel + ".open", []);
    set(panel + ".closed", []);
    set(panel + ".fold", [open ? "open" : "closed"]);
  });
}

/** The section that receives the focus once it has reached the position it was moved to. */
let moved: { name: string; to: number } | null = null;

const siblingsOf = (section: HTMLElement): HTMLElement[] => {
  const around = section.parentElement!.closest<HTMLElement>(".inner-groups, .groups");
  return around
    ? sectionsIn(around).filter((other) => other.parentElement!.closest(".inner-groups, .groups") === around)
    : [];
};

function moveSection(panel: string, section: HTMLElement, to: number) {
  const names = siblingsOf(section).map(({ dataset }) => dataset.group!);
  const name = section.dataset.group!;
  const next = names.filter((other) => other !== name);
  next.splice(to, 0, name);
  const list = panel + ".sections";
  moved = { name, to };
  view.update((params, set) => {
    set(list, listed(params.getAll(list), next, to));
  });
}

dragSections(siblingsOf, (section, to) => {
  const panel = section.closest<HTMLElement>(".groups[data-panel]")?.dataset.panel;
  if (panel) moveSection(panel, section, to);
});

function sectionMenu(panel: string, section: HTMLElement, button: HTMLElement) {
  const siblings = siblingsOf(section);
  const [at, last] = [siblings.indexOf(section), siblings.length - 1];
  const move = (to: number) => () => moveSection(panel, section, to);
  popover.menu(button, "Move this section", [
    ...(at > 0 ? [["Move to the top", move(0)], ["Move up", move(at - 1)]] as [string, () => void][] : []),
    ...(at < last ? [["Move down", move(at + 1)], ["Move to the end", move(last)]] as [string, () => void][] : []),
  ]);
}

function focusMoved(groups: HTMLElement) {
  const section = moved && sectionsIn(groups).find(({ dataset }) => dataset.group === moved!.name);
  if (!section || siblingsOf(section).indexOf(section) !== moved!.to) return;
  moved = null;
  // Focus that has moved elsewhere in the meantime stays there.
  if (document.activeElement?.matches("body, .act-section")) {
    section.querySelector<HTMLElement>(".act-section")!.focus();
  }
}

const resized = () => requestAnimationFrame(() => dispatchEvent(new Event("resize")));

function toggleWide(panel: string, card: HTMLElement) {
  const wide = card.classList.toggle("wide");
  view.toggle(panel + ".wide", card.dataset.key!, wide);
  resized();
}

view.onChange(() => {
  const groups = grid();
  const columns = groups && view.values(groups.dataset.panel + ".columns")[0];
  if (!columns || groups.dataset.columns === columns) return;
  groups.dataset.columns = columns;
  resized();
});

document.addEventListener("click", (event) => {
  const button = within(event, ".group-toggle, .act-wide, .act-collapse, .act-expand, .act-section");
  if (!button) return;
  if (button.matches(".act-collapse, .act-expand")) return void fold(button.classList.contains("act-expand"));
  const panel = button.closest<HTMLElement>(".groups[data-panel]")?.dataset.panel;
  if (!panel) return;
  const section = button.closest<HTMLElement>(".group")!;
  if (button.classList.contains("act-wide")) toggleWide(panel, button.closest<HTMLElement>(".card")!);
  else if (button.classList.contains("act-section")) sectionMenu(panel, section, button);
  else turnSections(panel, [section.dataset.group!], !section.classList.contains("open"));
});

register({
  title: "Tabs of cards",
  when: () => grid() !== null,
  commands: [
    {
      id: "cards.collapse",
      title: "Collapse all sections",
      keys: ["Shift c"],
      palette: "collapse",
      act: () => fold(false),
    },
    { id: "cards.expand", title: "Expand all sections", keys: ["Shift o"], palette: "expand", act: () => fold(true) },
  ],
});

export const cards = {
  /** The card with a key, if it is on the page. */
  find: (panel: string, key: string): HTMLElement | undefined =>
    [...document.querySelectorAll<HTMLElement>(`.groups[data-panel="${panel}"] .card`)].find((card) =>
      card.dataset.key === key
    ),
  /** Passes what the page keeps for a panel's cards, by key, to the server, which draws accordingly (`Draw.kept`). */
  keep: (panel: string, kept: unknown) => setProps(panel + "-kept", { data: kept }),
  /** Gives new cards their buttons and announces them, which the page otherwise does in its next frame. */
  observe: observeCards,
};

callbacks("stepscope", {
  /** Page changes -> URL. */
  cardPage() {
    for (const trigger of callbackContext().triggered) {
      const { panel, group } = JSON.parse(trigger.prop_id.slice(0, trigger.prop_id.lastIndexOf(".")));
      const page = Number(trigger.value);
      if (!page) continue;
      const list = panel + ".page";
      view.update((params, set) => set(list, withValue(params.getAll(list), group, page > 1 ? page : null)));
    }
    return noUpdate();
  },
});
