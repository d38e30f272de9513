/** The clips under A and B, as the address has them. */
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

/** Puts a clip under A or B, or takes it away. */
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

/** Calls back whenever others are chosen. */
export const onPin = (listener: () => void): void => void listeners.push(listener);
