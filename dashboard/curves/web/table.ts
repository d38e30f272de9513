// Values under the pointer: a line and dots in every card, and a table in the card that is pointed at.
import { placeBeside } from "../../web/cards/plotly.ts";
import { pageTextWidth } from "../../web/core/canvas_text.ts";
import { keyText } from "../../web/core/commands.ts";
import { type Child, isScrolled, make, stepText } from "../../web/core/dom.ts";
import { duration } from "../../web/cards/step_slider.ts";
import { shortNames } from "../../web/core/names.ts";
import type { Hit } from "../../web/lines/chart.ts";
import { onAnswer, rowsOf } from "./exact.ts";
import { pointAtLine } from "./light.ts";
import type { CurveLine } from "./model.ts";
import { hint } from "./profiled_steps.ts";
import { aligned, clock, nearestRows, type Row, sameAxis } from "./rows.ts";
import { allCards, type Card, visibleCards } from "./state.ts";

/** Rows of the table unless all are requested. */
const FEW_ROWS = 8;
const ROW_HEIGHT = 20;
const AROUND_ROWS = 90;
export const ALL_ROWS_KEY = "a";
const GAP = 18;
/** How close a curve must pass for its run to count as pointed at, in pixels. */
const NEAR = 14;

interface Spot {
  clientX: number;
  clientY: number;
}

interface Column {
  title: string;
  cells: Child[];
}

const written = (values: number[], write: (value: number) => string) =>
  values.map((value) => (Number.isFinite(value) ? write(value) : ""));

function columnsOf(rows: readonly Row[], several: boolean, isAll: boolean): Column[] {
  const columns: Column[] = [];
  const add = (is: unknown, title: string, cells: () => Child[]) =>
    void (is && columns.push({ title, cells: cells() }));
  const of = <K extends keyof Row>(name: K) => rows.map((row) => row[name]);
  const known = (name: "step" | "seconds" | "wall") => rows.some((row) => Number.isFinite(row[name]));
  const groups = rows.some((row) => row.line.kind === "group");
  const logged = rows.map((row) => Number.isFinite(row.value));
  add(true, "", () => rows.map((row) => dot(row.line)));
  const [labels, tags] = [rows.map(({ line }) => line.label), rows.map(({ line }) => line.tag)];
  add(true, groups ? "Group" : "Run", () => labels.map(namesOf(labels)));
  add(several, "Tag", () => tags.map(namesOf(tags)));
  add(
    rows.some((row, index) => row.y !== row.value && logged[index]),
    "Smoothed",
    () => aligned(of("y")).map((text, index) => (logged[index] ? text : "")),
  );
  add(true, "Value", () => aligned(of("value")));
  add(rows.some(hasBand), "Band", () => {
    const texts = aligned(rows.filter(hasBand).flatMap(({ low, high }) => [low, high]));
    return rows.map((row) => (hasBand(row) ? `${texts.shift()} – ${texts.shift()}` : ""));
  });
  add(groups, "Runs", () => rows.map(({ members }) => (members ? String(members) : "")));
  add(known("step"), "Step", () => written(of("step"), (step) => stepText(Math.round(step))));
  add(isAll && known("seconds"), "Relative", () => written(of("seconds"), duration));
  add(isAll && known("wall"), "Time", () => written(of("wall"), clock));
  return columns;
}

/** A group with only one run that has a value here has no spread, and the band of a single run is its own. */
const hasBand = (row: Row) => Number.isFinite(row.low) && (row.line.kind !== "group" || row.members > 1);

export function dot(line: CurveLine): HTMLElement {
  const mark = make("i");
  mark.style.setProperty("--light", line.light);
  mark.style.setProperty("--dark", line.dark);
  if (line.dash) mark.dataset.dash = String(line.dash);
  return mark;
}

export const name = (text: string): HTMLElement => make("bdi", { title: text }, text);

/** Shortens the names of a column where they are too long, keeping them distinct. */
function namesOf(texts: readonly string[]): (text: string) => HTMLElement {
  const short = shortNames(texts, Math.min(340, innerWidth * 0.3), (text) => pageTextWidth(text, "550 12px"));
  return (text) => name(short.get(text) ?? text);
}

