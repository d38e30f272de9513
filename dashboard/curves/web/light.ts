// Links curves and the list of runs: pointing at a run in the list highlights its curves in all cards, and pointing at
// a curve marks its run's row in the list.
import { membersOf } from "../../runs/web/cells.ts";
import { isHead, type Item } from "../../runs/web/items.ts";
import { point } from "../../runs/web/pointed.ts";
import { settings as runSettings } from "../../runs/web/settings.generated.ts";
import { itemAt, reveal } from "../../runs/web/table.ts";
import { type CurveLine, isOf } from "./model.ts";
import { allCards, type Card, readSetting } from "./state.ts";

const NONE: ReadonlySet<string> = new Set();
let inList = NONE;

/** Highlights the lines of the run that is pointed at in a card, or else those of the selected runs. */
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
// With the keyboard, the focused row counts as the one that is pointed at.
document.addEventListener("focusin", (event) => {
  if (event.target instanceof Element && event.target.matches(":focus-visible")) pointAt(itemAt(event));
});

const runsOf = (line: CurveLine | null): string[] => line?.runs ?? (line?.run === undefined ? [] : [line.run]);

/** Called when the pointer moves onto a curve, or off all curves. */
export const pointAtLine = (line: CurveLine | null): void => point(runsOf(line));

/** Called when a curve is clicked: scrolls its row into view. */
export function showInList(line: CurveLine | null): void {
  const [run] = runsOf(line);
  if (run === undefined) return;
  pointAtLine(line);
  reveal(run);
}
