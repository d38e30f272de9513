/** The names in the table of runs, shortened to the room in their column. */
import { pageTextWidth } from "../../web/core/canvas_text.ts";
import { shortNames } from "../../web/core/names.ts";
import { isHead, type Item } from "./items.ts";

const SIZE = 12.5;
export const textWidth = (text: string, size = SIZE): number => pageTextWidth(text, `${size}px`);

/** Names are kept distinct within each kind: groups, runs, and runs listed below another run. */
const kindOf = (item: Item) => (isHead(item) ? "group" : item.below ? "below" : "run");
/** The width taken up beside a name, including the cell's padding, in pixels. */
const BESIDE = { group: 62, run: 22, below: 48 };
const FOLD_AND_COUNT = 36;
const INDENT = 12;

const texts: Record<string, ReadonlyMap<string, string>> = {};

/** The name of a run or group in its row; below another run, without that run's name. */
export const nameOf = (item: Item): string =>
  !isHead(item) && item.below && item.label === item.run && item.parent !== "."
    ? item.run.slice((item.parent?.length ?? -1) + 1)
    : item.label;

export const textOf = (item: Item): string => texts[kindOf(item)]?.get(nameOf(item)) ?? nameOf(item);

/** The width that the column needs beside a name. */
const beside = (item: Item): number =>
  isHead(item)
    ? BESIDE.group
    : BESIDE[kindOf(item)] + (item.helpers.length ? FOLD_AND_COUNT : 0) + (item.group !== null ? INDENT : 0);
const nameWidth = (item: Item, text = nameOf(item)): number =>
  pageTextWidth(text, `${isHead(item) ? 550 : 400} ${SIZE}px`);

/** The column width needed for a name. */
export const widthOf = (item: Item): number => Math.ceil(nameWidth(item)) + beside(item);

/** Shortens the names to fit a column width. */
export function fitNames(items: ReadonlyMap<string, Item>, width: number): void {
  for (const [kind, found] of Map.groupBy(items.values(), kindOf)) {
    const room = width - Math.max(...found.map(beside));
    texts[kind] = shortNames(found.map(nameOf), room, (text) => nameWidth(found[0], text));
  }
}
