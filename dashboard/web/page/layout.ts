// The frame: the sidebar and the header's buttons.
import { make, storage, toClipboard, within } from "../core/dom.ts";
import { beforeAll } from "../core/commands.ts";
import { want } from "../core/markup.ts";
import { messageOf } from "../core/request.ts";
import { live } from "./live.ts";
import { runs } from "../../runs/web/state.ts";
import { theme } from "./theme.ts";
import { view } from "./view.ts";

const WIDTH_KEY = "stepscope-sidebar";
const HIDDEN_KEY = "stepscope-sidebar-hidden";

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

/** When the list of runs lies over the panel instead of beside it; `frame.css` has the same width. */
const NARROW = window.matchMedia("(max-width: 960px)");
const { classList: root } = document.documentElement;
/** The name of the panel that is on the page; empty if there is none. */
export const mountedPanel = (): string => document.querySelector<HTMLElement>("#panel > .mounted")?.dataset.panel ?? "";
const isAway = () => document.querySelector("#panel > .without-runs") !== null;
const button = () => document.getElementById("sidebar-toggle");

/** Whether the list of runs is visible. */
const sidebarShown = (): boolean =>
  !isAway() && !root.contains("no-runs") &&
  (NARROW.matches ? root.contains("over-panel") : !root.contains("no-sidebar"));

const restsFor: Set<string> = new Set();
/** Keeps the panel from taking pointer or focus as long as there is a reason. */
export function restPanel(reason: string, rests: boolean): void {
  if (rests) restsFor.add(reason);
  else restsFor.delete(reason);
  const panel = document.getElementById("panel");
  panel?.toggleAttribute("inert", restsFor.size > 0);
  // The browser would remove the focus only with its next frame, and keys may come before that.
  if (restsFor.size && panel?.contains(document.activeElement)) (document.activeElement as HTMLElement).blur();
}

/** Lays the list over the panel, which becomes inert and gives up the focus, or takes it away and returns the focus. */
function layOver(open: boolean): void {
  if (root.contains("over-panel") === open) return;
  root.toggle("over-panel", open);
  restPanel("runs", open);
  if (open) document.getElementById("sidebar")?.focus();
  else button()?.focus({ preventScroll: true });
  tellButton();
}

export function toggleSidebar() {
  if (isAway()) return say("This tab does not depend on which runs are shown");
  if (NARROW.matches) return layOver(!root.contains("over-panel"));
  const hidden = root.toggle("no-sidebar");
  storage.set(HIDDEN_KEY, hidden ? "1" : "");
  tellButton();
  dispatchEvent(new Event("resize"));
}

/** Shows the list of runs; returns whether the open tab has a place for it. */
export function showSidebar(): boolean {
  if (isAway()) return false;
  if (!sidebarShown()) toggleSidebar();
  return true;
}

/** Called when a panel was mounted, which may have no use for the list. */
export function followPanel(): void {
  if (isAway()) layOver(false);
  tellButton();
}

let hasBegun = false;

/** Creates the run table when it is first visible. Until a panel exists, the address tells whether that needs it. */
function makeTable(): void {
  const [tab] = view.values("tab");
  if (hasBegun && sidebarShown() && (mountedPanel() || !tab || view.followsRuns(tab))) want("runs-grid");
}
view.onBegin(() => {
  hasBegun = true;
  makeTable();
});

function tellButton(): void {
  makeTable();
  button()?.setAttribute("aria-expanded", String(sidebarShown()));
  button()?.setAttribute("aria-disabled", String(isAway()));
  button()?.setAttribute("title", isAway() ? "This tab does not depend on the runs" : "Hide or show the runs ([)");
}

NARROW.addEventListener("change", () => {
  layOver(false);
  tellButton();
});
document.addEventListener("click", (event) => within(event, "#sidebar-scrim") && layOver(false));
beforeAll((event) => {
  if (event.key !== "Escape" || !root.contains("over-panel") || document.querySelector("dialog[open]")) return false;
  layOver(false);
});

/** Hides the list if there are no runs to choose from, as for a file that is shown without any log. */
function hideEmpty() {
  const { total, loading } = runs.around();
  const empty = !total && !loading;
  if (root.contains("no-runs") === empty) return;
  root.toggle("no-runs", empty);
  dispatchEvent(new Event("resize"));
}

const widened = () => root.contains("wide-runs");

/** Expands the run table to most of the page, or back. */
export function widen(wide: boolean) {
  root.toggle("wide-runs", wide);
  document.getElementById("runs-widen")!.setAttribute("aria-pressed", String(wide));
  dispatchEvent(new Event("resize"));
}

if (storage.get(WIDTH_KEY)) setWidth(Number(storage.get(WIDTH_KEY)) || 300);
if (storage.get(HIDDEN_KEY)) root.add("no-sidebar");

document.addEventListener("DOMContentLoaded", () => runs.onChange((what) => what === "rows" && hideEmpty()));
document.addEventListener("pointerdown", (event) => {
  const grip = within(event, "#sidebar-grip");
  if (grip) dragSidebar(event, grip);
});
document.addEventListener("dblclick", (event) => {
  if (within(event, "#sidebar-grip")) setWidth(300);
});
document.addEventListener("click", (event) => {
  if (within(event, "#skip")) {
    // The address describes what is shown, not where the focus is.
    event.preventDefault();
    document.getElementById("panel")!.focus();
  }
  const button = within(event, "button");
  if (!button) return;
  if (button.id === "live") live.togglePause();
  if (button.id === "sidebar-toggle") toggleSidebar();
  if (button.id === "theme-button") theme.choose(button);
  if (button.id === "runs-widen") widen(!widened());
  if (button.id === "copy-link") copyLink();
  if (button.classList.contains("copy-example")) copyText(button.previousElementSibling?.textContent ?? "", "Copied");
});

// --- notices -------------------------------------------------------------------------------------------------

/** Removes a notice; the focus, if it is there, moves to the panel. */
export function removeNotice(notice: HTMLElement | null) {
  const hadFocus = notice?.contains(document.activeElement);
  notice?.remove();
  if (hadFocus) document.getElementById("panel")?.focus();
}

/** As long as slow readers need. */
const MS_PER_CHARACTER = 60;

let saying = 0;
/** Shows a brief message that needs no response. */
export function say(text: string) {
  let note = document.getElementById("said");
  if (!note) {
    note = make("div", { id: "said", role: "status" });
    document.body.append(note);
  }
  note.textContent = text;
  note.classList.add("shown");
  clearTimeout(saying);
  saying = window.setTimeout(() => note.classList.remove("shown"), Math.max(2000, MS_PER_CHARACTER * text.length));
}

// --- copying ------------------------------------------------------------------------------------------------

/** Copies a text, which may still be on its way, and says that it is copied, or why not. */
export async function copyText(text: string | Promise<string>, said: string): Promise<void> {
  try {
    await toClipboard(await text);
    say(said);
  } catch (error) {
    say(messageOf(error));
  }
}

export const copyLink = (): Promise<void> => copyText(view.link(), "Link copied");
