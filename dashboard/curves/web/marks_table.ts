// @ts-nocheck
// Two marks on the horizontal axis of all cards, and a table of the values at them and of what lies between.
import { curveCards } from "./cards.ts";
import { curveProfiled } from "./profiled_steps.ts";
import { curveTable } from "./table.ts";
import { elements, storage } from "../../web/core/dom.ts";
import { view } from "../../web/page/view.ts";

const HEIGHT_KEY = "stepscope-dock";

let marks: { card: string; a: number | null; b: number | null } = { card: "", a: null, b: null };
let sort = { column: 2, descending: true };
let panel = "";
let drawn = "";

const dock = () => document.getElementById("curve-dock");

/** A double click, which resets the zoom, begins with a click as well: each waits for what follows. */
const DOUBLE_CLICK_MS = 250;
let waiting: { timer: number; act: () => void } | null = null;

function forgetClick() {
  if (waiting) clearTimeout(waiting.timer);
  waiting = null;
}

function settleClick() {
  const { act } = waiting;
  forgetClick();
  act();
}

function click(card, x, event) {
  if (event.button) return;
  if (event.detail > 1) return forgetClick();
  if (waiting) settleClick();
  waiting = { act: () => mark(card, x), timer: setTimeout(settleClick, DOUBLE_CLICK_MS) };
}

/** A click marks A, the next one B, the one after that begins anew. */
function mark(card, x) {
  if (marks.a === null || marks.b !== null) set({ card: card.key, a: x, b: null });
  else set({ ...marks, card: card.key, b: x });
}

function set(next) {
  marks = next;
  const entries = marks.a === null
    ? []
    : [`card:${marks.card}`, `a:${marks.a}`, ...(marks.b === null ? [] : [`b:${marks.b}`])];
  view.update((_params, assign) => assign(`${panel}.marks`, entries));
  draw();
}

function parse(entries) {
  const found = { card: "", a: null, b: null };
  for (const entry of entries) {
    const at = entry.indexOf(":");
    const [name, text] = [entry.slice(0, at), entry.slice(at + 1)];
    if (name === "card") found.card = text;
    else if ((name === "a" || name === "b") && Number.isFinite(Number(text))) found[name] = Number(text);
  }
  return found.a === null ? { card: "", a: null, b: null } : found;
}

function draw() {
  curveCards.all().forEach(place);
  table();
}

function place(card) {
  const home = curveCards.find(marks.card);
  const same = !home || !home.chart || !card.chart || curveTable.sameAxis(home, card);
  card.plot.setMarks2(same ? marks.a : null, same ? marks.b : null);
  if (card.key === marks.card) table();
}

/** Rows of the table: one for each line, with its values at the marks. */
function rows(card) {
  const first = curveTable.rowsAt(card, marks.a);
  const second = marks.b === null ? [] : curveTable.rowsAt(card, marks.b);
  const byId = new Map(second.map((row) => [row.line.id, row]));
  return first.map((one) => {
    const other = byId.get(one.line.id);
    const change = other ? other.value - one.value : NaN;
    return {
      line: one.line,
      a: one.value,
      stepA: one.step,
      b: other ? other.value : NaN,
      stepB: other ? other.step : NaN,
      change,
      relative: other && one.value !== 0 ? change / Math.abs(one.value) : NaN,
      slope: other && other.x !== one.x ? change / (other.x - one.x) : NaN,
      seconds: other ? other.wall - one.wall : NaN,
    };
  });
}

function columns(all, several, steps) {
  const { show, duration, dot, name } = curveTable;
  const number = (
    key,
    write = show,
  ) => [(row) => row[key], (row) => (Number.isNaN(row[key]) && key !== "a" && key !== "b" ? "" : write(row[key]))];
  const step = (value) => Math.round(value).toLocaleString("en-US");
  const percent = (value) => `${value > 0 ? "+" : ""}${show(Number((value * 100).toPrecision(4)))} %`;
  const signed = (value) => (value > 0 ? "+" : "") + show(value);
  return [
    { title: "", cell: (row) => dot(row.line), key: (row) => row.line.id },
    { title: "Run", cell: (row) => name(row.line.label), key: (row) => row.line.label, text: true },
    ...(several ? [{ title: "Tag", cell: (row) => name(row.line.tag), key: (row) => row.line.tag, text: true }] : []),
    ...[
      ["A", ...number("a")],
      ...(steps ? [["Step A", ...number("stepA", step)]] : []),
      ...(marks.b === null ? [] : [
        ["B", ...number("b")],
        ...(steps ? [["Step B", ...number("stepB", step)]] : []),
        ["B − A", ...number("change", signed)],
        ["Change", ...number("relative", percent)],
        ["Slope", ...number("slope", signed)],
        ["Time", ...number("seconds", duration)],
      ]),
    ].map(([title, key, cell]) => ({ title, key, cell })),
  ].filter((column) => column.text || !column.title || all.some((row) => !Number.isNaN(column.key(row))));
}

