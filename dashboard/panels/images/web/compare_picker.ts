/** Picks two pictures, one after the other, for comparison. */
import { tip } from "../../../web/core/commands.ts";
import { icon, iconButton, make, stepText } from "../../../web/core/dom.ts";
import * as large from "./large.ts";
import type { Wanted } from "./pictures.ts";

/** The first picture picked. */
let first: Wanted | null = null;
let bar: HTMLElement | null = null;
const listeners: (() => void)[] = [];

export const CANCEL = { title: "Stop comparing", keys: ["Escape"] };

const same = (one: Wanted, other: Wanted) =>
  one.run === other.run && one.tag === other.tag && one.point.index === other.point.index &&
  one.sample === other.sample;
export const is = (wanted: Wanted | null): boolean => first !== null && wanted !== null && same(first, wanted);
export const isPicking = (): boolean => first !== null;

/** Calls back whenever another picture, or none, is picked. */
export const onChange = (listener: () => void): void => void listeners.push(listener);

function become(wanted: Wanted | null): void {
  first = wanted;
  for (const listener of listeners) listener();
  bar?.remove();
  bar = null;
  if (!first) return;
  const name = `${first.run} · ${first.tag} · step ${stepText(first.point.step)}`;
  bar = make(
    "div",
    { id: "images-picked", role: "status" },
    icon("compare", 16),
    make("span", {}, "Pick another image to compare with ", make("strong", {}, name)),
    iconButton("close", tip(CANCEL), clear),
  );
  document.body.append(bar);
}

export const clear = (): void => become(null);

/** Picks a picture; a second one opens both, while the first one again is unpicked. */
export function pick(wanted: Wanted | null): void {
  if (!wanted) return;
  if (!first || same(first, wanted)) return become(first ? null : wanted);
  const picked = first;
  clear();
  large.open(picked, wanted);
}
