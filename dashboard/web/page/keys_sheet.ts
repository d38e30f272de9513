/** The sheet of keys that "?" opens: those that hold everywhere, and those of the open panel. */
import { active, type Command, keyText } from "../core/commands.ts";
import { type Child, iconButton, make } from "../core/dom.ts";
import { closeBeside } from "../core/taps.ts";

const TITLE = "Keys and mouse";

/** Keys as keys; words that begin with a small letter, such as "double click", and dots between are none. */
const isKey = (part: string): boolean => !/^[a-z]|^…$/.test(part);

const keycaps = (text: string): Child[] =>
  text.split(" ").flatMap((part, at) => [at ? " " : "", isKey(part) ? make("kbd", {}, part) : part]);

/** What a command is reached by, as people call it. */
const waysTo = (
  { keys = [], keysShown, gestures = [] }: Pick<Command, "keys" | "keysShown" | "gestures">,
): string[] => [
  ...gestures,
  ...(keysShown === undefined ? keys.map(keyText) : keysShown.split(", ").filter(Boolean)),
];

type Shown = Pick<Command, "title" | "keys" | "keysShown" | "gestures">;
interface Section {
  title: string;
  commands: readonly Shown[];
}

function section({ title, commands }: Section): HTMLElement {
  const rows = commands.flatMap((command) => {
    const ways = waysTo(command).flatMap((way, place) => [place ? " or " : "", ...keycaps(way)]);
    return ways.length ? [make("dt", {}, ...ways), make("dd", {}, command.title)] : [];
  });
  return make("section", {}, make("h3", {}, title), make("dl", {}, ...rows));
}

/** Of a row of keys those that the open panel leaves to the page. */
export function leftOver(command: Shown, taken: ReadonlySet<string>): Shown {
  const keys = command.keys?.filter((key) => !taken.has(key)) ?? [];
  if (command.keysShown === undefined || !keys.length || keys.length === command.keys?.length) return command;
  return { ...command, keysShown: keys.length > 1 ? `${keys[0]} … ${keys[keys.length - 1]}` : keys[0] };
}

/** What holds now, by heading. */
function sections(): Section[] {
  const groups = active();
  const taken = new Set(
    groups.flatMap(({ panel, commands }) => panel ? commands.flatMap(({ keys }) => keys ?? []) : []),
  );
  const byTitle = Map.groupBy(groups, ({ title }) => title);
  return [...byTitle].map(([title, of]) => ({
    title,
    commands: of.flatMap(({ panel, commands }) => commands.map((one) => panel ? one : leftOver(one, taken))),
  }));
}

/** Opens or closes the sheet with what holds on the page. */
export const toggleKeysSheet = (): void => toggleSheet(sections());

/** The same with what has keys of its own, because it lies over the page. */
export function toggleSheet(shown: readonly Section[]): void {
  const known = document.querySelector<HTMLDialogElement>("dialog.shortcuts[open]");
  // One that was closed is there until it is told so.
  if (known) return known.close();
  const close = iconButton("close", "Close", () => sheet.close());
  const sheet = make(
    "dialog",
    { className: "shortcuts", "aria-label": TITLE },
    make("header", {}, make("h2", {}, TITLE), close),
    make("div", { className: "columns" }, ...shown.map(section)),
  );
  closeBeside(sheet);
  sheet.addEventListener("close", () => sheet.remove());
  document.body.append(sheet);
  sheet.showModal();
}
