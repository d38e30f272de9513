// Grids of cards (dashboard/panels/cards.py): which cards are on the screen, groups, pages, full width.
import { callbackContext, callbacks, noUpdate, setProps } from "../core/dash.ts";
import { within } from "../core/dom.ts";
import { view } from "../page/view.ts";

// --- which cards are on the screen -------------------------------------------------------------------------

const onScreen: Set<Element> = new Set();
let toldPanel = "";
let told = "";
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
  if (panel === toldPanel && text === told) return;
  toldPanel = panel;
  told = text;
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

function observeCards() {
  const groups = document.querySelector<HTMLElement>(".groups[data-panel]");
  if (!groups) {
    toldPanel = told = "";
    return;
  }
  for (const card of groups.querySelectorAll(".card[data-key]")) {
    if (observed.has(card)) continue;
    observed.add(card);
    observer.observe(card);
    card.dispatchEvent(new CustomEvent("card-mounted", { bubbles: true }));
  }
  for (const pager of groups.querySelectorAll(".mantine-Pagination-root")) nameArrows(pager);
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

// --- groups and full width ---------------------------------------------------------------------------------

function toggleGroup(panel: string, section: HTMLElement) {
  const open = !section.classList.contains("open");
  const name = section.dataset.group!;
  section.classList.toggle("open", open);
  section.querySelector(".group-toggle")!.setAttribute("aria-expanded", String(open));
  view.update((params, set) => {
    const lists: [string, boolean][] = [[panel + ".open", open], [panel + ".closed", !open]];
    for (const [list, listed] of lists) {
      const others = params.getAll(list).filter((entry) => entry !== name);
      set(list, listed ? [...others, name] : others);
    }
  });
}

function toggleWide(panel: string, card: HTMLElement) {
  const wide = card.classList.toggle("wide");
  view.toggle(panel + ".wide", card.dataset.key!, wide);
  requestAnimationFrame(() => dispatchEvent(new Event("resize")));
}

document.addEventListener("click", (event) => {
  const button = within(event, ".group-toggle, .act-wide");
  const groups = button?.closest<HTMLElement>(".groups[data-panel]");
  if (!button || !groups) return;
  if (button.classList.contains("act-wide")) toggleWide(groups.dataset.panel!, button.closest<HTMLElement>(".card")!);
  else toggleGroup(groups.dataset.panel!, button.closest<HTMLElement>(".group")!);
});

export const cards = {
  /** The card of a key, if it is on the page. */
  find: (panel: string, key: string): HTMLElement | undefined =>
    [...document.querySelectorAll<HTMLElement>(`.groups[data-panel="${panel}"] .card`)].find((card) =>
      card.dataset.key === key
    ),
  /** Hands what the page keeps of the cards of a panel, by key, to the server, which draws by it (`Draw.kept`). */
  keep: (panel: string, kept: unknown) => setProps(panel + "-kept", { data: kept }),
};

callbacks("stepscope", {
  /** Turned pages -> URL. */
  cardPage() {
    for (const trigger of callbackContext().triggered) {
      const { panel, group } = JSON.parse(trigger.prop_id.slice(0, trigger.prop_id.lastIndexOf(".")));
      const page = Number(trigger.value);
      if (!page) continue;
      view.update((params, set) => {
        const rest = params.getAll(panel + ".page").filter((entry) => !entry.startsWith(group + ":"));
        set(panel + ".page", page > 1 ? [...rest, `${group}:${page}`] : rest);
      });
    }
    return noUpdate();
  },
});
