// Keys of the frame, and the sheet that lists all keys. Panels add theirs: `register("images", "Images", [["G", "..."]])`.
import * as frame from "./layout.ts";
import { type Child, icon, make } from "../core/dom.ts";
import { runs } from "../../runs/web/state.ts";
import { theme } from "./theme.ts";
import { view } from "./view.ts";

const sheets: Map<string, { title: string; keys: Keys }> = new Map();

/** Keys, with blanks between those pressed together and commas between several, and what they do. */
export type Keys = [string, string][];

const FRAME: Keys = [
  ["1 … 9", "Open a tab"],
  ["/", "Search tags, or runs where the tab has no tags"],
  ["?", "This sheet"],
  ["T", "Light or dark"],
  ["[", "Hide or show the runs"],
  ["Ctrl K", "Find runs, tags and commands"],
  ["Escape", "Close what is open; clear the selection"],
];
const RUNS: Keys = [
  ["click", "Select a run; Ctrl adds, Shift takes a range"],
  ["double click, O", "Only this run, or this group"],
  ["Space", "Switch a run or a group on or off"],
  ["Enter", "Select a run; fold a group"],
  ["P", "Pin to the top"],
  ["F2", "Rename for display"],
  ["menu key, right click", "All of it, and the colour"],
];

/** Whether keys are meant for a field. */
function typing() {
  const active = document.activeElement;
  if (!(active instanceof HTMLElement)) return false;
  if (active.isContentEditable || active.matches("textarea, select")) return true;
  return active instanceof HTMLInputElement &&
    !["checkbox", "radio", "range", "button", "color"].includes(active.type);
}

function openPanel() {
  const tab = view.tabs().find((one) => one.open);
  return tab ? tab.name : "";
}

/** Keys as keys; what begins with a small letter, such as "double click", is no key. */
function keycaps(text: string): Child[] {
  const caps = (
    part: string,
  ): Child[] => (/^[a-z]/.test(part)
    ? [part]
    : part.split(" ").flatMap((key, at) => [at ? " " : "", make("kbd", {}, key)]));
  return text.split(", ").flatMap((part, place) => [place ? " or " : "", ...caps(part)]);
}

function section(title: string, keys: Keys) {
  const list = make(
    "dl",
    {},
    ...keys.flatMap(([key, what]) => [make("dt", {}, ...keycaps(key)), make("dd", {}, what)]),
  );
  return make("section", {}, make("h3", {}, title), list);
}

function toggleSheet() {
  const known = document.querySelector<HTMLDialogElement>("dialog.shortcuts");
  if (known) return known.close();
  const own = sheets.get(openPanel());
  const close = make(
    "button",
    { className: "icon-button", title: "Close", "aria-label": "Close" },
    icon("close", 14),
  );
  const columns = make(
    "div",
    { className: "columns" },
    section("Everywhere", FRAME),
    section("Runs", RUNS),
    ...(own ? [section(own.title, own.keys)] : []),
  );
  const sheet = make(
    "dialog",
    { className: "shortcuts", "aria-label": "Keys" },
    make("header", {}, make("h2", {}, "Keys"), close),
    columns,
  );
  close.addEventListener("click", () => sheet.close());
  sheet.addEventListener("click", (event) => event.target === sheet && sheet.close());
  sheet.addEventListener("close", () => sheet.remove());
  document.body.append(sheet);
  sheet.showModal();
}

function search() {
  const field = document.querySelector<HTMLInputElement>("#panel .pattern input") ??
    document.querySelector<HTMLInputElement>("#runs-search input");
  if (!field) return;
  if (document.documentElement.classList.contains("no-sidebar") && field.closest("#sidebar")) frame.toggleSidebar();
  field.focus();
  field.select();
}

const keys: Record<string, () => void> = {
  "?": toggleSheet,
  "/": search,
  t: () => theme.toggle(),
  "[": () => frame.toggleSidebar(),
};

function openTab(number: number) {
  const tab = view.tabs()[number - 1];
  if (tab && !tab.open) view.open(tab.name);
  return Boolean(tab);
}

// At the window, after the open panel had its turn: what it takes is not ours.
window.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || typing()) return;
  if (document.querySelector("dialog[open]") && event.key !== "?") return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const done = /^[1-9]$/.test(key) ? openTab(Number(key)) : keys[key] && (keys[key](), true);
  if (done) event.preventDefault();
  else if (key === "Escape" && runs.view().selected.size) runs.select([]);
});

export const shortcuts = {
  /**
   * Lists the keys of a panel in the sheet, while it is open.
   * @param panel its name
   * @param rows keys, with blanks between those pressed together and commas between several, and what they do
   */
  register: (panel: string, title: string, rows: Keys) => sheets.set(panel, { title, keys: rows }),
  sheet: toggleSheet,
  typing,
};
