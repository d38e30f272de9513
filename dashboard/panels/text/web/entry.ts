// @ts-nocheck
// The text panel: one text on the page: its buttons, folding, tables that sort, and what a search found in it.
import * as diff from "./diff.ts";
import { elements } from "../../../web/core/dom.ts";

const { make, icon, toClipboard } = elements;
const FOLDED_PX = 300;

const query = (data, index, more) =>
  new URLSearchParams([["run", data.run], ["tag", data.tag], ["index", String(index)], ...(more || [])]);

async function copy(data, entry, button) {
  const answer = await fetch("/api/text/raw?" + query(data, entry.index));
  if (!answer.ok) return;
  await toClipboard(await answer.text());
  button.classList.add("done");
  button.title = "Copied";
  setTimeout(() => {
    button.classList.remove("done");
    button.title = "Copy as written";
  }, 1200);
}

function tool(name, title, act) {
  const button = make("button", { className: "icon-button act-" + name, title }, icon(name, 13));
  button.addEventListener("click", () => act(button));
  return button;
}

/** A text of a card; its HTML was sanitised by the server (panels/text/rendering.py, json_tree.py). */
export function element(data, entry) {
  const tools = make("span", { className: "tools" });
  if (!entry.error) {
    const save = make("a", {
      className: "icon-button",
      title: "Download this text",
      download: "",
      href: "/api/text/raw?" + query(data, entry.index, [["download", "true"]]),
    }, icon("download", 13));
    tools.append(
      tool("compare", "Compare with another step or run", () => diff.open(data, entry)),
      tool("copy", "Copy as written", (button) => copy(data, entry, button)),
      save,
    );
  }
  const head = make(
    "header",
    {},
    make("strong", {}, "step " + elements.step(entry.step)),
    make("span", { className: "dim" }, elements.when(entry.wall)),
    make("span", { className: "notice-inline" }, entry.notice),
    tools,
  );
  const content = make("div", { className: "prose" });
  if (entry.error) {
    content.append(
      make("span", { className: "no-picture" }, icon("alert", 16), make("span", {}, "Damaged: " + entry.error)),
    );
  } else content.innerHTML = entry.html;
  const article = make("article", { className: "entry", "data-index": String(entry.index) }, head, content);
  article.stepscopeWords = entry.words || [];
  if (entry.form === "table") numberColumns(content);
  for (const cell of content.querySelectorAll("thead th")) {
    Object.assign(cell, { tabIndex: 0, title: "Sort by this column" }).setAttribute("role", "columnheader");
  }
  return article;
}

// --- folding -----------------------------------------------------------------------------------------------

/** Folds a text that is long, once it is on the page. */
export function fold(article) {
  const content = article.querySelector(".prose");
  if (article.querySelector(".act-fold") || content.scrollHeight <= FOLDED_PX * 1.3) return;
  const button = make("button", { className: "quiet act-fold", "aria-expanded": "false" }, "Show all");
  button.addEventListener("click", () => unfold(article, content.classList.contains("folded")));
  article.append(button);
  content.classList.add("folded");
}

export function unfold(article, on) {
  const button = article.querySelector(".act-fold");
  if (!button) return;
  article.querySelector(".prose").classList.toggle("folded", !on);
  button.textContent = on ? "Show less" : "Show all";
  button.setAttribute("aria-expanded", String(on));
}

// --- tables ------------------------------------------------------------------------------------------------

/** An array has no head of its own: its columns are numbered, so that there is something to click. */
function numberColumns(content) {
  const table = content.querySelector(":scope > table");
  const first = table && table.rows[0];
  if (!first) return;
  const row = make(
    "tr",
    {},
    ...Array.from(first.cells, (_, column) => make("th", { className: "number" }, String(column))),
  );
  table.prepend(make("thead", {}, row));
}

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
const numeric = (
  text,
) => (/^[-+\u2212]?(\d[\d,_ ]*)?\.?\d*(e[-+]?\d+)?\s*%?$/i.test(text) && /\d/.test(text)
  ? Number(text.replace(/[,_ %]/g, "").replace("\u2212", "-"))
  : NaN);

