/**
 * The page's commands: what a user can do, and with which keys. The only key listener is here; the key sheet, the
 * palette, tooltips and the documentation read the same lists.
 */

/** Reports whether it did something: after `false`, the key goes on to the next handler. */
export type Act = (event: KeyboardEvent) => unknown;

/**
 * Keys are written as in `KeyboardEvent.key`, with lowercase letters, after "Ctrl ", "Alt " and "Shift " in this order:
 * "Shift ArrowLeft", "Ctrl k", "?". The Mac's Command key counts as Ctrl; Shift is omitted before a sign it produces, and
 * so are Alt (the Mac's Option) and AltGr, which is Ctrl and Alt on Windows: many keyboards have "[" only there.
 */
export type Bindings = Readonly<Record<string, Act>>;

export interface Command {
  /** Unique on the page; begins with the name of its panel: "timeline.zoom_in". */
  id: string;
  /** What it does, as shown in the key sheet. */
  title: string;
  keys?: readonly string[];
  /** How the sheet shows the keys, if that is shorter: "1 … 9". */
  keysShown?: string;
  /** Gestures with the same effect, for the sheet: "double click", "Shift drag". */
  gestures?: readonly string[];
  act?: Act;
  /** Whether it is available now; always if omitted. */
  when?: (event?: KeyboardEvent) => boolean;
  /** Whether its keys also work while a dialog is open. */
  inDialogs?: boolean;
  /** Its icon in the palette; if omitted, the palette does not offer it. */
  palette?: string;
}

export interface Group {
  /** The panel whose tab must be open for them to be active; active everywhere if omitted. */
  panel?: string;
  /** Whether they apply to what the open tab shows; always if omitted. */
  when?: () => boolean;
  /** The heading in the sheet. */
  title: string;
  commands: readonly Command[];
}

const groups: Group[] = [];
const requested: Act[] = [];
const bound: WeakMap<EventTarget, Bindings[]> = new WeakMap();
let openPanel = () => "";

/** Set the function that finds the name of the open panel. */
export const panelIsFoundBy = (find: () => string): void => void (openPanel = find);

function withdrawn<T>(list: T[], entry: T, signal: AbortSignal | undefined): void {
  signal?.addEventListener("abort", () => {
    const at = list.indexOf(entry);
    if (at >= 0) list.splice(at, 1);
  });
}

/** Offer every key to an act before anything else on the page, even fields, as boxes over the page need. */
export const beforeAll = (act: Act): void => void requested.push(act);

/** Activate commands until the signal aborts. They are inactive while a field has the focus or a dialog is open. */
export function register(group: Group, signal?: AbortSignal): void {
  groups.push(group);
  withdrawn(groups, group, signal);
}

/**
 * Bind keys while the focus is inside an element; the innermost element comes first. Keys that a field inside it uses
 * for typing stay with the field: to handle those, bind to the field itself.
 */
export function bind(element: EventTarget, keys: Bindings | readonly Command[], signal?: AbortSignal): void {
  const bindings = isList(keys) ? bindingsOf(keys) : keys;
  const list = bound.get(element) ?? [];
  list.push(bindings);
  bound.set(element, list);
  withdrawn(list, bindings, signal);
}

const isList = (keys: Bindings | readonly Command[]): keys is readonly Command[] => Array.isArray(keys);

/** The bindings of commands; a key shared by several runs the first that is available and does something. */
export function bindingsOf(commands: readonly Command[]): Bindings {
  const acts = new Map<string, Act[]>();
  for (const command of commands) {
    const { act, when } = command;
    if (!act) continue;
    const guarded: Act = (event) => (when && !when(event) ? false : act(event));
    for (const key of command.keys ?? []) acts.set(key, [...(acts.get(key) ?? []), guarded]);
  }
  return Object.fromEntries(
    [...acts].map(([key, all]) => [key, (event: KeyboardEvent) => all.some((act) => act(event) !== false)]),
  );
}

