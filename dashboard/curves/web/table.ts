// @ts-nocheck
// What is under the pointer: a line and dots in every card, and a table of the values in the card that is pointed at.
import * as charts from "../../web/cards/plotly.ts";
import * as curveExact from "./exact.ts";
import { curveCards } from "./cards.ts";
import { curveDock } from "./marks_table.ts";
import { curveProfiled } from "./profiled_steps.ts";
import { elements } from "../../web/core/dom.ts";
import { isSorted } from "../../web/lines/points.ts";

const MOST_ROWS = 24;

/** Six significant digits, without noise. */
function show(value) {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) return value.toExponential(4).replace("-", "−").replace("e+", "e");
  return String(Number(value.toPrecision(6))).replace("-", "−");
}

function duration(seconds) {
  const s = Math.abs(seconds);
  if (s < 60) return show(Number(seconds.toFixed(s < 10 ? 2 : 1))) + " s";
  const whole = Math.round(s);
  const [d, h, m] = [Math.floor(whole / 86400), Math.floor(whole / 3600) % 24, Math.floor(whole / 60) % 60];
  return d ? `${d} d ${h} h` : h ? `${h} h ${m} min` : `${m} min ${whole % 60} s`;
}

/** Time of day; with the date where that is not today. */
function clock(seconds) {
  const when = new Date(seconds * 1000);
  if (Number.isNaN(when.getTime())) return "";
  const time = when.toLocaleTimeString("en-GB");
  if (when.toDateString() === new Date().toDateString()) return time;
  return when.toLocaleDateString("en-GB", { day: "numeric", month: "short" }) + " " + time;
}

/** How far a line's end may be from the pointer for its point to count as there, in pixels. */
const REACH = 2;

/** Whether the line has ended before x, or begins behind it. */
function isBeyond(card, near, x) {
  const { x: places } = card.plot.model.lines.find((line) => line.id === near.id);
  const outside = isSorted(places) && (x < places[0] || x > places[places.length - 1]);
  return outside && Math.abs(card.plot.toClient(near.x, 0).clientX - card.plot.toClient(x, 0).clientX) > REACH;
}

/** One row for each line of a card: its point nearest to x, among all its points once the server has told it. */
function rowsAt(
  card,
  x,
): { line: any; x: number; y: number; value: number; step: number; seconds: number; wall: number; beyond: boolean }[] {
  const byId = new Map(card.chart.lines.map((line) => [line.id, line]));
  const notFinite = new Map(card.chart.marks.map(([index, place, what]) => [index + " " + place, what]));
  const exact = curveExact.at(card, x);
  const rows = [];
  for (const near of card.plot.nearest(x)) {
    const line = byId.get(near.id);
    if (!line || line.kind === "member") continue;
    const raw = line.y[near.index];
    const what = notFinite.get(card.chart.lines.indexOf(line) + " " + near.x);
    const value = what === "+Inf" ? Infinity : what === "-Inf" ? -Infinity : raw;
    const seconds = line.seconds ? line.seconds[near.index] : NaN;
    rows.push({
      line,
      x: near.x,
      y: near.y,
      value,
      low: line.low ? line.low[near.index] : NaN,
      high: line.high ? line.high[near.index] : NaN,
      members: line.members ? line.members[near.index] : 0,
      step: line.step ? line.step[near.index] : card.chart.x.kind === "step" ? near.x : NaN,
      seconds,
      wall: line.first === undefined || line.first === null ? NaN : line.first + seconds,
      beyond: isBeyond(card, near, x),
    });
    if (exact && exact[near.id]) Object.assign(rows[rows.length - 1], exactly(line, exact[near.id], card));
  }
  return rows;
}

/** What the server told of a point, in place of what is drawn. */
function exactly(line, point, card) {
  const told = Object.fromEntries(Object.entries(point).map(([name, value]) => [name, Number(value)]));
  // While the slider moves, the page alone knows the smoothing.
  if (curveCards.weight() !== card.chart.smoothing) delete told.y;
  const wall = line.first === undefined || line.first === null || told.seconds === undefined
    ? NaN
    : line.first + told.seconds;
  return { ...told, ...(Number.isNaN(wall) ? {} : { wall }) };
}

