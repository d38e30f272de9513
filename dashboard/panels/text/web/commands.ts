/** Keys and gestures of the text panel. */
import { bind, type Command } from "../../../web/core/commands.ts";
import { headOf, sortAt } from "./entry.ts";
import { step } from "./search.ts";

const FIND = ".panel.text .find input[type=text], .panel.text .find input:not([type])";
const bound: WeakSet<Element> = new WeakSet();

const turnHit: Command = {
  id: "text.turn_hit",
  title: "Next or previous match, in the search field",
  keys: ["Enter", "Shift Enter"],
  when: (event) => event?.target instanceof Element && event.target.matches(FIND),
  act: (event) => step(event.shiftKey ? -1 : 1),
};

/** Binds keys to the search field, which is a new element each time the panel is opened. */
export function bindSearch(): void {
  const field = document.querySelector(FIND);
  if (!field || bound.has(field)) return;
  bound.add(field);
  bind(field, [turnHit]);
}

export const commands: readonly Command[] = [
  turnHit,
  { id: "text.turn_step", title: "Next or previous step, in a step field", keys: ["ArrowUp", "ArrowDown"] },
  {
    id: "text.sort",
    title: "Click a column header to sort",
    keys: ["Enter", " "],
    gestures: ["click"],
    when: (event) => headOf(event) !== null,
    act: sortAt,
  },
];
