// Fits the tabs into the available room: first their icons go, then groups share a tab, then words of the header go,
// then the last tabs move into the "More" menu. Their places depend on the room alone: opening a tab moves none.
import { beforeAll, tip } from "../core/commands.ts";
import { onFailedCallback } from "../core/dash.ts";
import { make, within } from "../core/dom.ts";
import { counted } from "../core/numbers.ts";
import { type Choice, popover } from "../core/popover.ts";
import { followPanel, mountedPanel, restPanel } from "./layout.ts";
import { view } from "./view.ts";

/** What the header gives up, one after another, until everything fits; `frame.css` defines what each one means. */
const SAVINGS = ["no-tab-icons", "grouped", "no-wordmark", "no-words"];
const EDGE = 13; // pixels free at the right of the header
const PHONE = window.matchMedia("(max-width: 600px)");

const header = () => document.querySelector<HTMLElement>("#frame > header");
const more = () => document.getElementById("tabs-more");
const isShown = (tab: HTMLElement) => tab.offsetWidth > 0;
/** All tabs, including those that stand for a group, in order. */
const bar = () => [...document.querySelectorAll<HTMLElement>(".tabs [role=tab]")];
const isGroup = (tab: HTMLElement) => tab.classList.contains("tab-group");

/** The tabs that a group's tab stands for. */
function membersOf(group: HTMLElement): HTMLElement[] {
  const found: HTMLElement[] = [];
  for (let next = group.nextElementSibling; next?.matches(".in-group"); next = next.nextElementSibling) {
    found.push(next as HTMLElement);
  }
  return found;
}

/** Shows one of several texts that share a place as wide as the widest of them. */
function showName(names: Element, shown: number): void {
  [...names.children].forEach((name, place) => name.classList.toggle("on", place === shown));
}

/** The names in a group's tab: that of the group, and those of its members. */
const namesOf = (group: HTMLElement) => [...group.firstElementChild!.children].map((name) => name.textContent ?? "");

/** What a tab stands for, if its name does not say so, and its key, if it has one. */
function titleOf(tab: HTMLElement, place: number): string {
  const keys = place >= 1 && place <= 9 ? [String(place)] : [];
  if (!isGroup(tab)) return keys.map((key) => `Key ${key}`).join("");
  const [name, ...members] = namesOf(tab);
  return tip({ title: `${name}: ${members.join(", ")}`, keys });
}

const isOpen = (tab: HTMLElement) => tab.getAttribute("aria-selected") === "true";

/** Makes a group's tab show which of its members is open. */
function follow(group: HTMLElement): void {
  const open = membersOf(group).findIndex(isOpen);
  group.setAttribute("aria-selected", String(open >= 0));
  showName(group.firstElementChild!, open + 1);
}

/** Makes "More" show how many tabs it has, or which of them is open. */
function nameMore(button: HTMLElement, hidden: readonly HTMLElement[]): void {
  const [names, count] = [...button.children] as HTMLElement[];
  const open = hidden.findIndex(isOpen);
  names.replaceChildren(
    ...["More", ...hidden.map((tab) => tab.textContent ?? "")].map((text) => make("span", {}, text)),
  );
  showName(names, open + 1);
  button.classList.toggle("open", open >= 0);
  count.textContent = String(hidden.length);
  button.title = counted(hidden.length, "more tab");
}

/** The tabs that do not fit and are not in a visible group's menu. */
const overflowing = () =>
  bar().filter((tab) => tab.hasAttribute("data-over")).flatMap((tab) => isGroup(tab) ? membersOf(tab) : [tab]);

function fit(): void {
  const [head, button] = [header(), more()];
  const tabs = bar();
  if (!head || !button || !tabs.length) return;
  const groups = tabs.filter(isGroup);
  // Mantine refers to an element of its own, which does not exist: tabs switch the page's panel.
  tabs.forEach((tab) => tab.setAttribute("aria-controls", "panel"));
  tabs.forEach((tab) => tab.removeAttribute("data-over"));
  head.classList.remove(...SAVINGS);
  groups.forEach(follow);
  button.hidden = true;
  // The last child, because content that is too wide first fills the header's padding, which is not an overflow.
  const isOver = () => head.lastElementChild!.getBoundingClientRect().right > head.getBoundingClientRect().right - EDGE;
  if (PHONE.matches) head.classList.add(...SAVINGS);
  else for (const saving of SAVINGS) if (isOver()) head.classList.add(saving);
  if (PHONE.matches || isOver()) {
    button.hidden = false;
    for (const tab of tabs.filter(isShown).reverse()) {
      if (!PHONE.matches && !isOver()) break;
      tab.setAttribute("data-over", "");
      nameMore(button, overflowing());
    }
  }
  const shown = tabs.filter(isShown);
  const stop = shown.find(isOpen) ?? shown[0];
  tabs.forEach((tab) => tab.tabIndex = tab === stop ? 0 : -1);
  const order = numbered();
  tabs.forEach((tab) => tab.title = titleOf(tab, order.indexOf(tab) + 1));
}