function tableOf(rows: readonly Row[], near: Row | undefined, columns: readonly Column[]): HTMLTableElement {
  const head = make("tr", {}, ...columns.map(({ title }) => make("th", { className: title.toLowerCase() }, title)));
  const body = rows.map((row, index) =>
    make(
      "tr",
      { className: row === near ? "nearest" : row.beyond ? "beyond" : "" },
      ...columns.map(({ title, cells }) => make("td", { className: title.toLowerCase() }, cells[index])),
    )
  );
  return make("table", {}, make("thead", {}, head), make("tbody", {}, ...body));
}

let box: HTMLElement | null = null;
let at: Spot & { card: Card; x: number; y: number } | null = null;
/** Whether a mark is pointed at; its text then replaces the table. */
let onMark = false;
/** Whether all rows and columns were requested. */
let showsAll = false;

/** The top of the marks table, if there is one, or else the bottom of the window. */
const floor = () => document.querySelector(".dock")?.getBoundingClientRect().top ?? innerHeight;

function say(spot: Spot, ...content: Node[]) {
  if (!box) document.body.append(box = make("div", { id: "hover" }));
  box.replaceChildren(...content);
  box.hidden = false;
  placeBeside(box, spot, GAP, floor());
}

const more = (text: string) => make("div", { className: "more" }, text);

export function leave(): void {
  at = null;
  onMark = false;
  if (box) box.hidden = true;
  for (const card of allCards()) card.plot.showCursor(null);
  pointAtLine(null);
}

/** Called when cards are removed: hides the table if its card is gone. */
export const sweep = (): void => void (at && allCards().every((card) => card !== at?.card) && leave());

/** Shows all rows and columns, or only a few again; returns whether there is a table. */
export function toggleAll(): boolean {
  if (!at || !box || box.hidden) return false;
  showsAll = !showsAll;
  render();
  return true;
}

export function cursor(card: Card, x: number, y: number, event: Event): void {
  const { clientX, clientY } = event instanceof MouseEvent ? event : card.plot.toClient(x, y);
  at = { card, x, y, clientX, clientY };
  for (const other of visibleCards()) other.plot.showCursor(sameAxis(card.chart, other.chart) ? x : null);
  render();
}

function render() {
  if (!at?.card.chart) return;
  if (onMark) return void (box && placeBeside(box, at, GAP, floor()));
  const { card, x, y } = at;
  const rows = rowsOf(card, x);
  if (!rows.length) return void (box && (box.hidden = true));
  const { plot } = card;
  const heightOf = (row: Row) => plot.heightOf(row.y, row.line.side === "right" ? "y2" : "y");
  const most = showsAll ? Math.max(FEW_ROWS, Math.floor((floor() - AROUND_ROWS) / ROW_HEIGHT)) : FEW_ROWS;
  const { shown, near, away } = nearestRows(rows, heightOf, plot.heightOf(y, "y"), most);
  pointAtLine(near && away <= NEAR ? near.line : null);
  const several = new Set(rows.map((row) => row.line.tag)).size > 1;
  const rest = rows.length - shown.length;
  const key = keyText(ALL_ROWS_KEY);
  const hints = [
    ...(rest > 0 ? [`and ${rest} more`] : []),
    ...(showsAll ? [`${key}: fewer`] : rest > 0 ? [`${key}: all`] : []),
  ];
  const profiled = hint(card, x);
  say(
    at,
    tableOf(shown, near, columnsOf(shown, several, showsAll)),
    ...(hints.length ? [more(hints.join(" · "))] : []),
    ...(profiled ? [more(profiled)] : []),
  );
}

/** Called when a mark is pointed at: shows its text instead of the table. */
export function mark(found: Hit | null, event: Event): void {
  onMark = found !== null;
  if (found && event instanceof MouseEvent) say(event, more(found.title));
}

/** Called after a card is redrawn: puts its cursor back in place. */
export function place(card: Card): void {
  if (at) card.plot.showCursor(sameAxis(at.card.chart, card.chart) ? at.x : null);
}

/** Updates the values under a resting pointer. */
export function refresh(): void {
  if (at && box && !box.hidden && at.card.element.isConnected) render();
}

onAnswer(refresh);
// After scrolling, a different place is under the pointer.
document.addEventListener("scroll", (event) => isScrolled(event, at?.card.element ?? null) && leave(), true);
