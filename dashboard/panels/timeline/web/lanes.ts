/** The user's changes to the lanes (folding, pinning, hiding, order, filter), remembered for similar traces. */
import { storage } from "../../../web/core/dom.ts";
import { type Choices, type Entry, type Pin, stable } from "./layout.ts";
import type { TraceSummary } from "./messages.generated.ts";

const KEY = "stepscope.timeline.lanes";
/** Lanes of other traces are remembered too, up to a limit. */
const MOST_REMEMBERED = 2000;
const MOST_PROGRAMS = 40;
const DEEP = 24;

/** The choices that are remembered. */
interface Kept {
  folds?: unknown;
  pins?: unknown;
  hidden?: unknown;
  order?: unknown;
}

const textsOf = (list: unknown): string[] =>
  Array.isArray(list) ? list.filter((entry) => typeof entry === "string") : [];

/** Moves a key to a place among others. */
function movedTo(keys: string[], key: string, to: number): string[] {
  const rest = keys.filter((other) => other !== key);
  rest.splice(Math.min(Math.max(to, 0), rest.length), 0, key);
  return rest;
}

export class Lanes implements Choices {
  program = "";
  filter = "";
  /** If not everything fits, lanes deep enough to fill the screen on their own start folded. */
  foldDeep = false;
  /** Whether the filter is not a valid regular expression and is treated as plain text. */
  wrong = false;
  matches: (text: string) => boolean = () => true;
  /** Keys of groups and lanes whose folding differs from the default, and whether they are folded. */
  folds = new Map<string, boolean>();
  /** Keys in the order in which they were pinned. */
  pins: string[] = [];
  hidden = new Set<string>();
  /** Keys of siblings in the user's order. */
  order: string[] = [];

  /** Restores the lane choices made for the last trace of the same program. */
  remember({ groups, label }: Pick<TraceSummary, "groups" | "label">) {
    this.program = groups.filter(({ kind }) => kind === "host").map(({ title }) => stable(title)).join("|") || label;
    this.take(remembered()[this.program] ?? {});
  }

  take({ folds, pins, hidden, order }: Kept) {
    const known: unknown[] = Array.isArray(folds) ? folds : [];
    this.folds = new Map(
      known.flatMap((fold): [string, boolean][] =>
        Array.isArray(fold) && typeof fold[0] === "string" ? [[fold[0], Boolean(fold[1])]] : []
      ),
    );
    this.pins = textsOf(pins);
    this.hidden = new Set(textsOf(hidden));
    this.order = textsOf(order);
  }

  keep() {
    const last = <T>(list: T[]) => list.slice(-MOST_REMEMBERED);
    const { [this.program]: _before, ...others } = remembered();
    const own = {
      folds: last([...this.folds]),
      pins: last(this.pins),
      hidden: last([...this.hidden]),
      order: last(this.order),
    };
    storage.set(
      KEY,
      JSON.stringify(Object.fromEntries([...Object.entries(others), [this.program, own]].slice(-MOST_PROGRAMS))),
    );
  }

  isFolded(band: Entry): boolean {
    const found = this.folds.get(band.key);
    if (found !== undefined) return found;
    return band.kind === "profiler" || (band.type === "lane" && this.foldDeep && band.depths > DEEP);
  }

  fold(band: Entry, folded: boolean) {
    this.folds.delete(band.key);
    if (this.isFolded(band) !== folded) this.folds.set(band.key, folded);
    this.keep();
  }

  isPinned(band: Entry): boolean {
    return this.pins.includes(band.key);
  }

  pin(band: Entry, pinned: boolean) {
    this.pins = this.pins.filter((key) => key !== band.key);
    if (pinned) this.pins.push(band.key);
    this.keep();
  }

  isShown(band: Entry): boolean {
    return !this.hidden.has(band.key) && !this.hidden.has(band.parent) &&
      (!this.filter || this.matches(`${band.full}\n${band.title}`));
  }

  hide(band: Entry) {
    this.hidden.add(band.key);
    this.keep();
  }

  /** Shows hidden and non-matching lanes; folds and pins stay. */
  showAll() {
    this.hidden.clear();
    this.setFilter("");
    this.keep();
  }

  /** Restores the defaults for all traces. */
  reset() {
    this.folds.clear();
    this.pins = [];
    this.order = [];
    this.showAll();
  }

  /** Takes a regular expression; an invalid one is treated as plain text. */
  setFilter(text: string) {
    this.filter = text;
    const plain = text.toLowerCase();
    try {
      // Line by line, because the name from the file is on a line below the full one.
      const pattern = new RegExp(text, "im");
      this.wrong = false;
      this.matches = (full) => pattern.test(full);
    } catch {
      this.wrong = true;
      this.matches = (full) => full.toLowerCase().includes(plain);
    }
  }

  ordered<T>(entries: T[], keyOf: (entry: T) => string): T[] {
    if (!this.order.length) return entries;
    const places = new Map(this.order.map((key, place) => [key, place]));
    const known = entries.filter((entry) => places.has(keyOf(entry))).sort((a, b) =>
      Number(places.get(keyOf(a))) - Number(places.get(keyOf(b)))
    );
    // Moved entries swap places among themselves; entries the user never touched keep theirs.
    let next = 0;
    return entries.map((entry) => (places.has(keyOf(entry)) ? known[next++] : entry));
  }

  orderedPins(pins: Pin[]): Pin[] {
    return [...pins].sort((a, b) => this.pins.indexOf(a.entry.key) - this.pins.indexOf(b.entry.key));
  }

  /**
   * Moves a band before or after another band with the same parent.
   * @param siblings keys in the order in which they are shown
   * @param to its new place among them
   */
  move(siblings: string[], key: string, to: number) {
    const rest = movedTo(siblings, key, to);
    const moved = new Set(rest);
    this.order = [...this.order.filter((other) => !moved.has(other)), ...rest];
    this.keep();
  }

  /** @param siblings pinned keys in the order shown */
  movePin(siblings: string[], key: string, to: number) {
    const rest = movedTo(siblings, key, to);
    this.pins = [...this.pins.filter((other) => !rest.includes(other)), ...rest];
    this.keep();
  }
}

/** A filter that matches only one lane. */
export const onlyLane = ({ full }: Entry) => `^${full.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`;

/** Choices by program. */
function remembered(): Record<string, Kept> {
  try {
    const stored: unknown = JSON.parse(storage.get(KEY) || "{}");
    return stored && typeof stored === "object" && !Array.isArray(stored) ? { ...stored } : {};
  } catch {
    return {};
  }
}
