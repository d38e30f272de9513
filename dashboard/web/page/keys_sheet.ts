/** The sheet of keys that "?" opens: those that hold everywhere, and those of the open panel. */
import { active, type Command, keyText } from "../core/commands.ts";
import { type Child, iconButton, make } from "../core/dom.ts";

/** Keys as keys; words that begin with a small letter, such as "double click", and dots between are none. */
const isKey = (part: string): boolean => !/^[a-z]|^…$/.test(part);

const keycaps = (text: string): Child[] =>
  text.split(" ").flatMap((part, at) => [at ? " " : "", isKey(part) ? make("kbd", {}, part) : part]);

/** What a command is reached by, as people call it. */
export const waysTo = (
  { keys = [], keysShown, gestures = [] }: Pick<Command, "keys" | "keysShown" | "gestures">,
): string[] => [
  ...gestures,
  ...(keysShown === undefined ? keys.map(keyText) : keysShown.split(", ").filter(Boolean)),
];

function section(title: string, commands: readonly Command[]): HTMLElement {
  const rows = commands.flatMap((command) => {
    const ways = waysTo(command).flatMap((way, place) => [place ? " or " : "", ...keycaps(way)]);
    return ways.length ? [make("dt", {}, ...ways), make("dd", {}, command.title)] : [];
  });
  return make("section", {}, make("h3", {}, title), make("dl", {}, ...rows));
}

export function toggleKeysSheet(): void {
  const known = document.querySelector<HTMLDialogElement>("dialog.shortcuts");
  if (known) return known.close();
  const close = iconButton("close", "Close", () => sheet.close());
  const sections = Map.groupBy(active(), ({ title }) => title);
  const columns = [...sections].map(([title, groups]) => section(title, groups.flatMap(({ commands }) => commands)));
  const sheet = make(
    "dialog",
    { className: "shortcuts", "aria-label": "Keys" },
    make("header", {}, make("h2", {}, "Keys"), close),
    make("div", { className: "columns" }, ...columns),
  );
  sheet.addEventListener("click", (event) => event.target === sheet && sheet.close());
  sheet.addEventListener("close", () => sheet.remove());
  document.body.append(sheet);
  sheet.showModal();
}
