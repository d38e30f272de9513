/** What the user made of the lanes: folded, pinned, hidden, in another order, filtered; remembered for traces alike. */
import * as frame from "../../../web/page/layout.js";
import { elements, storage } from "../../../web/core/dom.js";
import { popover } from "../../../web/core/popover.js";

const KEY = "stepscope.timeline.lanes";
/** Lanes of other traces are remembered too, but not without end. */
const MOST_REMEMBERED = 2000;
const MOST_PROGRAMS = 40;
const DEEP = 24;

export class Lanes {
  constructor() {
    this.program = "";
    this.filter = "";
    /** Lanes so deep that they would fill the screen alone start folded where not all fits. */
    this.foldDeep = false;
    /** Whether the filter is no regular expression, and taken as text. */
    this.wrong = false;
    /** @type {(text: string) => boolean} */
    this.matches = () => true;
    this.take({});
  }

  /** What was made of the lanes of the same program's last trace. @param {any} summary answer of the route `trace` */
  remember(summary) {
    const hosts = summary.groups.filter((/** @type {any} */ group) => group.kind === "host").map((/** @type {any} */ group) => stable(group.title));
    this.program = hosts.join("|") || summary.label;
    this.take(remembered()[this.program] || {});
  }

  /** @param {any} stored */
  take(stored) {
    const texts = (/** @type {any} */ list) => (Array.isArray(list) ? list.filter((entry) => typeof entry === "string") : []);
    const folds = Array.isArray(stored.folds) ? stored.folds.filter((/** @type {any} */ fold) => Array.isArray(fold) && typeof fold[0] === "string") : [];
    /** Keys of groups and lanes, folded or not against what they are at first. @type {Map<string, boolean>} */
    this.folds = new Map(folds);
    /** Keys in the order in which they were pinned. @type {string[]} */
    this.pins = texts(stored.pins);
    /** @type {Set<string>} */
    this.hidden = new Set(texts(stored.hidden));
    /** Keys of siblings in the order that the user gave them. @type {string[]} */
    this.order = texts(stored.order);
  }

  keep() {
    const last = (/** @type {any[]} */ list) => list.slice(-MOST_REMEMBERED);
    const { [this.program]: _before, ...others } = remembered();
    const mine = { folds: last([...this.folds]), pins: last(this.pins), hidden: last([...this.hidden]), order: last(this.order) };
    storage.set(KEY, JSON.stringify(Object.fromEntries([...Object.entries(others), [this.program, mine]].slice(-MOST_PROGRAMS))));
  }

  /** @param {any} band */
  isFolded(band) {
    const found = this.folds.get(band.key);
    if (found !== undefined) return found;
    return band.kind === "profiler" || (band.type === "lane" && this.foldDeep && band.depths > DEEP);
  }

  /** @param {any} band @param {boolean} folded */
  fold(band, folded) {
    this.folds.delete(band.key);
    if (this.isFolded(band) !== folded) this.folds.set(band.key, folded);
    this.keep();
  }

  /** @param {any} band */
  isPinned(band) {
    return this.pins.includes(band.key);
  }

  /** @param {any} band @param {boolean} pinned */
  pin(band, pinned) {
    this.pins = this.pins.filter((key) => key !== band.key);
    if (pinned) this.pins.push(band.key);
    this.keep();
  }

  /** @param {any} band */
  isShown(band) {
    return !this.hidden.has(band.key) && !this.hidden.has(band.parent) && (!this.filter || this.matches(`${band.full}\n${band.title}`));
  }

