/** The contents of the first two columns of the table of runs, and the style of cells in all columns. */
import type { CellParams, CellRenderer } from "../../web/core/ag_grid.ts";
import { icon, make } from "../../web/core/dom.ts";
import { type GroupItem, isHead, type Item, type RunItem } from "./items.ts";
import { integer } from "../../web/core/numbers.ts";
import { say } from "../../web/page/layout.ts";
import { isPointed } from "./pointed.ts";
import { type RunRow, runs } from "./state.ts";
import { textOf } from "./row_names.ts";

const rowsOf = (names: readonly string[]): RunRow[] =>
  names.map((run) => runs.rows.get(run)).filter((row) => row !== undefined);
export const membersOf = (item: GroupItem): RunRow[] => rowsOf(item.members);

/** All runs of a group; if some are not on the page, returns none and tells the user. */
export function allMembersOf(group: Pick<GroupItem, "label" | "found">, members: RunRow[]): RunRow[] {
  if (runs.around().whole_table || members.length === group.found) return members;
  const search = `group == ${JSON.stringify(group.label)}`;
  say(`Only ${integer(members.length)} of its ${integer(group.found)} runs are in the table: search for ${search}`);
  return [];
}

/** Runs, each followed by the runs that belong to it. */
export function withHelpers(found: readonly RunRow[]): RunRow[] {
  const helpers = Map.groupBy(runs.rows.values(), ({ parent }) => parent);
  return [...new Set(found.flatMap((row) => [row, ...helpers.get(row.run) ?? []]))];
}

function headState(item: GroupItem): "true" | "false" | "mixed" {
  const on = membersOf(item).filter(runs.isOn).length + (runs.othersAreOn() ? item.found - item.members.length : 0);
  return on === 0 ? "false" : on === item.found ? "true" : "mixed";
}
/** Whether an item is switched on. */
export const stateOf = (item: Item) => (isHead(item) ? headState(item) : runs.isOn(item) ? "true" : "false");

type Rule = (params: CellParams<Item>) => boolean;
export const cellRules: Record<string, Rule> = {
  "selected-cell": ({ data }) => !isHead(data) && runs.isSelected(data.run),
  "pointed-cell": ({ data }) =>
    isHead(data) ? runs.isFolded(data) && data.members.some(isPointed) : isPointed(data.run),
  "off-cell": ({ data }) => stateOf(data) === "false",
  "group-cell": ({ data }) => isHead(data),
  "member-cell": ({ data }) => !isHead(data) && data.group !== null,
  "helper-cell": ({ data }) => !isHead(data) && data.below,
};

export class Swatch implements CellRenderer<Item> {
  #button = make("button", { className: "swatch", role: "checkbox", tabIndex: -1 });
  #cell = make("span", { className: "swatch-box" }, this.#button);

  init(params: CellParams<Item>) {
    this.refresh(params);
  }
  refresh({ data }: CellParams<Item>) {
    this.#button.style.setProperty("--light", data.light);
    this.#button.style.setProperty("--dark", data.dark);
    this.#button.setAttribute("aria-checked", stateOf(data));
    this.#button.setAttribute("aria-label", (isHead(data) ? "Show all runs of " : "Show ") + data.label);
    return true;
  }
  getGui() {
    return this.#cell;
  }
}

function nameParts(item: RunItem) {
  const text = textOf(item);
  const cut = item.label === item.run ? text.lastIndexOf("/", text.length - 2) + 1 : 0;
  const leaf = make("span", { className: "leaf" }, make("bdi", {}, text.slice(cut)));
  return cut ? [make("span", { className: "dim" }, make("bdi", {}, text.slice(0, cut))), leaf] : [leaf];
}

/** The button that expands or collapses what is below a row. */
const fold = (folded: boolean, what: string) =>
  make("button", {
    className: "fold",
    tabIndex: -1,
    title: `${folded ? "Expand" : "Collapse"} ${what}`,
    "aria-expanded": String(!folded),
  }, icon("chevron", 12));

const count = (number: number) => make("span", { className: "count" }, String(number));

function headParts(item: GroupItem) {
  return [
    fold(runs.isFolded(item), "the group"),
    make("span", { className: "leaf" }, make("bdi", { dir: "ltr" }, textOf(item))),
    count(item.found),
  ];
}

function runParts(item: RunItem) {
  const menu = make("button", {
    className: "row-menu",
    tabIndex: -1,
    title: "More (right click or menu key)",
    "aria-label": `More for ${item.label}`,
  }, icon("dots", 14));
  const { length } = item.helpers;
  return [
    ...(length ? [fold(!runs.isOpened(item.run), "the runs logged below this run")] : []),
    ...(runs.isPinned(item.run) ? [icon("run_pin", 11)] : []),
    ...nameParts(item),
    ...(length ? [count(length)] : []),
    menu,
  ];
}

export class Name implements CellRenderer<Item> {
  #cell = make("div", { className: "run-name" });
  #shown = "";

  init(params: CellParams<Item>) {
    this.refresh(params);
  }
  refresh({ data }: CellParams<Item>) {
    const now = JSON.stringify(
      isHead(data)
        ? [data.id, textOf(data), data.found, runs.isFolded(data)]
        : [data.id, textOf(data), data.helpers.length, runs.isOpened(data.run), runs.isPinned(data.run)],
    );
    // The element under the pointer is kept as long as its contents do not change.
    if (now !== this.#shown) this.#cell.replaceChildren(...(isHead(data) ? headParts(data) : runParts(data)));
    this.#shown = now;
    return true;
  }
  getGui() {
    return this.#cell;
  }
}