function compare(one, other) {
  const [a, b] = [numeric(one), numeric(other)];
  if (!Number.isNaN(a) && !Number.isNaN(b)) return a - b;
  if (Number.isNaN(a) !== Number.isNaN(b)) return Number.isNaN(a) ? 1 : -1;
  return collator.compare(one, other);
}

/** Sorts by a column: up, down, and as it was. */
function sort(head) {
  const table = head.closest("table");
  const body = table.tBodies[0];
  if (!body) return;
  const rows = [...body.rows];
  if (rows.length && !rows[0].dataset.order) rows.forEach((row, order) => (row.dataset.order = String(order)));
  const before = head.getAttribute("aria-sort");
  for (const other of table.querySelectorAll("th[aria-sort]")) other.removeAttribute("aria-sort");
  const column = head.cellIndex;
  const text = (row) => (row.cells[column] ? row.cells[column].textContent.trim() : "");
  const original = (a, b) => Number(a.dataset.order) - Number(b.dataset.order);
  if (before === "descending") rows.sort(original);
  else {
    const way = before === "ascending" ? -1 : 1;
    rows.sort((a, b) => way * compare(text(a), text(b)) || original(a, b));
    head.setAttribute("aria-sort", way > 0 ? "ascending" : "descending");
  }
  body.append(...rows);
  highlight();
}

const headOf = (event) => event.target.closest && event.target.closest(".entry .prose thead th");
document.addEventListener("click", (event) => {
  const head = headOf(event);
  if (head) sort(head);
});
document.addEventListener("keydown", (event) => {
  const head = (event.key === "Enter" || event.key === " ") && headOf(event);
  if (!head) return;
  event.preventDefault();
  sort(head);
});

// --- what a search found -----------------------------------------------------------------------------------

/** Ranges of the strings that the server found in a text, where they stand on the page. */
export function ranges(article) {
  const words = article.stepscopeWords.map((word) => word.trim()).filter(Boolean);
  if (!words.length) return [];
  // Longer strings first, so that of two that begin alike the longer one is marked.
  words.sort((a, b) => b.length - a.length);
  const content = article.querySelector(".prose");
  const walker = document.createTreeWalker(content, NodeFilter.SHOW_TEXT);
  const nodes = [];
  let text = "";
  while (walker.nextNode()) {
    nodes.push({ node: walker.currentNode, start: text.length });
    text += walker.currentNode.data;
  }
  const found = [];
  for (let at = 0; at < text.length && found.length < 500;) {
    let next = -1;
    let length = 0;
    for (const word of words) {
      const place = text.indexOf(word, at);
      if (place >= 0 && (next < 0 || place < next)) [next, length] = [place, word.length];
    }
    if (next < 0) break;
    found.push(rangeOf(nodes, next, next + length));
    at = next + length;
  }
  return found;
}

function rangeOf(nodes, start, stop) {
  const holder = (place, end) => nodes.findLast((one) => (end ? one.start < place : one.start <= place));
  const [first, last] = [holder(start, false), holder(stop, true)];
  const range = document.createRange();
  range.setStart(first.node, start - first.start);
  range.setEnd(last.node, stop - last.start);
  return range;
}

/** Marks what was found in all texts on the page, and apart from that what is found in `now`. */
let marked = null;
export const highlight = (now) => {
  if (!CSS.highlights) return;
  marked = now === undefined ? marked : now;
  const all = [...document.querySelectorAll(".panel.text .entry")].flatMap((
    article,
  ) => (article === marked ? [] : ranges(article)));
  CSS.highlights.set("text-found", new Highlight(...all));
  CSS.highlights.set("text-found-now", new Highlight(...(marked && marked.isConnected ? ranges(marked) : [])));
};
