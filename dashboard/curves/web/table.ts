// What is under the pointer: a line and dots in every card, and a table of the values in the card that is pointed at.
import { placeBeside } from "../../web/cards/plotly.ts";
import { type Child, make, stepText } from "../../web/core/dom.ts";
import { duration } from "../../web/cards/step_slider.ts";
import type { Hit } from "../../web/lines/chart.ts";
import { onAnswer, rowsOf } from "./exact.ts";
import type { CurveLine } from "./model.ts";
import { hint } from "./profiled_steps.ts";
import { clock, type Row, sameAxis, show } from "./rows.ts";
import { allCards, type Card, visibleCards } from "./state.ts";

const MOST_ROWS = 24;
const GAP = 18;

interface Spot {
  clientX: number;
  clientY: number;
}

/** Titles of columns, and their cells. */
const columnsOf = (rows: readonly Row[], several: boolean): [string, (row: Row) => Child][] => [
  ["", (row) => dot(row.line)],
  [rows.some((row) => row.line.kind === "group") ? "Group" : "Run", (row) => name(row.line.label)],
  ...when(several, "Tag", (row) => name(row.line.tag)),
  ...when(
    rows.some((row) => row.y !== row.value && Number.isFinite(row.value)),
    "Smoothed",
    (row) => Number.isFinite(row.value) ? show(row.y) : "",
  ),
  ["Value", (row) => show(row.value)],
  ...when(rows.some(hasBand), "Band", (row) => (hasBand(row) ? `${show(row.low)} – ${show(row.high)}` : "")),
  ...when(rows.some((row) => row.members), "Runs", (row) => (row.members ? String(row.members) : "")),
  ...when(
    rows.some((row) => Number.isFinite(row.step)),
    "Step",
    (row) => Number.isFinite(row.step) ? stepText(Math.round(row.step)) : "",
  ),
  ...when(
    rows.some((row) => Number.isFinite(row.seconds)),
    "Relative",
    (row) => Number.isFinite(row.seconds) ? duration(row.seconds) : "",
  ),
  ...when(rows.some((row) => Number.isFinite(row.wall)), "Time", (row) => clock(row.wall)),
];

const when = (is: unknown, title: string, cell: (row: Row) => Child): [string, (row: Row) => Child][] =>
  is ? [[title, cell]] : [];

/** A group of which one run has a value here has no spread, and the band of one run is its own. */
const hasBand = (row: Row) => Number.isFinite(row.low) && (row.line.kind !== "group" || row.members > 1);

export function dot(line: CurveLine): HTMLElement {
  const mark = make("i");
  mark.style.setProperty("--light", line.light);
  mark.style.setProperty("--dark", line.dark);
  if (line.dash) mark.dataset.dash = String(line.dash);
  return mark;
}

export const name = (text: string): HTMLElement => make("bdi", {}, text === "." ? ". (the log directory)" : text);

function tableOf(rows: readonly Row[], near: Row | undefined, several: boolean): HTMLTableElement {
  const columns = columnsOf(rows, several);
  const head = make("tr", {}, ...columns.map(([title]) => make("th", { className: title.toLowerCase() }, title)));
  const body = rows.map((row) =>
    make(
      "tr",
      { className: row === near ? "nearest" : row.beyond ? "beyond" : "" },
      ...columns.map(([title, cell]) => make("td", { className: title.toLowerCase() }, cell(row))),
    )
  );
  return make("table", {}, make("thead", {}, head), make("tbody", {}, ...body));
}

let box: HTMLElement | null = null;
let at: Spot & { card: Card; x: number; y: number } | null = null;
/** A mark is pointed at, whose words stand instead of the table. */
let onMark = false;

function say(spot: Spot, ...content: Node[]) {
  if (!box) document.body.append(box = make("div", { id: "hover" }));
  box.replaceChildren(...content);
  box.hidden = false;
  placeBeside(box, spot, GAP);
}

const more = (text: string) => make("div", { className: "more" }, text);

export function leave(): void {
  at = null;
  onMark = false;
  if (box) box.hidden = true;
  for (const card of allCards()) card.plot.showCursor(null);
}

export function cursor(card: Card, x: number, y: number, event: Event): void {
  const { clientX, clientY } = event instanceof MouseEvent ? event : card.plot.toClient(x, y);
  at = { card, x, y, clientX, clientY };
  for (const other of visibleCards()) other.plot.showCursor(sameAxis(card.chart, other.chart) ? x : null);
  render();
}

function render() {
  if (!at?.card.chart) return;
  if (onMark) return void (box && placeBeside(box, at, GAP));
  const { card, x, y } = at;
  const rows = rowsOf(card, x);
  if (!rows.length) return void (box && (box.hidden = true));
  const distance = (row: Row) => (Number.isFinite(row.y) ? Math.abs(row.y - y) : Infinity);
  const here = rows.filter((row) => !row.beyond);
  const near = here.reduce((best, row) => (distance(row) < distance(best) ? row : best), here[0]);
  const height = (row: Row) => (Number.isFinite(row.y) ? row.y : -Infinity);
  rows.sort((a, b) => Number(a.beyond) - Number(b.beyond) || height(b) - height(a));
  const start = Math.max(0, Math.min(rows.indexOf(near) - (MOST_ROWS >> 1), rows.length - MOST_ROWS));
  const shown = rows.slice(start, start + MOST_ROWS);
  const several = new Set(rows.map((row) => row.line.tag)).size > 1;
  const rest = rows.length - shown.length;
  const profiled = hint(card, x);
  say(
    at,
    tableOf(shown, near, several),
    ...(rest > 0 ? [more(`and ${rest} more`)] : []),
    ...(profiled ? [more(profiled)] : []),
  );
}

/** A mark is pointed at: its words instead of the table. */
export function mark(found: Hit | null, event: Event): void {
  onMark = found !== null;
  if (found && event instanceof MouseEvent) say(event, more(found.title));
}

/** A card was drawn anew: its cursor goes back to where it was. */
export function place(card: Card): void {
  if (at) card.plot.showCursor(sameAxis(at.card.chart, card.chart) ? at.x : null);
}

/** New values under a pointer that rests. */
export function refresh(): void {
  if (at && box && !box.hidden && at.card.element.isConnected) render();
}

onAnswer(refresh);
document.addEventListener("scroll", () => at && leave(), true);
