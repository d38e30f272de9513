// The frame: sidebar, tabs, buttons of the header.
import { make, storage, toClipboard, within } from "../core/dom.ts";
import { live } from "./live.ts";
import { popover } from "../core/popover.ts";
import { runs } from "../../runs/web/state.ts";
import { view } from "./view.ts";

const WIDTH_KEY = "stepscope-sidebar";
const HIDDEN_KEY = "stepscope-sidebar-hidden";
const EDGE = 13; // pixels free at the right of the header
// --- sidebar -----------------------------------------------------------------------------------------------

function setWidth(width: number) {
  const value = Math.min(Math.max(width, 180), Math.max(240, innerWidth * 0.6));
  document.documentElement.style.setProperty("--sidebar", value + "px");
  storage.set(WIDTH_KEY, String(value));
}

function dragSidebar(event: PointerEvent, grip: HTMLElement) {
  grip.setPointerCapture(event.pointerId);
  document.body.classList.add("resizing");
  grip.onpointermove = (move) => setWidth(move.clientX);
  grip.onpointerup = () => {
    grip.onpointermove = grip.onpointerup = null;
    document.body.classList.remove("resizing");
    dispatchEvent(new Event("resize"));
  };
}

export function toggleSidebar() {
  const hidden = document.documentElement.classList.toggle("no-sidebar");
  storage.set(HIDDEN_KEY, hidden ? "1" : "");
  dispatchEvent(new Event("resize"));
}

/** Of a file that is shown without any log there are no runs to choose from. */
function hideEmpty() {
  const { total, loading } = runs.around();
  const { classList } = document.documentElement;
  const empty = !total && !loading;
  if (classList.contains("no-runs") === empty) return;
  classList.toggle("no-runs", empty);
  dispatchEvent(new Event("resize"));
}

const widened = () => document.documentElement.classList.contains("wide-runs");

/** Gives the table of runs most of the page, or takes it back. */
export function widen(wide: boolean) {
  document.documentElement.classList.toggle("wide-runs", wide);
  document.getElementById("runs-widen")!.setAttribute("aria-pressed", String(wide));
  dispatchEvent(new Event("resize"));
}

if (storage.get(WIDTH_KEY)) setWidth(Number(storage.get(WIDTH_KEY)) || 300);
if (storage.get(HIDDEN_KEY)) document.documentElement.classList.add("no-sidebar");

document.addEventListener("DOMContentLoaded", () => runs.onChange((what) => what === "rows" && hideEmpty()));
document.addEventListener("pointerdown", (event) => {
  const grip = within(event, "#sidebar-grip");
  if (grip) dragSidebar(event, grip);
});
document.addEventListener("dblclick", (event) => {
  if (within(event, "#sidebar-grip")) setWidth(300);
});
document.addEventListener("click", (event) => {
  const button = within(event, "button");
  if (!button) return;
  if (button.id === "live") live.togglePause();
  if (button.id === "sidebar-toggle") toggleSidebar();
  if (button.id === "runs-widen") widen(!widened());
  if (button.id === "copy-link") copyLink();
  if (button.id === "tabs-more") openMore(button);
});

// --- a link --------------------------------------------------------------------------------------------------

let saying = 0;
/** Says something that needs no answer. */
export function say(text: string) {
  let note = document.getElementById("said");
  if (!note) {
    note = make("div", { id: "said", role: "status" });
    document.body.append(note);
  }
  note.textContent = text;
  note.classList.add("shown");
  clearTimeout(saying);
  saying = window.setTimeout(() => note.classList.remove("shown"), 2000);
}

export async function copyLink() {
  await toClipboard(view.link());
  say("Link copied");
}

// --- tabs that do not fit -------------------------------------------------------------------------------------

const tabList = () => document.querySelector(".tabs [role=tablist]");

/** Tabs that find no room go into the menu "More"; the open one never does. */
function fitTabs() {
  const list = tabList();
  const more = document.getElementById("tabs-more");
  if (!list || !more) return;
  const tabs = [...list.querySelectorAll<HTMLElement>("[role=tab]")];
  tabs.forEach((tab) => tab.removeAttribute("data-over"));
  more.hidden = true;
  const header = list.closest("header")!;
  // The last child, because what is too wide first takes the header's padding, which is no overflow.
  const over = () =>
    header.lastElementChild!.getBoundingClientRect().right > header.getBoundingClientRect().right - EDGE;
  if (!over()) return;
  more.hidden = false;
  for (const tab of tabs.reverse()) {
    if (!over()) break;
    if (tab.getAttribute("aria-selected") !== "true") tab.setAttribute("data-over", "");
  }
}

let fitting = 0;
const fitSoon = () => {
  if (!fitting) fitting = requestAnimationFrame(() => (fitting = 0, fitTabs()));
};
window.addEventListener("resize", fitSoon);
document.addEventListener("DOMContentLoaded", () => {
  new MutationObserver((changes) => {
    const header = document.querySelector("#frame > header");
    if (!header) return;
    if (changes.some((change) => header.contains(change.target) || change.target.contains(header))) fitSoon();
  }).observe(document.body, {
    childList: true,
    subtree: true,
    characterData: true,
    attributes: true,
    attributeFilter: ["aria-selected"],
  });
});

function openMore(button: HTMLElement) {
  const hidden = [...document.querySelectorAll<HTMLElement>(".tabs [role=tab][data-over]")];
  popover.menu(button, "More tabs", hidden.map((tab) => [tab.textContent ?? "", () => tab.click()]));
}
