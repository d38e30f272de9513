/** The key sheet that "?" opens: the keys that work everywhere, and those of the open panel. */
import { active, type Command, type Group, keyText } from "../core/commands.ts";
import { type Child, iconButton, make } from "../core/dom.ts";
import { closeBeside } from "../core/taps.ts";

const TITLE = "Keyboard and mouse shortcuts";

/** Whether a part is a key; lowercase words, such as in "double click", and the ellipsis between keys are not. */
const isKey = (part: string): boolean => !/^[a-z]|^…$/.test(part);

const keycaps = (text: string): Child[] =>
  text.split(" ").flatMap((part, at) => [at ? " " : "", isKey(part) ? make("kbd", {}, part) : part]);

/** The ways to run a command, as text for people. */
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

/** A page command with only those keys of a range that the open panel does not take. */
export function leftOver(command: Shown, taken: ReadonlySet<string>): Shown {
  const keys = command.keys?.filter((key) => !taken.has(key)) ?? [];
  if (command.keysShown === undefined || !keys.length || keys.length === command.keys?.length) return command;
  return { ...command, keysShown: keys.length > 1 ? `${keys[0]} … ${keys[keys.length - 1]}` : keys[0] };
}

/** What is particular to the open tab comes before what applies everywhere. */
const rank = ({ panel, when }: Group): number => panel ? 0 : when ? 1 : 2;

/** The commands that are active now, by heading. */
function sections(): Section[] {
  const groups = active().sort((one, other) => rank(one) - rank(other));
  const taken = new Set(
    groups.flatMap(({ panel, commands }) => panel ? commands.flatMap(({ keys }) => keys ?? []) : []),
  );
  const byTitle = Map.groupBy(groups, ({ title }) => title);
  return [...byTitle].map(([title, of]) => ({
    title,
    commands: of.flatMap(({ panel, commands }) => commands.map((one) => panel ? one : leftOver(one, taken))),
  }));
}

/** Opens or closes the sheet of the page's active commands. */
export const toggleKeysSheet = (): void => toggleSheet(sections());

/** The same for something that lies over the page and therefore has its own keys. */
export function toggleSheet(shown: readonly Section[]): void {
  const known = document.querySelector<HTMLDialogElement>("dialog.shortcuts[open]");
  // A closed sheet stays on the page until its close event.
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
