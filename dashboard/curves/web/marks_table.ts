// Two marks on the horizontal axis of all cards, and a table of the values at and the changes between them.
import { tip } from "../../web/core/commands.ts";
import { type Child, iconButton, make, stepText, storage } from "../../web/core/dom.ts";
import { duration } from "../../web/cards/step_slider.ts";
import { copyText } from "../../web/page/layout.ts";
import { marked, markEntries, type Marks, marksOf, NO_MARKS } from "./entries.ts";
import { onAnswer, rowsOf } from "./exact.ts";
import type { CurveChart } from "./model.ts";
import { actions } from "./profiled_menu.ts";
import { version } from "./profiled_steps.ts";
import { aligned, type Change, changes, clock, csvOf, sameAxis, show } from "./rows.ts";
import { allCards, assign, type Card, read, state, titleOf } from "./state.ts";
import { dot, name } from "./table.ts";

const HEIGHT_KEY = "stepscope-dock";
const USUAL_HEIGHT = 220;
const LEAST_HEIGHT = 90;
const MOST_HEIGHT = 0.7;
/** A double click, which resets the zoom, also begins with a click, so each click waits to see what follows. */
const DOUBLE_CLICK_MS = 250;
const DOUBLE_CLICK_PX = 4;

interface Column {
  title: string;
  key: (row: Change) => string | number;
  cell: (row: Change) => Child;
  /** Sorted as text and aligned to the left. */
  text?: boolean;
}
type NumberOf = Exclude<keyof Change, "line">;

let marks = NO_MARKS;
let sort = { column: 2, descending: true };
/** What the current table was built from. */
let drawn = "";
let waiting: { timer: ReturnType<typeof setTimeout>; act: () => void; at: MouseEvent } | null = null;

const dock = () => document.getElementById("curve-dock");

export function forgetClick(): void {
  if (waiting) clearTimeout(waiting.timer);
  waiting = null;
}

function settleClick() {
  const settled = waiting;
  forgetClick();
  settled?.act();
}

export function click(card: Card, x: number, event: MouseEvent): void {
  if (event.button) return;
  if (
    waiting && Math.hypot(event.clientX - waiting.at.clientX, event.clientY - waiting.at.clientY) <= DOUBLE_CLICK_PX
  ) {
    return forgetClick();
  }
  settleClick();
  const timer = setTimeout(settleClick, DOUBLE_CLICK_MS);
  waiting = { act: () => set(marked(marks, card.key, x)), timer, at: event };
}

function set(next: Marks) {
  marks = next;
  assign("marks", markEntries(marks));
  draw();
}

/** Removes the marks; returns whether there were any. */
export function clear(): boolean {
  if (marks.a === null || !dock()) return false;
  set(NO_MARKS);
  return true;
}

function draw() {
  allCards().forEach(place);
  table();
}

export function place(card: Card): void {
  const home = state.cards.get(marks.card);
  const same = !home?.chart || !card.chart || sameAxis(home.chart, card.chart);
  card.plot.setMarks2(same ? marks.a : null, same ? marks.b : null);
  if (card.key === marks.card) table();
}

/** Called when the view changes: takes the marks from it. */
export function follow(): void {
  marks = marksOf(read((settings) => settings.marks));
  draw();
}

type Write = (values: readonly number[]) => string[];
const percents: Write = (values) =>
  signed(values.map((value) => Number((value * 100).toPrecision(4)))).map((text) => `${text}%`);
const signed: Write = (values) => aligned(values).map((text, index) => (values[index] > 0 ? `+${text}` : text));
const step = (value: number) => stepText(Math.round(value));
const each = (write: (value: number) => string): Write => (values) => values.map(write);

function columnsOf(all: readonly Change[]): Column[] {
  const number = (title: string, of: NumberOf, write: Write = aligned): Column => {
    const texts = write(all.map((row) => row[of]));
    const cells = new Map(all.map((row, index) => [row, texts[index]]));
    return {
      title,
      key: (row) => row[of],
      cell: (row) => (Number.isNaN(row[of]) && of !== "a" && of !== "b" ? "" : cells.get(row) ?? ""),
    };
  };
  const text = (title: string, of: "label" | "tag"): Column => ({
    title,
    key: (row) => row.line[of],
    cell: (row) => name(row.line[of]),
    text: true,
  });
  const several = new Set(all.map((row) => row.line.tag)).size > 1;
  const second = [
    number("B", "b"),
    number("Step B", "stepB", each(step)),
    number("B − A", "change", signed),
    number("Change", "relative", percents),
    number("Slope", "slope", signed),
    number("Time", "seconds", each(duration)),
  ];
  const columns = [
    { title: "", key: (row: Change) => row.line.id, cell: (row: Change) => dot(row.line) },
    text("Run", "label"),
    ...(several ? [text("Tag", "tag")] : []),
    number("A", "a"),
    number("Step A", "stepA", each(step)),
    ...(marks.b === null ? [] : second),
  ];
  return columns.filter(({ key }) => all.some((row) => !Number.isNaN(key(row))));
}

