/** Labels of points: texts are requested once, labels never overlap, and each stays where it is while it can. */
import { paper } from "./canvas.ts";
import type { ViewTheme } from "./view_theme.ts";
import type { settings } from "./settings.generated.ts";

export const SIZE = 11.5; // font size in pixels
export const HEIGHT = 15;
const GAP = 3; // pixels from a point to its label
const LONGEST = 32; // characters
const MOST_KEPT = 20e3; // texts; a tenth as many pictures of texts
const MOST_ASKED = 400; // rows per request
/** Labels spread over the picture: how many, and the pixels from each to the next. */
interface Spread {
  most: number;
  across: number;
  down: number;
}
const SPREAD: Record<"some" | "all", Spread> = {
  some: { most: 90, across: 48, down: 34 },
  all: { most: 400, across: 0, down: 0 },
};
const KEPT = 0.6; // share of that distance that a label from the previous layout keeps
const TRIES = 6; // candidates for each label that may be placed
const TRIES_EACH = 2; // of these, candidates per part of the picture
const MOST_SEEN = 10e3; // points examined to find them
const GOLDEN = 0.6180339887498949;

export type LabelMode = (typeof settings.labels.options)[number];
export interface Labeling {
  /** Whoever supplies the texts reports what went wrong with them. */
  texts: (rows: Uint32Array) => string[] | Promise<string[]>;
  mode: LabelMode;
}
/** a place on the screen */
interface Place {
  x: number;
  y: number;
}
/** The scene to label. */
export interface Scene {
  /** Rows whose labels come before all others. */
  first: number[];
  count: number;
  width: number;
  height: number;
  moving: boolean;
  /** The place of a point, or null if it gets no label. */
  seen: (row: number) => (Place & { radius: number }) | null;
}
/** a point that wants a label */
export interface Item {
  row: number;
  x: number;
  y: number;
  radius: number;
  width: number;
  side?: number;
}
/** left edge and middle line of a label */
export interface Placed {
  row: number;
  x: number;
  y: number;
  width: number;
  side: number;
}

/** Left edge and middle line of a label on a side: right, left, above, below. */
function beside({ x, y, radius, width }: Item, side: number): [number, number] {
  const far = radius + GAP;
  if (side === 0) return [x + far, y];
  if (side === 1) return [x - far - width, y];
  return [x - width / 2, side === 2 ? y - far - HEIGHT / 2 + 2 : y + far + HEIGHT / 2 - 2];
}

/**
 * Finds places for labels, in order of priority. None overlaps another or leaves the picture.
 * @param items `side` is where the label was previously
 * @param width pixels
 */
export function place(items: Iterable<Item>, width: number, height: number, most: number = Infinity): Placed[] {
  const placed: Placed[] = [];
  const free = (left: number, middle: number, wide: number) =>
    left >= 2 && left + wide <= width - 2 && middle >= HEIGHT / 2 && middle <= height - HEIGHT / 2 &&
    placed.every((other) =>
      left >= other.x + other.width + 2 || left + wide + 2 <= other.x || Math.abs(middle - other.y) >= HEIGHT
    );
  for (const item of items) {
    if (placed.length >= most) break;
    const before = item.side ?? 0;
    for (let turn = 0; turn < 4; turn += 1) {
      const side = (before + turn) % 4;
      const [left, middle] = beside(item, side);
      if (!free(left, middle, item.width)) continue;
      placed.push({ row: item.row, x: left, y: middle, width: item.width, side });
      break;
    }
  }
  return placed;
}

/** The k-th row in an order that depends only on the number of rows and keeps neighbors far apart. */
export function scattered(count: number): (k: number) => number {
  const gcd = (a: number, b: number): number => (b ? gcd(b, a % b) : a);
  let step = Math.max(1, Math.floor(count * GOLDEN));
  while (gcd(step, count) !== 1) step += 1;
  return (k) => (k * step) % count;
}

const inside = ({ x, y }: Place, width: number, height: number) => x >= 0 && y >= 0 && x <= width && y <= height;

/** The part of the picture that a place is in. */
const cellOf = ({ x, y }: Place, { across, down }: Spread) => Math.floor(y / down) * 1000 + Math.floor(x / across);

/**
 * Whether two labels would be too close to each other, whichever side of their points they are on.
 * @param share of the distance
 */
const near = (one: Item, other: Item, { across, down }: Spread, share: number) =>
  Math.abs(one.y - other.y) < share * down &&
  Math.abs(one.x - other.x) < share * across + (one.width + other.width) / 2;

export const shortened = (text: string) => {
  const line = text.replace(/\s+/g, " ").trim();
  const letters = Array.from(line);
  return letters.length > LONGEST ? `${letters.slice(0, LONGEST - 1).join("")}…` : line;
};

export class Labels {
  readonly onTexts: () => void;
  mode: LabelMode = "none";
  source: Labeling["texts"] | null = null;
  /** By row; null while requested. */
  texts: Map<number, { text: string; width: number } | null> = new Map();
  pictures: Map<number, HTMLCanvasElement> = new Map();
  pictureKey = "";
  placed: Placed[] = [];
  readonly pen = paper(1, 1);
  font = "";

  /** @param onTexts called when texts arrive */
  constructor(onTexts: () => void) {
    this.onTexts = onTexts;
  }

