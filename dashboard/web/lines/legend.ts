// The meaning of a chart's colors and dashes: rows of keys, or names at the ends of its lines. Pure functions.
import { shortNames } from "../core/names.ts";
import type { Measure } from "./scene.ts";

/** The meaning of one line style. */
export interface Key {
  label: string;
  /** null: stands for lines of every color */
  color: string | null;
  dash?: number[];
  /** the line, if it stands for only one */
  id?: string;
}
/** A key with its position: the middle of its left edge. */
export interface PlacedKey {
  key: Key;
  text: string;
  x: number;
  y: number;
}

export const ROW = 16;
/** The width of the sample of a line, and the gap between it and the text. */
export const SAMPLE = 14;
const BESIDE = 5;
const APART = 12;
/** Where the text of a key begins. */
export const TEXT = SAMPLE + BESIDE;

/** Labels without the leading folders that they all share. */
export function withoutCommonFolder(labels: readonly string[]): string[] {
  if (new Set(labels).size < 2) return [...labels];
  const parts = labels.map((label) => label.split("/"));
  let common = 0;
  while (parts.every((part) => part.length > common + 1 && part[common] === parts[0][common])) common += 1;
  return parts.map((part) => part.slice(common).join("/"));
}

/** The texts of keys, fitted to a width; as distinct as their labels. */
export function textsOf(keys: readonly Key[], width: number, measure: Measure): string[] {
  const short = shortNames(keys.map(({ label }) => label), width, measure);
  return keys.map(({ label }) => short.get(label) ?? label);
}

/** Keys in rows, starting at (0, 0); if not all of them fit, the last one says how many are left out. */
export function inRows(
  keys: readonly Key[],
  width: number,
  most: number,
  measure: Measure,
): { placed: PlacedKey[]; rows: number } {
  const placed: PlacedKey[] = [];
  const texts = textsOf(keys, Math.min(width - TEXT, Math.max(120, width * 0.4)), measure);
  let [x, row] = [0, 0];
  for (const [index, key] of keys.entries()) {
    const text = texts[index];
    const size = TEXT + measure(text);
    const left = keys.length - index;
    const rest = `+ ${left} more`;
    const isFull = x > 0 && x + size + (left > 1 && row === most - 1 ? APART + measure(rest) : 0) > width;
    if (isFull && row === most - 1) {
      placed.push({ key: { label: rest, color: null, dash: undefined }, text: rest, x: x - TEXT, y: row * ROW });
      break;
    }
    if (isFull) [x, row] = [0, row + 1];
    placed.push({ key, text, x, y: row * ROW });
    x += size + APART;
  }
  return { placed, rows: placed.length ? row + 1 : 0 };
}

/** Moves positions apart by at least `gap`, each as little as possible, all within low..high if there is room. */
export function spread(places: readonly number[], gap: number, low: number, high: number): number[] {
  const order = [...places.keys()].sort((a, b) => places[a] - places[b]);
  /** Neighbors that touch form a stack, centered on their mean. */
  const stacks: { members: number[]; middle: number }[] = [];
  const half = (members: readonly number[]) => ((members.length - 1) * gap) / 2;
  const bound = (members: readonly number[], middle: number) =>
    Math.max(low + half(members), Math.min(high - half(members), middle));
  for (const at of order) {
    let stack = { members: [at], middle: bound([at], places[at]) };
    for (;;) {
      const above = stacks.at(-1);
      if (!above || above.middle + half(above.members) + gap <= stack.middle - half(stack.members)) break;
      stacks.pop();
      const members = [...above.members, ...stack.members];
      const mean = members.reduce((sum, one) => sum + places[one], 0) / members.length;
      stack = { members, middle: bound(members, mean) };
    }
    stacks.push(stack);
  }
  const found = [...places];
  for (const { members, middle } of stacks) {
    members.forEach((one, index) => (found[one] = middle - half(members) + index * gap));
  }
  return found;
}