function compare(a: Change, b: Change, { key, text }: Column): number {
  const [one, other] = [key(a), key(b)];
  if (text) return String(one).localeCompare(String(other), undefined, { numeric: true });
  if (typeof one === "string" || typeof other === "string") return NaN;
  if (Number.isNaN(one) || Number.isNaN(other)) return Number(Number.isNaN(other)) - Number(Number.isNaN(one));
  return one - other;
}

function table() {
  const host = dock();
  if (!host) return;
  const card = state.cards.get(marks.card);
  if (marks.a === null || !card?.chart) {
    if (marks.a === null || !host.firstChild) host.replaceChildren();
    drawn = "";
    return;
  }
  const all = changes(rowsOf(card, marks.a), marks.b === null ? [] : rowsOf(card, marks.b));
  const columns = columnsOf(all);
  const by = columns[Math.min(sort.column, columns.length - 1)];
  all.sort((a, b) => (sort.descending ? -1 : 1) * compare(a, b, by));
  const now = JSON.stringify([marks, sort, version(), all.map((row) => [row.line.id, row.a, row.b])]);
  if (now === drawn) return;
  drawn = now;
  const box = make(
    "div",
    { className: "dock" },
    make("div", { className: "dock-grip", title: "Drag to resize", onpointerdown: resize }),
    head(card, card.chart, columns, all),
    make("div", { className: "dock-table" }, rowsTable(columns, by, all)),
  );
  box.style.maxHeight = (Number(storage.get(HEIGHT_KEY)) || USUAL_HEIGHT) + "px";
  host.replaceChildren(box);
}

function head(card: Card, chart: CurveChart, columns: readonly Column[], all: readonly Change[]): HTMLElement {
  const [a, b] = [marks.a ?? NaN, marks.b];
  const where = b === null
    ? `at ${written(chart, a)} · click a chart again to set mark B`
    : `from ${written(chart, a)} to ${written(chart, b)}`;
  const unmark = iconButton("close", tip({ title: "Remove the marks", keys: ["Escape"] }), clear);
  unmark.classList.add("act-unmark");
  return make(
    "header",
    {},
    make("strong", {}, titleOf(card)),
    make("span", { className: "dim" }, where),
    make("span", { className: "spacer" }),
    ...actions(card, b ?? a),
    iconButton("copy", "Copy as CSV", () => copy(columns.slice(1), all)),
    unmark,
  );
}

function rowsTable(columns: readonly Column[], by: Column, all: readonly Change[]): HTMLTableElement {
  const className = ({ text }: Column) => (text ? "text" : "");
  const heads = columns.map((column, index) => {
    const order = column === by ? (sort.descending ? "descending" : "ascending") : "none";
    const arrow = { descending: " ↓", ascending: " ↑", none: "" }[order];
    const button = make("button", { className: "sort", onclick: () => sortBy(index) }, column.title, arrow);
    return make("th", { "aria-sort": order, className: className(column) }, column.title ? button : "");
  });
  const body = all.map((row) =>
    make("tr", {}, ...columns.map((column) => make("td", { className: className(column) }, column.cell(row))))
  );
  return make("table", {}, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...body));
}

function written({ x: { kind, suffix } }: CurveChart, x: number): string {
  if (kind === "wall") return clock(x);
  if (kind === "step") return "step " + step(x);
  return show(Number(x.toPrecision(5))) + suffix;
}

function sortBy(column: number) {
  sort = { column, descending: sort.column === column ? !sort.descending : true };
  table();
}

const copy = (columns: readonly Column[], all: readonly Change[]) =>
  copyText(
    csvOf([columns.map(({ title }) => title), ...all.map((row) => columns.map(({ key }) => key(row)))]),
    "Table copied",
  );

function resize(event: PointerEvent) {
  const grip = event.currentTarget;
  if (!(grip instanceof HTMLElement) || !grip.parentElement) return;
  const box = grip.parentElement;
  grip.setPointerCapture(event.pointerId);
  grip.onpointermove = (move) => {
    const wanted = Math.max(box.getBoundingClientRect().bottom - move.clientY, LEAST_HEIGHT);
    const height = Math.min(wanted, innerHeight * MOST_HEIGHT);
    box.style.height = box.style.maxHeight = height + "px";
    storage.set(HEIGHT_KEY, String(height));
  };
  grip.onpointerup = () => (grip.onpointermove = grip.onpointerup = null);
}

onAnswer(place);