  set({ texts, mode }: Labeling) {
    this.source = texts;
    this.mode = mode;
    this.texts = new Map();
    this.pictures.clear();
    this.placed = [];
  }

  /** Requests texts that are not known yet. */
  ask(rows: number[]) {
    const fresh = rows.filter((row) => !this.texts.has(row)).slice(0, MOST_ASKED);
    if (!fresh.length || !this.source) return;
    if (this.texts.size > MOST_KEPT) this.texts.clear();
    const { texts } = this;
    for (const row of fresh) texts.set(row, null);
    const take = (found: string[]) =>
      fresh.forEach((row, n) => {
        const text = shortened(found[n] ?? "");
        this.pen.font = this.font;
        texts.set(row, { text, width: Math.ceil(this.pen.measureText(text).width) });
      });
    const answer = this.source(Uint32Array.from(fresh));
    if (Array.isArray(answer)) return take(answer);
    // Whoever supplies the texts reports what went wrong with them; the next drawing requests them again.
    void Promise.resolve(answer).then(
      (found) => {
        take(found);
        if (texts === this.texts) this.onTexts();
      },
      () => fresh.forEach((row) => texts.delete(row)),
    );
  }

  textOf(row: number) {
    return this.texts.get(row)?.text ?? "";
  }

  /**
   * Places the labels of a picture.
   */
  layOut({ first, count, width, height, moving, seen }: Scene): Placed[] {
    if (this.mode === "none" || !this.source) return (this.placed = []);
    const sides = new Map(this.placed.map((one) => [one.row, one.side]));
    const wanted = new Set(first);
    const before = wanted.size;
    const spread = this.mode === "some" || this.mode === "all" ? SPREAD[this.mode] : null;
    if (spread) {
      for (const { row } of this.placed) wanted.add(row);
      if (!moving) this.addSpread(wanted, spread, { count, width, height, seen });
    }
    this.ask([...wanted]);
    const apart: Item[] = [];
    const items: Item[] = [];
    let n = 0;
    for (const row of wanted) {
      n += 1;
      const [known, at] = [this.texts.get(row), seen(row)];
      if (!known || !known.text || !at || !inside(at, width, height)) continue;
      const item = { row, x: at.x, y: at.y, radius: at.radius, width: known.width, side: sides.get(row) };
      if (n > before && spread && spread.across) {
        if (apart.some((other) => near(item, other, spread, sides.has(row) ? KEPT : 1))) continue;
        apart.push(item);
      }
      items.push(item);
    }
    this.placed = place(items, width, height, spread ? spread.most + before : Infinity);
    return this.placed;
  }

  /**
   * Adds candidates from all parts of the picture, so that a few isolated points get names as well as a crowd.
   * @param wanted the set to add to
   */
  addSpread(
    wanted: Set<number>,
    spread: Spread,
    { count, width, height, seen }: Pick<Scene, "count" | "width" | "height" | "seen">,
  ) {
    const kth = scattered(count);
    const most = wanted.size + spread.most * TRIES;
    const tried: Map<number, number> = new Map();
    for (let k = 0; k < Math.min(count, MOST_SEEN) && wanted.size < most; k += 1) {
      const row = kth(k);
      const at = wanted.has(row) ? null : seen(row);
      if (!at || !inside(at, width, height)) continue;
      if (spread.across) {
        const cell = cellOf(at, spread);
        const before = tried.get(cell) ?? 0;
        if (before >= TRIES_EACH) continue;
        tried.set(cell, before + 1);
      }
      wanted.add(row);
    }
  }

  /** @param context in CSS pixels */
  draw(context: CanvasRenderingContext2D, theme: ViewTheme, ratio: number, strong: Set<number>) {
    const key = `${theme.ink} ${theme.background} ${ratio} ${theme.font}`;
    if (key !== this.pictureKey || this.pictures.size > MOST_KEPT / 10) this.pictures.clear();
    this.pictureKey = key;
    for (const { row, x, y, width } of this.placed) {
      const name = strong.has(row) ? -1 - row : row;
      let picture = this.pictures.get(name);
      if (!picture) {
        this.pictures.set(name, picture = this.paint(this.textOf(row), width, theme, ratio, strong.has(row)));
      }
      context.drawImage(
        picture,
        Math.round((x - 4) * ratio) / ratio,
        Math.round((y - HEIGHT / 2 - 1) * ratio) / ratio,
        picture.width / ratio,
        picture.height / ratio,
      );
    }
  }

  /** Renders a text with a halo once: stroking text is slow. */
  paint(text: string, width: number, theme: ViewTheme, ratio: number, strong: boolean) {
    const context = paper(Math.ceil((width + 8) * ratio), Math.ceil((HEIGHT + 2) * ratio));
    context.scale(ratio, ratio);
    context.font = this.font;
    context.textBaseline = "middle";
    context.lineJoin = "round";
    context.strokeStyle = theme.background;
    context.globalAlpha = 0.88;
    context.lineWidth = 3.5;
    context.strokeText(text, 4, HEIGHT / 2 + 1.5);
    context.globalAlpha = strong ? 1 : 0.86;
    context.fillStyle = theme.ink;
    context.fillText(text, 4, HEIGHT / 2 + 1.5);
    return context.canvas;
  }
}
