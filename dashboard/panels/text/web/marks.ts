/** Marks search results in the texts on the page. */
import { placesOf } from "./words.ts";

const MOST = 500;
/** The strings that the server found in a text, by its element on the page. */
const words: WeakMap<Element, string[]> = new WeakMap();
/** The text with the current hit. */
let marked: Element | null = null;

export const keepWords = (article: Element, found: string[]): void => void words.set(article, found);

/** Ranges on the page of the strings that the server found in a text. */
export function ranges(article: Element): Range[] {
  const found = words.get(article) ?? [];
  const content = article.querySelector(".prose");
  if (!found.length || !content) return [];
  const walker = document.createTreeWalker(content, NodeFilter.SHOW_TEXT);
  const nodes: { node: Node; start: number }[] = [];
  let text = "";
  while (walker.nextNode()) {
    nodes.push({ node: walker.currentNode, start: text.length });
    text += walker.currentNode.textContent ?? "";
  }
  return placesOf(found, text, MOST).map(([start, stop]) => {
    const range = document.createRange();
    const first = nodes.findLast((one) => one.start <= start);
    const last = nodes.findLast((one) => one.start < stop);
    if (first) range.setStart(first.node, start - first.start);
    if (last) range.setEnd(last.node, stop - last.start);
    return range;
  });
}

/** Highlights what was found in all texts on the page, and separately in `now`; undefined keeps the previous text. */
export function highlight(now?: Element | null): void {
  if (!CSS.highlights) return;
  if (now !== undefined) marked = now;
  const all = [...document.querySelectorAll(".panel.text .entry")].filter((article) => article !== marked);
  CSS.highlights.set("text-found", new Highlight(...all.flatMap(ranges)));
  CSS.highlights.set("text-found-now", new Highlight(...(marked?.isConnected ? ranges(marked) : [])));
}
