/** Entries of lists in the address: `KEY:VALUE`, where a key may contain colons, and clips that are compared. */
import type { Clip } from "./clip.ts";
import type { Span } from "./span.ts";

export const SLOTS = ["A", "B"] as const;
export type Slot = typeof SLOTS[number];

/** The key and value of an entry whose value has a given number of parts. */
export function split(entry: string, parts = 1): [string, string] {
  const all = entry.split(":");
  const value = all.splice(-parts);
  return [all.join(":"), value.join(":")];
}

/** `START:STOP` in seconds. */
export function spanOf(text: string): Span | null {
  const found = /^([\d.]+):([\d.]+)$/.exec(text);
  return found ? { start: Number(found[1]), stop: Number(found[2]) } : null;
}

export const spanText = ({ start, stop }: Span): string => `${+start.toFixed(5)}:${+stop.toFixed(5)}`;

/** A clip and the slot it is in; null if the entry is invalid. */
export function pinOf(entry: string): [Slot, Clip] | null {
  let parts: unknown;
  try {
    parts = JSON.parse(entry);
  } catch {
    return null;
  }
  if (!Array.isArray(parts)) return null;
  const [name, tag, run, index, step, wall, sample]: unknown[] = parts;
  const slot = SLOTS.find((one) => one === name);
  if (!slot || ![index, step, sample].every(Number.isInteger)) return null;
  const clip = { tag: String(tag), run: String(run), wall: wall === null ? NaN : Number(wall) };
  return [slot, { ...clip, index: Number(index), step: Number(step), sample: Number(sample) }];
}

export const pinText = (slot: Slot, clip: Clip): string =>
  JSON.stringify([slot, clip.tag, clip.run, clip.index, clip.step, clip.wall, clip.sample]);
