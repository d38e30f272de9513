// Which run is pointed at: its curves stand out in all cards where the list of runs is pointed at, and its row is marked
// there where a curve is.
import { membersOf } from "../../runs/web/cells.ts";
import { isHead, type Item } from "../../runs/web/items.ts";
import { point } from "../../runs/web/pointed.ts";
import { settings as runSettings } from "../../runs/web/settings.generated.ts";
import { itemAt, reveal } from "../../runs/web/table.ts";
import { type CurveLine, isOf } from "./model.ts";
import { allCards, type Card, readSetting } from "./state.ts";

const NONE: ReadonlySet<string> = new Set();
let inList = NONE;

/** Brings a card's emphasis in line with the run that is pointed at, or else those that are selected. */
export function light({ chart, plot }: Card): void {
  const selected = new Set(readSetting(runSettings.select));
  const of = (runs: ReadonlySet<string>) => (chart?.lines ?? []).filter((line) => isOf(line, runs)).map(({ id }) => id);
  const pointed = inList.size ? of(inList) : [];
  const lit = pointed.length ? pointed : of(selected);
  plot.highlight(lit.length ? lit : null);
}

function pointAt(item: Item | null) {
  const runs = !item ? NONE : new Set(isHead(item) ? membersOf(item).map(({ run }) => run) : [item.run]);
  if (runs.size === inList.size && [...runs].every((run) => inList.has(run))) return;
  inList = runs;
  allCards().forEach(light);
}

document.addEventListener("pointerover", (event) => pointAt(itemAt(event)));
document.documentElement.addEventListener("pointerleave", () => pointAt(null));
// With the keyboard the row that has the focus is the one that is pointed at.
document.addEventListener("focusin", (event) => {
  if (event.target instanceof Element && event.target.matches(":focus-visible")) pointAt(itemAt(event));
});

const runsOf = (line: CurveLine | null): string[] => line?.runs ?? (line?.run === undefined ? [] : [line.run]);

/** A curve is pointed at, or none. */
export const pointAtLine = (line: CurveLine | null): void => point(runsOf(line));

/** A curve was clicked: its row comes into sight. */
export function showInList(line: CurveLine | null): void {
  const [run] = runsOf(line);
  if (run === undefined) return;
  pointAtLine(line);
  reveal(run);
}