  /** @param {any} band */
  hide(band) {
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

  /** A regular expression; one that is none is taken as text. @param {string} text */
  setFilter(text) {
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

  /** @template T @param {T[]} entries @param {(entry: T) => string} keyOf @returns {T[]} */
  ordered(entries, keyOf) {
    if (!this.order.length) return entries;
    const places = new Map(this.order.map((key, place) => [key, place]));
    const known = entries.filter((entry) => places.has(keyOf(entry))).sort((a, b) => Number(places.get(keyOf(a))) - Number(places.get(keyOf(b))));
    // What has been moved exchanges places with its like; what the user never touched keeps its own.
    let next = 0;
    return entries.map((entry) => (places.has(keyOf(entry)) ? known[next++] : entry));
  }

  /** @param {{entry: any, source: any}[]} pins */
  orderedPins(pins) {
    return [...pins].sort((a, b) => this.pins.indexOf(a.entry.key) - this.pins.indexOf(b.entry.key));
  }

  /**
   * Moves a band before or after another one of the same parent.
   * @param {string[]} siblings keys in the order in which they are shown
   * @param {string} key
   * @param {number} to its new place among them
   */
  move(siblings, key, to) {
    const rest = siblings.filter((other) => other !== key);
    rest.splice(Math.min(Math.max(to, 0), rest.length), 0, key);
    const moved = new Set(rest);
    this.order = [...this.order.filter((other) => !moved.has(other)), ...rest];
    this.keep();
  }

  /** @param {string[]} siblings pinned keys as shown @param {string} key @param {number} to */
  movePin(siblings, key, to) {
    const rest = siblings.filter((other) => other !== key);
    rest.splice(Math.min(Math.max(to, 0), rest.length), 0, key);
    this.pins = [...this.pins.filter((other) => !rest.includes(other)), ...rest];
    this.keep();
  }
}

/** The like lane of another recording has other identifiers. @param {string} text */
export const stable = (text) => text.replace(/\(process \d+\)/, "").replace(/-?\d{4,}/g, "#").trim();

/** Choices by program. @returns {Record<string, any>} */
function remembered() {
  try {
    const stored = JSON.parse(storage.get(KEY) || "{}");
    return stored && typeof stored === "object" && !Array.isArray(stored) ? stored : {};
  } catch {
    return {};
  }
}

/**
 * The menu of a lane, a counter or a group.
 * @param {any} panel the panel of timeline_panel.js
 * @param {any} band
 * @param {{x: number, y: number}} at on the page
 */
function menu(panel, band, at) {
  const { lanes } = panel;
  const then = (/** @type {() => void} */ act) => () => {
    act();
    panel.relayout();
  };
  const siblings = panel.siblingsOf(band);
  const place = siblings.indexOf(band.key);
  const move = (/** @type {number} */ by) => then(() => (band.pinned ? lanes.movePin(siblings, band.key, place + by) : lanes.move(siblings, band.key, place + by)));
  const single = band.type === "lane" || band.type === "counter";
  /** @type {([string, () => void] | null)[]} */
  const entries = [
    single ? [band.pinned ? "Unpin" : "Pin to the top", then(() => lanes.pin(band, !band.pinned))] : null,
    band.foldable ? [band.folded ? "Unfold" : "Fold", then(() => lanes.fold(band, !band.folded))] : null,
    place > 0 ? ["Move up", move(-1)] : null,
    place >= 0 && place < siblings.length - 1 ? ["Move down", move(1)] : null,
    band.type === "trace" && band.source.place > 0 ? ["Close this trace", () => panel.together.remove(band.source)] : null,
    band.type !== "trace" && !band.pinned ? ["Hide", then(() => lanes.hide(band))] : null,
    single ? ["Only this one", () => panel.setFilter(`^${band.full.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`)] : null,
    ["Fold all lanes", () => panel.foldLanes(true)],
    ["Unfold all lanes", () => panel.foldLanes(false)],
    ["Show all lanes", () => panel.showAllLanes()],
    ["Lanes as at first", then(() => lanes.reset())],
    ["Copy name", () => elements.toClipboard(band.full).then(() => frame.say("Name copied"))],
  ];
  popover.menu(panel.canvas, band.full, entries.filter((entry) => entry !== null), { left: at.x, top: at.y, bottom: at.y });
}

export { menu as laneMenu };