/** The groups that are active now: those that apply everywhere, then those of the open panel. */
export const active = (): Group[] => {
  const open = openPanel();
  const holding = groups.filter(({ panel, when }) => (!panel || panel === open) && when?.() !== false);
  return [...holding.filter(({ panel }) => !panel), ...holding.filter(({ panel }) => panel)];
};

/** All groups of the page, whichever panel is open. */
export const all = (): readonly Group[] => groups;

/** The key of an event, as written in commands. */
export function keyOf(event: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">): string {
  const isSign = [...event.key].length === 1;
  const isLetter = isSign && event.key.toLowerCase() !== event.key.toUpperCase();
  const key = isLetter ? event.key.toLowerCase() : event.key;
  const shift = event.shiftKey && (!isSign || isLetter || key === " ");
  const alt = event.altKey && (!isSign || isLetter || /[\d ]/.test(key));
  const ctrl = event.metaKey || (event.ctrlKey && (alt || !event.altKey));
  return `${ctrl ? "Ctrl " : ""}${alt ? "Alt " : ""}${shift ? "Shift " : ""}${key}`;
}

/** A key's name for people: "Shift Left", "Ctrl K", "Space". */
export function keyText(key: string): string {
  const named = key.endsWith(" ") ? `${key.slice(0, -1)}Space` : key;
  return named.split(" ").map((part) => part.replace(/^Arrow/, "").replace(/^[a-z]$/, (letter) => letter.toUpperCase()))
    .join(" ");
}

/** The title of a button: what it does, and its first key. */
export const tip = ({ title, keys }: Pick<Command, "title" | "keys">): string =>
  keys?.length ? `${title} (${keyText(keys[0]).replaceAll(" ", "+")})` : title;

/** Whether an element takes keys for typing. */
export function isField(element: EventTarget | null): boolean {
  if (!(element instanceof HTMLElement)) return false;
  if (element.isContentEditable || element.matches("textarea, select")) return true;
  return element instanceof HTMLInputElement &&
    !["checkbox", "radio", "range", "button", "color"].includes(element.type);
}

/** Whether keys currently go to a field. */
export const typing = (): boolean => isField(document.activeElement);

/** Keys that a field has no use for. */
const passesFields = (key: string): boolean => /^(Ctrl |Alt )|^(Escape|F\d+)$/.test(key);

function take(event: KeyboardEvent, bindings: Bindings): boolean {
  const key = keyOf(event);
  // A letter also works with Shift, unless that is bound to something else.
  const act = [key, key.replace(/^Shift (?=.$)/, "")].map((one) => Object.hasOwn(bindings, one) && bindings[one])
    .find(Boolean);
  if (!act || act(event) === false) return false;
  event.preventDefault();
  return true;
}

function dispatchFirst(event: KeyboardEvent): void {
  for (const act of requested) {
    if (act(event) === false) continue;
    event.preventDefault();
    event.stopPropagation();
    return;
  }
}

function dispatch(event: KeyboardEvent): void {
  if (event.defaultPrevented) return;
  const key = keyOf(event);
  const inField = isField(event.target) && !passesFields(key);
  for (const element of event.composedPath()) {
    if (inField && element !== event.target) break;
    for (const bindings of [...(bound.get(element) ?? [])]) if (take(event, bindings)) return;
  }
  if (isField(event.target) && !key.startsWith("Ctrl ")) return;
  const inDialog = document.querySelector("dialog[open]") !== null;
  // The open panel takes precedence over the page.
  for (const { commands } of active().reverse()) {
    if (take(event, bindingsOf(inDialog ? commands.filter(({ inDialogs }) => inDialogs) : commands))) return;
  }
}

if (typeof window !== "undefined") {
  window.addEventListener("keydown", dispatchFirst, true);
  window.addEventListener("keydown", dispatch);
}
