/** Mouse and keyboard commands of the table of runs. */
import { bind, bindingsOf, type Command, register } from "../../web/core/commands.ts";
import { within } from "../../web/core/dom.ts";
import { allMembersOf, membersOf, stateOf, withHelpers } from "./cells.ts";
import { isHead, type Item, type RunItem } from "./items.ts";
import * as menu from "./menu.ts";
import { type RunRow, runs } from "./state.ts";
import { focusRun, itemAt, listed, passing } from "./table.ts";

/** The run where a range selection begins. */
let anchor = "";
/** The selection before a click, in case the click turns out to be a double click. */
let before: string[] = [];

type Modifiers = Pick<MouseEvent | KeyboardEvent, "ctrlKey" | "metaKey" | "shiftKey">;

function chosen(item: Item, event: Modifiers): void {
  const more = event.ctrlKey || event.metaKey;
  if (isHead(item)) {
    const names = namesOf(item);
    return names.length ? selectRuns(names, more) : undefined;
  }
  before = [...runs.view().selected];
  if (event.shiftKey && anchor) return selectRange(item.run);
  anchor = item.run;
  selectRuns([item.run], more);
}

/** Selects runs, or clears the selection if it consists of just these; `more` keeps the others. */
function selectRuns(chosen: string[], more: boolean): void {
  const { selected } = runs.view();
  const all = chosen.every((run) => selected.has(run));
  const rest = [...selected].filter((run) => !chosen.includes(run));
  if (more) runs.select(all ? rest : [...rest, ...chosen]);
  else runs.select(all && !rest.length ? [] : chosen);
}

function selectRange(to: string): void {
  const names = listed().map(({ run }) => run);
  const [start, end] = [names.indexOf(anchor), names.indexOf(to)].sort((a, b) => a - b);
  if (start >= 0) runs.select(names.slice(start, end + 1));
}

const rowsOf = (item: Item): RunRow[] => isHead(item) ? allMembersOf(item, membersOf(item)) : [item.source];
const namesOf = (item: Item): string[] => rowsOf(item).map(({ run }) => run);

function only(item: Item): void {
  const names = namesOf(item);
  if (names.length) runs.only(names);
}

const toggle = (item: Item): void => runs.switchRuns(withHelpers(rowsOf(item)), stateOf(item) !== "true");
const fold = (item: Item): void =>
  isHead(item) ? runs.fold(item, !runs.isFolded(item)) : runs.open(item.run, !runs.isOpened(item.run));

function pin({ run }: RunItem): void {
  runs.pin(run, !runs.isPinned(run));
  // Waits until the grid has drawn the row in its new place.
  setTimeout(() => focusRun(run), 50);
}

/** Applies a key to the focused row; without one, the key is passed on. */
const withRow = (act: (item: Item, event: KeyboardEvent) => unknown) => (event: KeyboardEvent) => {
  const item = within(event, ".run-grid .ag-cell") && itemAt(event);
  return item ? act(item, event) : false;
};
const choose = withRow((item, event) => (isHead(item) ? fold(item) : chosen(item, event)));
const rename = withRow((item, event) => {
  const cell = within(event, ".ag-cell");
  return !isHead(item) && cell ? menu.rename(item, cell, cell.getBoundingClientRect()) : false;
});

const commands: Command[] = [
  { id: "runs.select", title: "Select a run; Ctrl adds, Shift selects a range", gestures: ["click"] },
  {
    id: "runs.show_only",
    title: "Only this run, or this group",
    gestures: ["double click"],
    keys: ["o"],
    act: withRow(only),
  },
  { id: "runs.switch", title: "Show or hide a run or a group", keys: [" "], act: withRow(toggle) },
  { id: "runs.choose", title: "Select a run; collapse or expand a group", keys: ["Enter"], act: choose },
  { id: "runs.pin", title: "Pin to the top", keys: ["p"], act: withRow((item) => !isHead(item) && pin(item)) },
  { id: "runs.rename", title: "Rename for display", keys: ["F2"], act: rename },
  { id: "runs.open_menu", title: "All actions and color", gestures: ["menu key", "right click"] },
];
register({ title: "Runs", commands });
// A focused row handles keys before the open panel does.
bind(document, {
  ...bindingsOf(commands),
  "Ctrl Enter": choose,
  "Shift Enter": choose,
  Escape: (event) => runs.view().selected.size > 0 && within(event, ".run-grid .ag-cell") !== null && runs.select([]),
});

/** Actions of the buttons in a row, by class. */
const BUTTONS: Record<string, (item: Item, button: HTMLElement) => void> = {
  swatch: toggle,
  fold,
  "row-menu": (item, button) => !isHead(item) && menu.open(item, button),
};

document.addEventListener("click", (event) => {
  const item = itemAt(event);
  const button = within(event, "button");
  if (item && button) BUTTONS[button.className]?.(item, button);
  else if (item && event.detail < 2 && within(event, ".run-name")) chosen(item, event);
  else if (button?.id === "runs-all") runs.switchAll(true, passing());
  else if (button?.id === "runs-none") runs.switchAll(false, passing());
  else if (button?.id === "runs-selected") runs.only([...runs.view().selected]);
});
document.addEventListener("dblclick", (event) => {
  const item = itemAt(event);
  if (!item || within(event, "button") || !within(event, ".run-name")) return;
  runs.select(before);
  only(item);
});
document.addEventListener("contextmenu", (event) => {
  const item = itemAt(event);
  const cell = within(event, ".ag-cell") ?? within(event, ".ag-row");
  if (!item || isHead(item) || !cell) return;
  event.preventDefault();
  const byKey = event.clientX === 0 && event.clientY === 0;
  menu.open(item, cell, byKey ? undefined : { left: event.clientX, top: event.clientY, bottom: event.clientY });
});