function compare(a, b, { key, text }) {
  const [one, other] = [key(a), key(b)];
  if (text) return String(one).localeCompare(String(other), undefined, { numeric: true });
  if (Number.isNaN(one) || Number.isNaN(other)) return Number.isNaN(other) - Number.isNaN(one);
  return one - other;
}

function table() {
  const place = dock();
  if (!place) return;
  const card = curveCards.find(marks.card);
  if (marks.a === null || !card || !card.chart) {
    if (marks.a === null || !place.firstChild) place.replaceChildren();
    drawn = "";
    return;
  }
  const { make, icon } = elements;
  const all = rows(card);
  const several = new Set(all.map((row) => row.line.tag)).size > 1;
  const shown = columns(all, several, all.some((row) => Number.isFinite(row.stepA)));
  const by = shown[Math.min(sort.column, shown.length - 1)];
  all.sort((a, b) => (sort.descending ? -1 : 1) * compare(a, b, by));
  const now = JSON.stringify([marks, sort, curveProfiled.version(), all.map((row) => [row.line.id, row.a, row.b])]);
  if (now === drawn) return;
  drawn = now;
  const head = shown.map((column, index) => {
    const active = column === by;
    const order = active ? (sort.descending ? "descending" : "ascending") : "none";
    const button = make(
      "button",
      { className: "sort", onclick: () => (sortBy(index), table()) },
      column.title,
      active ? (sort.descending ? " ↓" : " ↑") : "",
    );
    return make("th", { "aria-sort": order, className: column.text ? "text" : "" }, column.title ? button : "");
  });
  const body = all.map((row) =>
    make("tr", {}, ...shown.map((column) => make("td", { className: column.text ? "text" : "" }, column.cell(row))))
  );
  const title = card.element.querySelector("h3").title;
  place.replaceChildren(
    make(
      "div",
      { className: "dock" },
      make("div", { className: "dock-grip", title: "Drag to resize", onpointerdown: resize }),
      make(
        "header",
        {},
        make("strong", {}, title),
        make(
          "span",
          { className: "dim" },
          marks.b === null
            ? `at ${written(card, marks.a)} · click a chart again to set mark B`
            : `from ${written(card, marks.a)} to ${written(card, marks.b)}`,
        ),
        make("span", { className: "spacer" }),
        ...curveProfiled.actions(card, marks.b === null ? marks.a : marks.b),
        make(
          "button",
          { className: "icon-button", title: "Copy as CSV", onclick: () => copy(shown, all) },
          icon("copy", 14),
        ),
        make(
          "button",
          { className: "icon-button act-unmark", title: "Remove the marks (Escape)", onclick: clear },
          icon("close", 14),
        ),
      ),
      make(
        "div",
        { className: "dock-table" },
        make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body)),
      ),
    ),
  );
  place.firstChild.style.maxHeight = (Number(storage.get(HEIGHT_KEY)) || 220) + "px";
}

function written(card, x) {
  const { kind, suffix } = card.chart.x;
  if (kind === "wall") return curveTable.clock(x);
  if (kind === "step") return "step " + Math.round(x).toLocaleString("en-US");
  return curveTable.show(Number(x.toPrecision(5))) + (suffix || "");
}

function sortBy(column) {
  sort = { column, descending: sort.column === column ? !sort.descending : true };
}

function copy(shown, all) {
  const quote = (text) => (/[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);
  const lines = all.map((row) => shown.slice(1).map((column) => quote(String(column.key(row)))).join(","));
  elements.toClipboard([shown.slice(1).map((column) => quote(column.title)).join(","), ...lines].join("\n") + "\n");
}

function clear() {
  set({ card: "", a: null, b: null });
}

function resize(event) {
  const grip = event.target;
  const box = grip.parentNode;
  grip.setPointerCapture(event.pointerId);
  grip.onpointermove = (move) => {
    const height = Math.min(Math.max(box.getBoundingClientRect().bottom - move.clientY, 90), innerHeight * 0.7);
    box.style.height = box.style.maxHeight = height + "px";
    storage.set(HEIGHT_KEY, String(height));
  };
  grip.onpointerup = () => (grip.onpointermove = grip.onpointerup = null);
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && marks.a !== null && dock() && !document.querySelector(".menu, .sheet, .card.full")) {
    clear();
  }
});

export const curveDock = {
  click,
  forgetClick,
  place,
  /** The view changed: the marks are where it says. */
  follow(params, name) {
    panel = name;
    marks = parse(params.getAll(`${panel}.marks`));
    draw();
  },
};
