/** What the user made of the lanes: folded, pinned, hidden, in another order, filtered; remembered for traces alike. */
import * as frame from "../../../web/page/layout.ts";
import { elements, storage } from "../../../web/core/dom.ts";
import { popover } from "../../../web/core/popover.ts";
import type { TimelinePanel } from "./panel.ts";
import type { Source } from "./data.ts";
import type { Band } from "./layout.ts";

const KEY = "stepscope.timeline.lanes";
/** Lanes of other traces are remembered too, but not without end. */
const MOST_REMEMBERED = 2000;
const MOST_PROGRAMS = 40;
const DEEP = 24;

export class Lanes {
  program = "";
  filter = "";
  /** Lanes so deep that they would fill the screen alone start folded where not all fits. */
  foldDeep = false;
  /** Whether the filter is no regular expression, and taken as text. */
  wrong = false;
  matches: (text: string) => boolean = () => true;
  folds = new Map<string, boolean>();
  pins: string[] = [];
  hidden = new Set<string>();
  order: string[] = [];

  /**
   * What was made of the lanes of the same program's last trace.
   * @param summary answer of the route `trace`
   */
  remember(summary: any) {
    const hosts = summary.groups.filter((group: any) => group.kind === "host").map((group: any) => stable(group.title));
    this.program = hosts.join("|") || summary.label;
    this.take(remembered()[this.program] || {});
  }

  take(stored: any) {
    const texts = (list: any) => (Array.isArray(list) ? list.filter((entry) => typeof entry === "string") : []);
    const folds = Array.isArray(stored.folds)
      ? stored.folds.filter((fold: any) => Array.isArray(fold) && typeof fold[0] === "string")
      : [];
    /** Keys of groups and lanes, folded or not against what they are at first. */
    this.folds = new Map(folds);
    /** Keys in the order in which they were pinned. */
    this.pins = texts(stored.pins);
    this.hidden = new Set(texts(stored.hidden));
    /** Keys of siblings in the order that the user gave them. */
    this.order = texts(stored.order);
  }

  keep() {
    const last = (list: any[]) => list.slice(-MOST_REMEMBERED);
    const { [this.program]: _before, ...others } = remembered();
    const mine = {
      folds: last([...this.folds]),
      pins: last(this.pins),
      hidden: last([...this.hidden]),
      order: last(this.order),
    };
    storage.set(
      KEY,
      JSON.stringify(Object.fromEntries([...Object.entries(others), [this.program, mine]].slice(-MOST_PROGRAMS))),
    );
  }

  isFolded(band: Band) {
    const found = this.folds.get(band.key);
    if (found !== undefined) return found;
    return band.kind === "profiler" || (band.type === "lane" && this.foldDeep && band.depths > DEEP);
  }

  fold(band: Band, folded: boolean) {
    this.folds.delete(band.key);
    if (this.isFolded(band) !== folded) this.folds.set(band.key, folded);
    this.keep();
  }

  isPinned(band: Band) {
    return this.pins.includes(band.key);
  }

  pin(band: Band, pinned: boolean) {
    this.pins = this.pins.filter((key) => key !== band.key);
    if (pinned) this.pins.push(band.key);
    this.keep();
  }

  isShown(band: Band) {
    return !this.hidden.has(band.key) && !this.hidden.has(band.parent) &&
      (!this.filter || this.matches(`${band.full}\n${band.title}`));
  }

  hide(band: Band) {
    this.hidden.add(band.key);
    this.keep();
  }

  /** Shows what was hidden and what does not match; folds and pins stay. */
  showAll() {
    this.hidden.clear();
    this.setFilter("");
    this.keep();
  }

  /** As at first, for all traces. */
  reset() {
    this.folds.clear();
    this.pins = [];
    this.order = [];
    this.showAll();
  }

  /** A regular expression; one that is none is taken as text. */
  setFilter(text: string) {
    this.filter = text;
    const plain = text.toLowerCase();
    try {
      const pattern = new RegExp(text, "i");
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
    // What has been moved exchanges places with its like; what the user never touched keeps its own.
    let next = 0;
    return entries.map((entry) => (places.has(keyOf(entry)) ? known[next++] : entry));
  }

  orderedPins(pins: { entry: any; source: Source }[]) {
    return [...pins].sort((a, b) => this.pins.indexOf(a.entry.key) - this.pins.indexOf(b.entry.key));
  }

  /**
   * Moves a band before or after another one of the same parent.
   * @param siblings keys in the order in which they are shown
   * @param to its new place among them
   */
  move(siblings: string[], key: string, to: number) {
    const rest = siblings.filter((other) => other !== key);
    rest.splice(Math.min(Math.max(to, 0), rest.length), 0, key);
    const moved = new Set(rest);
    this.order = [...this.order.filter((other) => !moved.has(other)), ...rest];
    this.keep();
  }

  /** @param siblings pinned keys as shown */
  movePin(siblings: string[], key: string, to: number) {
    const rest = siblings.filter((other) => other !== key);
    rest.splice(Math.min(Math.max(to, 0), rest.length), 0, key);
    this.pins = [...this.pins.filter((other) => !rest.includes(other)), ...rest];
    this.keep();
  }
}

/** The like lane of another recording has other identifiers. */
export const stable = (text: string) => text.replace(/\(process \d+\)/, "").replace(/-?\d{4,}/g, "#").trim();

/** Choices by program. */
function remembered(): Record<string, any> {
  try {
    const stored = JSON.parse(storage.get(KEY) || "{}");
    return stored && typeof stored === "object" && !Array.isArray(stored) ? stored : {};
  } catch {
    return {};
  }
}

/**
 * The menu of a lane, a counter or a group.
 * @param panel the panel of timeline_panel.js
 * @param at on the page
 */
function menu(panel: TimelinePanel, band: Band, at: { x: number; y: number }) {
  const { lanes } = panel;
  const then = (act: () => void) => () => {
    act();
    panel.relayout();
  };
  const siblings = panel.siblingsOf(band);
  const place = siblings.indexOf(band.key);
  const move = (by: number) =>
    then(
      () => (band.pinned ? lanes.movePin(siblings, band.key, place + by) : lanes.move(siblings, band.key, place + by)),
    );
  const single = band.type === "lane" || band.type === "counter";
  const entries: ([string, () => void] | null)[] = [
    single ? [band.pinned ? "Unpin" : "Pin to the top", then(() => lanes.pin(band, !band.pinned))] : null,
    band.foldable ? [band.folded ? "Unfold" : "Fold", then(() => lanes.fold(band, !band.folded))] : null,
    place > 0 ? ["Move up", move(-1)] : null,
    place >= 0 && place < siblings.length - 1 ? ["Move down", move(1)] : null,
    band.type === "trace" && band.source.place > 0
      ? ["Close this trace", () => panel.together.remove(band.source)]
      : null,
    band.type !== "trace" && !band.pinned ? ["Hide", then(() => lanes.hide(band))] : null,
    single ? ["Only this one", () => panel.setFilter(`^${band.full.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`)] : null,
    ["Fold all lanes", () => panel.foldLanes(true)],
    ["Unfold all lanes", () => panel.foldLanes(false)],
    ["Show all lanes", () => panel.showAllLanes()],
    ["Lanes as at first", then(() => lanes.reset())],
    ["Copy name", () => elements.toClipboard(band.full).then(() => frame.say("Name copied"))],
  ];
  popover.menu(panel.canvas, band.full, entries.filter((entry) => entry !== null), {
    left: at.x,
    top: at.y,
    bottom: at.y,
  });
}

export { menu as laneMenu };
