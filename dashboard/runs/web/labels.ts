/**
 * Gives runs the same names everywhere on the page as in the list of runs: every `.run-label` has the run's own name as
 * its title and, as its text, as much of the displayed name as fits, distinct for each run.
 */
import { pageTextWidth } from "../../web/core/canvas_text.ts";
import { shortNames } from "../../web/core/names.ts";
import { runs } from "./state.ts";

/** Displayed names of runs that were renamed. */
let renamed = new Map<string, string>();
/** The displayed names of all runs, in the list's order. */
let labels: readonly string[] = [];
/** Texts of all runs by available room and font. */
const fitted = new Map<string, ReadonlyMap<string, string>>();
let waiting = 0;

interface Shown {
  label: string;
  text: string;
  width: number;
}
let shown = new WeakMap<Element, Shown>();

const labelOf = (run: string): string => renamed.get(run) || runs.label(run);

function fittedText(label: string, room: number, size: string): string {
  const key = `${room} ${size}`;
  if (!fitted.has(key)) fitted.set(key, shortNames(labels, room, (text) => pageTextWidth(text, size)));
  return fitted.get(key)?.get(label) ?? label;
}

/** A run's name shortened to the room available, in pixels. */
export const shortLabel = (run: string, room: number, font: string): string => fittedText(labelOf(run), room, font);

function update(): void {
  waiting = 0;
  const stale: { element: HTMLElement; text: ChildNode; label: string }[] = [];
  for (const element of document.querySelectorAll<HTMLElement>("#panel .run-label")) {
    const run = element.getAttribute("title");
    // The text node is kept, because its creator may change it later.
    const text = element.querySelector("bdi")?.firstChild;
    if (!run || !text) continue;
    const label = labelOf(run);
    const known = shown.get(element);
    const isSame = known?.label === label && known.text === text.nodeValue &&
      known.width === element.parentElement?.clientWidth;
    if (!isSame) stale.push({ element, text, label });
  }
  // Change all texts before reading any layout; otherwise each read would force a new layout.
  for (const { text, label } of stale) if (text.nodeValue !== label) text.nodeValue = label;
  const found = stale.map(({ element, label }) => {
    const isCut = element.scrollWidth > element.clientWidth && element.clientWidth > 0;
    const style = isCut ? getComputedStyle(element) : null;
    const room = style ? element.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) : 0;
    const text = style ? fittedText(label, Math.floor(room), `${style.fontWeight} ${style.fontSize}`) : label;
    return { label, text, width: element.parentElement?.clientWidth ?? 0 };
  });
  stale.forEach(({ element, text, label }, place) => {
    if (found[place].text !== label) text.nodeValue = found[place].text;
    shown.set(element, found[place]);
  });
}

function soon(): void {
  if (!waiting) waiting = requestAnimationFrame(update);
}

runs.onChange((what) => {
  if (what !== "rows") return;
  const rows = [...runs.rows.values()];
  renamed = new Map(rows.filter((row) => row.label !== row.run).map((row) => [row.run, row.label]));
  const before = labels;
  labels = rows.map((row) => row.label);
  // Even a name that is unchanged may need more or less of its text to differ from the others.
  if (labels.length !== before.length || labels.some((label, place) => label !== before[place])) {
    fitted.clear();
    shown = new WeakMap();
  }
  soon();
});
window.addEventListener("resize", soon);
new MutationObserver((changes) => {
  if (changes.some(({ target }) => target instanceof Element && target.closest("#panel"))) soon();
}).observe(document.body, { childList: true, subtree: true });
