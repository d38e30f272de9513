/** The clips pinned as A and B in the address. */
import { view } from "../../../web/page/view.ts";
import { type Clip, clipUrl } from "./clip.ts";
import { pinOf, pinText, type Slot } from "./entries.ts";
import { settings } from "./settings.generated.ts";

const listeners: (() => void)[] = [];

export const pinned = (): Map<Slot, Clip> =>
  new Map(view.read(settings.compare).map(pinOf).filter((pin) => pin !== null));

function write(all: Map<Slot, Clip>): void {
  view.write(settings.compare, [...all].map(([slot, clip]) => pinText(slot, clip)).sort());
  for (const listener of listeners) listener();
}

export const unpinAll = (): void => write(new Map());

/** Pins a clip as A or B, or unpins it. */
export function pin(slot: Slot, clip: Clip): void {
  const all = pinned();
  if (isPinned(slot, clip)) all.delete(slot);
  else all.set(slot, clip);
  write(all);
}

export function isPinned(slot: Slot, clip: Clip | null): boolean {
  const there = pinned().get(slot);
  return there !== undefined && clip !== null && clipUrl(there) === clipUrl(clip);
}

/** Calls back whenever the choice of clips changes. */
export const onPin = (listener: () => void): void => void listeners.push(listener);