/** Tabs in the order in which they are numbered: those in the bar, then those in the menu. */
const numbered = () => [...bar().filter(isShown), ...overflowing()];

/** The tab named in the address: the first one if it names none, and the marked one if it names an unknown tab. */
export function chosen() {
  const tabs = view.tabs();
  const [name] = view.values("tab");
  return name ? tabs.find((tab) => tab.name === name) ?? tabs.find((tab) => tab.open) : tabs[0];
}

/** Opens the nth tab, or the menu of the group that it stands for; returns whether there is one. */
export function openNth(number: number): boolean {
  const tab = numbered()[number - 1];
  if (!tab) return false;
  if (isGroup(tab)) openGroup(tab);
  else openTab(tab);
  return true;
}

function openTab(element: HTMLElement): void {
  const tab = view.tabs().find((one) => one.element === element);
  if (tab && tab.name !== chosen()?.name) view.open(tab.name);
}

function openMenu(anchor: HTMLElement, label: string, members: readonly HTMLElement[]): void {
  const entries = view.tabs().filter(({ element }) => members.includes(element)).map(
    ({ element, name, title, open }): Choice => ({
      text: title,
      icon: name,
      chosen: open,
      act: () => openTab(element),
    }),
  );
  popover.menu(anchor, label, entries);
}

const openGroup = (group: HTMLElement) => openMenu(group, namesOf(group)[0], membersOf(group));

document.addEventListener("click", (event) => {
  const group = within(event, ".tab-group");
  if (group) openGroup(group);
  const button = within(event, "#tabs-more");
  if (button) openMenu(button, "More tabs", overflowing());
  // Dash opens it too, but a little later, and not if it is still marked because another tab is being opened.
  const tab = within(event, ".tabs [role=tab]:not(.tab-group)");
  if (tab) openTab(tab);
});

/** Arrow keys move along the visible tabs; Enter opens one. */
const MOVES: Record<string, (at: number, last: number) => number> = {
  ArrowLeft: (at, last) => at ? at - 1 : last,
  ArrowRight: (at, last) => at < last ? at + 1 : 0,
  Home: () => 0,
  End: (_at, last) => last,
};
beforeAll((event) => {
  const tab = within(event, ".tabs [role=tab]");
  if (!tab || !Object.hasOwn(MOVES, event.key) || event.ctrlKey || event.altKey || event.metaKey) return false;
  const shown = bar().filter(isShown);
  shown[MOVES[event.key](shown.indexOf(tab), shown.length - 1)]?.focus();
});

// --- a tab whose panel has not arrived yet -------------------------------------------------------------------

/** What has happened since the page began to wait, if it is nothing good. */
let trouble = "";

/**
 * While the page still has another panel than the chosen tab's, that panel is inert, so that neither mouse nor keys
 * change what the user has left, and the page shows what it is waiting for, which `frame.css` delays for a moment.
 */
function noteWaiting(): void {
  const panel = document.getElementById("panel");
  const here = mountedPanel();
  const next = chosen();
  const waits = here !== "" && next !== undefined && here !== next.name;
  if (panel && waits !== panel.hasAttribute("data-waits")) {
    panel.toggleAttribute("data-waits", waits);
    panel.setAttribute("aria-busy", String(waits));
    restPanel("tab", waits);
  }
  if (!panel || !waits) return;
  panel.dataset.waits = trouble ? `${next.title} could not be ${trouble}` : `Opening ${next.title}…`;
}
function noteTrouble(what: string): void {
  trouble = what;
  noteWaiting();
}
view.onChange(() => noteTrouble(""));
onFailedCallback(() => noteTrouble("opened, retrying…"));

/** Notes that the chosen tab's panel has come and cannot be drawn, so that Dash leaves the one before in its place. */
export const noteUndrawn = (): void => noteTrouble("drawn");

/** The name of the panel that is on the page and takes keys. */
export const panelInUse = (): string => document.querySelector("#panel[data-waits]") ? "" : mountedPanel();

let fitting = 0;
let watching: MutationObserver | null = null;
const fitSoon = () => {
  if (fitting) return;
  fitting = requestAnimationFrame(() => {
    fitting = 0;
    fit();
    followPanel();
    // Its own changes must not trigger another run.
    watching?.takeRecords();
  });
};
window.addEventListener("resize", fitSoon);
document.addEventListener("DOMContentLoaded", () => {
  watching = new MutationObserver((changes) => {
    const [head, panel] = [header(), document.getElementById("panel")];
    if (!head) return;
    const matters = (target: Node) => head.contains(target) || target.contains(head) || target === panel;
    if (!changes.some(({ target }) => matters(target))) return;
    noteWaiting();
    fitSoon();
  });
  watching.observe(document.body, {
    childList: true,
    subtree: true,
    characterData: true,
    attributes: true,
    attributeFilter: ["aria-selected"],
  });
});
