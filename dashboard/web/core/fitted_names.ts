/** Names in a list: as much of each as its place has room for, and no two alike. Their titles have the whole. */
import { pageTextWidth } from "./canvas_text.ts";
import { shortNames } from "./names.ts";

/** How much room an element has for text, in pixels, and the weight and size of its letters. */
function roomOf(element: HTMLElement): [number, string] {
  const { paddingLeft, paddingRight, fontWeight, fontSize } = getComputedStyle(element);
  return [element.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight), `${fontWeight} ${fontSize}`];
}

/** What of a name an element has room for, beside others that it is told from. */
export function fittedName(element: HTMLElement, name: string, others: Iterable<string>): string {
  const [room, font] = roomOf(element);
  const wide = (text: string) => pageTextWidth(text, font);
  return wide(name) <= room ? name : shortNames([name, ...others], room, wide).get(name) ?? name;
}

/** Writes names into the elements of a list that is on the page, in order; all are as wide as the narrowest has room. */
export function fitNames(elements: readonly HTMLElement[], names: readonly string[]): void {
  const rooms = elements.map((element) => element.clientWidth);
  const least = Math.min(...rooms);
  // What is not on the page has no room to go by.
  if (!elements.length || !least) return;
  const [room, font] = roomOf(elements[rooms.indexOf(least)]);
  const short = shortNames(names, room, (text) => pageTextWidth(text, font));
  elements.forEach((element, place) => {
    element.textContent = short.get(names[place]) ?? names[place];
  });
}
