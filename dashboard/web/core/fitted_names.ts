/** Names in a list: as much of each as fits, and no two alike. Their titles hold the full names. */
import { pageTextWidth } from "./canvas_text.ts";
import { shortNames } from "./names.ts";

/** How much room an element has for text, in pixels, and its font weight and size. */
function roomOf(element: HTMLElement): [number, string] {
  const { paddingLeft, paddingRight, fontWeight, fontSize } = getComputedStyle(element);
  return [element.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight), `${fontWeight} ${fontSize}`];
}

/** As much of a name as fits an element, while it stays distinct from others. */
export function fittedName(element: HTMLElement, name: string, others: Iterable<string>): string {
  const [room, font] = roomOf(element);
  const wide = (text: string) => pageTextWidth(text, font);
  return wide(name) <= room ? name : shortNames([name, ...others], room, wide).get(name) ?? name;
}

/** Writes names into the elements of a list on the page, in order; all fit the narrowest element. */
export function fitNames(elements: readonly HTMLElement[], names: readonly string[]): void {
  const rooms = elements.map((element) => element.clientWidth);
  const least = Math.min(...rooms);
  // Elements that are not on the page have no width to fit.
  if (!elements.length || !least) return;
  const [room, font] = roomOf(elements[rooms.indexOf(least)]);
  const short = shortNames(names, room, (text) => pageTextWidth(text, font));
  elements.forEach((element, place) => {
    element.textContent = short.get(names[place]) ?? names[place];
  });
}
