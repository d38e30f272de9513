// The view's settings for cards of curves, as entries of the URL's lists: pure functions.
import type { Range } from "../../web/lines/scale.ts";
import type { Zoom } from "../../web/lines/scene.ts";

/** Two places on the horizontal axis of a card, shown on all cards. */
export interface Marks {
  card: string;
  a: number | null;
  b: number | null;
}
export const NO_MARKS: Marks = { card: "", a: null, b: null };

export const MOST_SMOOTHING = 0.999;
const LEAST_HEIGHT = 100;
const MOST_HEIGHT = 2000;

/** A key as the part of an entry before its colon. */
export const entryKey = (key: string) => key.replace(/[%:]/g, encodeURIComponent);

function partsOf(entry: string): { key: string; value: string } {
  const at = entry.lastIndexOf(":");
  const [written, value] = [entry.slice(0, Math.max(at, 0)), entry.slice(at + 1)];
  try {
    return { key: decodeURIComponent(written), value };
  } catch {
    // Written by hand, with a stray percent sign.
    return { key: written, value };
  }
}

/** The visible ranges of cards, by key. */
export function rangesOf(entries: readonly string[]): Map<string, Zoom> {
  const found: Map<string, Zoom> = new Map();
  for (const { key, value } of entries.filter((entry) => entry.includes(":")).map(partsOf)) {
    const edges = value.split(",").map((text) => (text === "" ? NaN : Number(text)));
    const pair = (i: number): Range | undefined =>
      Number.isFinite(edges[i]) && Number.isFinite(edges[i + 1]) ? [edges[i], edges[i + 1]] : undefined;
    found.set(key, { x: pair(0), y: pair(2), y2: pair(4) });
  }
  return found;
}

export function rangeEntries(ranges: ReadonlyMap<string, Zoom>): string[] {
  const text = (pair: Range | undefined) => (pair ? edgesText(pair) : ",");
  return [...ranges].map(([key, { x, y, y2 }]) => `${entryKey(key)}:${[x, y, y2].map(text).join(",")}`);
}

/** An edge of a range without noise, and exact enough for a time. */
export const edgeText = (edge: number): string => String(Number(edge.toPrecision(12)));
const edgesText = (pair: Range) => pair.map(edgeText).join(",");

/** The part of the horizontal axis that all cards share. */
export function sharedOf(text: string): Range | null {
  const [low, high] = text.split(",").map((edge) => (edge === "" ? NaN : Number(edge)));
  return Number.isFinite(low) && Number.isFinite(high) ? [low, high] : null;
}

export const sharedText = (shared: Range | null): string => (shared ? edgesText(shared) : "");

/** The visible range of a card: its own for each axis, or else, for the horizontal axis, that of all cards. */
export const shownOf = (ranges: ReadonlyMap<string, Zoom>, shared: Range | null, key: string): Zoom | null => {
  const own = ranges.get(key);
  return own || shared ? { x: own?.x ?? shared ?? undefined, y: own?.y, y2: own?.y2 } : null;
};

/** The ranges without their horizontal parts, which one shared range now replaces. */
export function withoutX(ranges: ReadonlyMap<string, Zoom>): Map<string, Zoom> {
  const kept = [...ranges].filter(([, { y, y2 }]) => y || y2);
  return new Map(kept.map(([key, { y, y2 }]) => [key, { y, y2 }]));
}

/** Settings of one card that override those of all cards. */
export interface Own {
  scale?: "linear" | "log";
  smoothing?: number;
  /** Whether its vertical axis ignores outliers. */
  inliers?: boolean;
}

/** The settings of single cards, by key; dashboard/curves/settings.py reads the same entries. */
export function ownOf(entries: readonly string[]): Map<string, Own> {
  const found: Map<string, Own> = new Map();
  for (const { key, value } of entries.map(partsOf)) {
    const own: Own = {};
    for (const word of value.split(",")) {
      const number = word ? Number(word) : NaN;
      if (word === "linear" || word === "log") own.scale = word;
      else if (word === "inliers" || word === "all") own.inliers = word === "inliers";
      else if (number >= 0 && number <= MOST_SMOOTHING) own.smoothing = number;
    }
    found.set(key, own);
  }
  return found;
}

const ownWords = ({ scale, smoothing, inliers }: Own): string[] => [
  ...(scale ? [scale] : []),
  ...(smoothing === undefined ? [] : [String(smoothing)]),
  ...(inliers === undefined ? [] : [inliers ? "inliers" : "all"]),
];

/** Replaces a card's entry with its own settings. */
export function withOwn(entries: readonly string[], key: string, own: Own): string[] {
  const words = ownWords(own);
  const others = entries.filter((entry) => partsOf(entry).key !== key);
  return words.length ? [...others, `${entryKey(key)}:${words}`] : others;
}

/** Describes a card's own settings in words. */
export const ownText = ({ scale, smoothing, inliers }: Own): string =>
  [
    ...(scale ? [`y: ${scale}`] : []),
    ...(smoothing === undefined ? [] : [`smoothing ${smoothing}`]),
    ...(inliers === undefined ? [] : [inliers ? "outliers ignored" : "outliers shown"]),
  ].join(" · ");

/** The zooms of cards, without those that exclude a step. */
export function withStep(entries: readonly string[], step: number): string[] {
  return entries.filter((entry) => {
    const [low, high] = partsOf(entry).value.split(",");
    return !low || !high || (Number(low) <= step && step <= Number(high));
  });
}

/** The chart heights chosen by the user, by key. */
export function heightsOf(entries: readonly string[]): Map<string, number> {
  const all = entries.map(partsOf).map(({ key, value }): [string, number] => [key, Number(value)]);
  return new Map(all.filter(([, height]) => height >= LEAST_HEIGHT && height <= MOST_HEIGHT));
}

/** Replaces a card's entry with its height. */
export const withHeight = (entries: readonly string[], key: string, height: number): string[] => [
  ...entries.filter((entry) => partsOf(entry).key !== key),
  `${entryKey(key)}:${height}`,
];

export function marksOf(entries: readonly string[]): Marks {
  const found = { ...NO_MARKS };
  for (const entry of entries) {
    const at = entry.indexOf(":");
    const [name, text] = [entry.slice(0, at), entry.slice(at + 1)];
    if (name === "card") found.card = text;
    else if ((name === "a" || name === "b") && Number.isFinite(Number(text))) found[name] = Number(text);
  }
  return found.a === null ? NO_MARKS : found;
}

export const markEntries = ({ card, a, b }: Marks): string[] =>
  a === null ? [] : [`card:${card}`, `a:${a}`, ...(b === null ? [] : [`b:${b}`])];

/** The first click sets mark A, the next mark B, and the one after that starts over. */
export const marked = (marks: Marks, card: string, x: number): Marks =>
  marks.a === null || marks.b !== null ? { card, a: x, b: null } : { card, a: marks.a, b: x };

/** Whether a key stands for several tags that the user combined in one chart. */
export const isCombined = (key: string) => key.startsWith("[[");

/** The tags of a key, on the left and on the right axis. */
export const sidesOf = (key: string): [string[], string[]] => (isCombined(key) ? JSON.parse(key) : [[key], []]);