const columnsOf = (rows, several) => [
  ["", (row) => dot(row.line)],
  [rows.some((row) => row.line.kind === "group") ? "Group" : "Run", (row) => name(row.line.label)],
  ...(several ? [["Tag", (row) => name(row.line.tag)]] : []),
  ...(rows.some((row) => row.y !== row.value && Number.isFinite(row.value))
    ? [["Smoothed", (row) => (Number.isFinite(row.value) ? show(row.y) : "")]]
    : []),
  ["Value", (row) => show(row.value)],
  ...(rows.some(hasBand) ? [["Band", (row) => (hasBand(row) ? `${show(row.low)} – ${show(row.high)}` : "")]] : []),
  ...(rows.some((row) => row.members) ? [["Runs", (row) => (row.members ? String(row.members) : "")]] : []),
  ...(rows.some((row) => Number.isFinite(row.step))
    ? [["Step", (row) => (Number.isFinite(row.step) ? Math.round(row.step).toLocaleString("en-US") : "")]]
    : []),
  ...(rows.some((row) => Number.isFinite(row.seconds))
    ? [["Relative", (row) => (Number.isFinite(row.seconds) ? duration(row.seconds) : "")]]
    : []),
  ...(rows.some((row) => Number.isFinite(row.wall)) ? [["Time", (row) => clock(row.wall)]] : []),
];

/** A group of which one run has a value here has no spread, and the band of one run is its own. */
const hasBand = (row) => Number.isFinite(row.low) && (row.line.kind !== "group" || row.members > 1);

function dot(line) {
  const mark = elements.make("i", {});
  mark.style.setProperty("--light", line.light);
  mark.style.setProperty("--dark", line.dark);
  if (line.dash) mark.dataset.dash = String(line.dash);
  return mark;
}

const name = (text) => elements.make("bdi", {}, text === "." ? ". (the log directory)" : text);

function tableOf(rows, near, several) {
  const { make } = elements;
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

let box = null;
let at = null;
/** The mark that is pointed at. */
let pointed = null;

function leave() {
  at = pointed = null;
  if (box) box.hidden = true;
  for (const card of curveCards.all()) card.plot.showCursor(null);
}

function cursor(card, x, y, event) {
  const { clientX, clientY } = event.clientX === undefined ? card.plot.toClient(x, y) : event;
  at = { card, x, y, clientX, clientY };
  for (const other of curveCards.visible()) other.plot.showCursor(sameAxis(card, other) ? x : null);
  render();
}

const sameAxis = (one, other) =>
  one.chart && other.chart && one.chart.x.kind === other.chart.x.kind && one.chart.x.suffix === other.chart.x.suffix &&
  one.chart.x.label === other.chart.x.label;

function render() {
  if (!at || !at.card.chart) return;
  if (pointed) return void charts.placeBeside(box, at, 18);
  const rows = rowsAt(at.card, at.x);
  if (!rows.length) return void (box && (box.hidden = true));
  const distance = (row) => (Number.isFinite(row.y) ? Math.abs(row.y - at.y) : Infinity);
  const here = rows.filter((row) => !row.beyond);
  const near = here.reduce((best, row) => (distance(row) < distance(best) ? row : best), here[0]);
  const height = (row) => (Number.isFinite(row.y) ? row.y : -Infinity);
  rows.sort((a, b) => Number(a.beyond) - Number(b.beyond) || height(b) - height(a));
  const start = Math.max(0, Math.min(rows.indexOf(near) - (MOST_ROWS >> 1), rows.length - MOST_ROWS));
  const shown = rows.slice(start, start + MOST_ROWS);
  if (!box) document.body.append(box = elements.make("div", { id: "hover" }));
  const several = new Set(rows.map((row) => row.line.tag)).size > 1;
  const rest = rows.length - shown.length;
  const more = rest > 0 ? [elements.make("div", { className: "more" }, `and ${rest} more`)] : [];
  const hint = curveProfiled.hint(at.card, at.x);
  if (hint) more.push(elements.make("div", { className: "more" }, hint));
  box.replaceChildren(tableOf(shown, near, several), ...more);
  box.hidden = false;
  charts.placeBeside(box, at, 18);
}

/** A mark is pointed at: its words instead of the table. */
function mark(found, event) {
  pointed = found;
  if (!found) return;
  if (!box) document.body.append(box = elements.make("div", { id: "hover" }));
  box.replaceChildren(elements.make("div", { className: "more" }, found.title));
  box.hidden = false;
  charts.placeBeside(box, event, 18);
}

export const curveTable = {
  show,
  duration,
  clock,
  rowsAt,
  dot,
  name,
  sameAxis,
  cursor,
  leave,
  mark,
  /** A card was drawn anew: its cursor and marks go back to where they were. */
  place(card) {
    curveDock.place(card);
    if (at) card.plot.showCursor(sameAxis(at.card, card) ? at.x : null);
  },
  /** New values under a pointer that rests. */
  refresh() {
    if (at && box && !box.hidden && at.card.element.isConnected) render();
  },
};
document.addEventListener("scroll", () => at && leave(), true);
