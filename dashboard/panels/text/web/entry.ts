/** A text on the page: its buttons, folding, and sortable tables. */
import { icon, iconButton, make, stepText, when, within } from "../../../web/core/dom.ts";
import { copyText } from "../../../web/page/layout.ts";
import * as diff from "./diff.ts";
import { highlight, keepWords } from "./marks.ts";
import { sort } from "./sorting.ts";
import type { CardData, Entry } from "./messages.generated.ts";
import { api } from "./texts.ts";

const FOLDED_PX = 300;

const written = async ({ run, tag }: CardData, { index }: Entry): Promise<string> =>
  await (await api.response("raw", { run, tag, index })).text();

function toolsOf(data: CardData, entry: Entry): HTMLElement[] {
  const compare = iconButton("compare", "Compare with another step or run", () => diff.open(data, entry), 13);
  compare.classList.add("act-compare");
  const copies = iconButton("copy", "Copy as written", () => copyText(written(data, entry), "Text copied"), 13);
  copies.classList.add("act-copy");
  const title = "Download this text";
  const href = api.address("raw", { run: data.run, tag: data.tag, index: entry.index, download: true });
  const save = make("a", { className: "icon-button", title, download: "", href }, icon("download", 13));
  return [compare, copies, save];
}

/** A text of a card. */
export function element(data: CardData, entry: Entry): HTMLElement {
  const head = make(
    "header",
    {},
    make("strong", {}, "step " + stepText(entry.step)),
    make("span", { className: "dim" }, when(Number(entry.wall))),
    make("span", { className: "notice-inline" }, entry.notice),
    make("span", { className: "tools" }, ...(entry.error ? [] : toolsOf(data, entry))),
  );
  const content = make("div", { className: "prose" });
  if (entry.error) {
    content.append(
      make("span", { className: "no-picture" }, icon("alert", 16), make("span", {}, "Damaged: " + entry.error)),
    );
  } else content.innerHTML = entry.html;
  const article = make("article", { className: "entry", "data-index": String(entry.index) }, head, content);
  keepWords(article, entry.words);
  if (entry.form === "table") numberColumns(content);
  for (const cell of content.querySelectorAll<HTMLElement>("thead th")) {
    cell.tabIndex = 0;
    cell.title = "Sort by this column";
    cell.setAttribute("role", "columnheader");
  }
  return article;
}

// --- folding -----------------------------------------------------------------------------------------------

/** Folds a long text once it is on the page. */
export function fold(article: HTMLElement): void {
  const content = article.querySelector(".prose");
  if (!content || article.querySelector(".act-fold") || content.scrollHeight <= FOLDED_PX * 1.3) return;
  const button = make("button", { className: "quiet act-fold", "aria-expanded": "false" }, "Show all");
  button.addEventListener("click", () => unfold(article, content.classList.contains("folded")));
  article.append(button);
  content.classList.add("folded");
}

export function unfold(article: HTMLElement, on: boolean): void {
  const button = article.querySelector(".act-fold");
  if (!button) return;
  article.querySelector(".prose")?.classList.toggle("folded", !on);
  button.textContent = on ? "Show less" : "Show all";
  button.setAttribute("aria-expanded", String(on));
}

// --- tables ------------------------------------------------------------------------------------------------

/** Numbers the columns of an array: it has no head of its own, and there must be something to click. */
function numberColumns(content: HTMLElement): void {
  const table = content.querySelector<HTMLTableElement>(":scope > table");
  const first = table?.rows[0];
  if (!table || !first) return;
  const heads = Array.from(first.cells, (_, column) => make("th", { className: "number" }, String(column)));
  table.prepend(make("thead", {}, make("tr", {}, ...heads)));
}

/** The header of the column in which an event happened. */
export const headOf = (event: Event | undefined): HTMLTableCellElement | null =>
  event ? within<HTMLTableCellElement>(event, ".entry .prose thead th") : null;

/** Sorts by the column in whose header an event happened. */
export function sortAt(event: Event): void {
  const head = headOf(event);
  if (!head) return;
  sort(head);
  highlight();
}
