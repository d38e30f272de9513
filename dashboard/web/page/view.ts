// What the user sees, as URL parameters: the store "view" and the address bar hold the same query string.
// Its Python side is dashboard/page/state.py.
import { callbackContext, callbacks, noUpdate, propsOf, setProps, settingId } from "../core/dash.ts";
import { live } from "./live.ts";
import { storage } from "../core/dom.ts";
import type { Setting } from "../core/setting.ts";
import type { Declared, PanelFacts } from "./messages.generated.ts";
import { theme } from "./theme.ts";

let current: string = "";
let defaults: Record<string, string[]> = {};
let panels: PanelFacts[] = [];
/** Settings that are remembered for the next visit. */
let personal: Set<string> = new Set();
let formerNames: Record<string, string> = {};
let formerValues: Record<string, Record<string, string>> = {};
const settling: Record<string, number> = {};
const listeners: (() => void)[] = [];
const beginners: ((declared: Declared) => void)[] = [];
const STORED = "stepscope-settings";
const LATEST_START_MS = 3000;
/** The server reads 65,536 characters in all, and some addresses contain the query encoded again. */
const LONGEST_QUERY = 40000;

/** The query string with characters that are harmless in a query left readable: exactly what `state.encode` writes. */
function readable(params: URLSearchParams): string {
  const kept: Record<string, string> = {
    "%2F": "/",
    "%3A": ":",
    "%2C": ",",
    "%7C": "|",
    "%28": "(",
    "%29": ")",
    "+": "%20",
    "%7E": "~",
  };
  return params.toString().replace(/%(?:2F|3A|2C|7C|28|29|7E)|\+/g, (escape) => kept[escape]);
}

/**
 * Writes the address bar and returns the new query string.
 * @param step whether the back button returns to the previous view
 */
function remember(params: URLSearchParams, step?: boolean) {
  const before = current;
  current = readable(params);
  if (current === before) return current;
  const url = location.pathname + (current ? "?" + current : "") + location.hash;
  if (step) history.pushState(null, "", url);
  else history.replaceState(history.state, "", url);
  keepPersonal(new URLSearchParams(before), params);
  for (const listener of listeners) listener();
  return current;
}

function stored(): Record<string, string[]> {
  try {
    return JSON.parse(storage.get(STORED) || "{}") || {};
  } catch {
    return {};
  }
}

/** Remembers the personal settings that have changed, and only those. */
function keepPersonal(before: URLSearchParams, after: URLSearchParams) {
  const changed = [...personal].filter((name) => !sameValues(before.getAll(name), after.getAll(name)));
  if (!changed.length) return;
  const kept = stored();
  for (const name of changed) {
    if (after.has(name)) kept[name] = after.getAll(name);
    else delete kept[name];
  }
  storage.set(STORED, JSON.stringify(kept));
}

/** A setting of an earlier version under its current name; null if the query also has the current name. */
function renamed(name: string, value: string, names: { has(name: string): boolean }): [string, string] | null {
  const now = formerNames[name] ?? name;
  if (now !== name && names.has(now)) return null;
  return [now, formerValues[now]?.[value] ?? value];
}

/** The query in the address, which is rewritten if a setting or its value has a new name. */
function fromAddress(): string {
  const query = location.search.replace(/^\?/, "");
  const params = new URLSearchParams(query);
  const entries = [...params].map(([name, value]) => renamed(name, value, params)).filter((entry) => entry !== null);
  const now = new URLSearchParams(entries);
  if (now.toString() === params.toString()) return query;
  const found = readable(now);
  history.replaceState(history.state, "", location.pathname + (found ? "?" + found : "") + location.hash);
  return found;
}

/** The view at the start: the query, which is complete by itself, or without one, the personal settings. */
function begin() {
  const query = fromAddress();
  if (query) return query;
  const params = new URLSearchParams();
  const kept = stored();
  const names = new Set(Object.keys(kept));
  for (const [name, values] of Object.entries(kept)) {
    if (!Array.isArray(values)) continue;
    const entries = values.map((value) => renamed(name, String(value), names)).filter((entry) => entry !== null);
    if (entries.length && personal.has(entries[0][0])) assign(params, entries[0][0], entries.map((entry) => entry[1]));
  }
  const found = readable(params);
  if (found) history.replaceState(history.state, "", location.pathname + "?" + found + location.hash);
  return found;
}

/** Makes a text control on the page match the view. */
function follow(name: string) {
  const id = settingId(name) as Record<string, string>;
  // Dash writes the parts of an id in the order of their names.
  if (!document.getElementById(JSON.stringify({ name: id.name, type: id.type }))) return;
  setProps(id, { value: new URLSearchParams(current).get(name) || "" });
}

const tabs = () => [...document.querySelectorAll<HTMLElement>(".tabs [role=tab]:not(.tab-group)")];
const tabName = (tab: HTMLElement | undefined): string => (tab ? tab.id.slice(tab.id.indexOf("-tab-") + 5) : "");

/** The tab that a query opens; the first one if it names none. */
const opened = (query: string): string => new URLSearchParams(query).get("tab") || tabName(tabs()[0]);

/** Mounts the open panel again, so that its controls match the view. */
const remount = () => setProps("panel-again", { data: Date.now() });

/** Whether the open panel is yet to hear of the view that the browser's history led to. */
let isTurned = false;

window.addEventListener("popstate", () => {
  const next = fromAddress();
  if (next === current) return;
  isTurned = true;
  Object.values(settling).forEach(clearTimeout);
  const tab = opened(next);
  const same = opened(current) === tab;
  current = next;
  // Their contents belong to the tab before.
  if (!same) document.querySelectorAll<HTMLDialogElement>("dialog[open]").forEach((dialog) => dialog.close());
  setProps("view", { data: current });
  follow("run_filter");
  // The server marks it too, but not if another request comes before its response.
  if (!same && tabs().some((one) => tabName(one) === tab)) setProps("tabs", { value: tab });
  if (same) remount();
  for (const listener of listeners) listener();
});

/** Parameters whose controls are outside the panel, so that it need not be made again for them. */
const OF_FRAME = new Set(["tab", "run_filter"]);
/** What the open panel was made from: the view, and a key unique to that time (`panel_stores` in page/controls.py). */
export interface Made {
  key: string;
  view: string;
}
let seen = "";
/** The view changed while the panel was on its way: its controls show the view that it was made from. */
let isOutdated = false;
let isMadeAgain = false;
/** The controls of the panel that have reported a value: the first time, what they were made with. */
const reported = new Set<string>();

/** Checks a newly mounted panel before its controls report their values; any of Dash's callbacks may come first. */
function seePanel([made]: readonly (Made | undefined)[]): void {
  if (!made || made.key === seen) return;
  seen = made.key;
  isMadeAgain = false;
  reported.clear();
  const [before, now] = [new URLSearchParams(made.view), new URLSearchParams(current)];
  isOutdated = [...new Set([...before.keys(), ...now.keys()])].some((name) =>
    !OF_FRAME.has(name) && !sameValues(before.getAll(name), now.getAll(name)) &&
    ["setting", "toggle"].some((type) => propsOf({ ...settingId(name) as Record<string, string>, type }))
  );
}

function sameValues(one: readonly string[], other: readonly string[]) {
  return one.length === other.length && one.every((value, index) => value === other[index]);
}

/** Sets a parameter, or removes it if the value is its default. */
function assign(params: URLSearchParams, name: string, values: readonly string[]) {
  if (sameValues(params.getAll(name), values)) return;
  params.delete(name);
  if (!sameValues(values, defaults[name] || [])) values.forEach((value) => params.append(name, value));
}

let telling = false;

/** Tells Dash about the view after the next frame, so that what listeners draw themselves is on the screen first. */
function tellDash() {
  if (telling) return;
  telling = true;
  const tell = () => {
    telling = false;
    setProps("view", { data: current });
  };
  if (document.hidden) tell();
  else requestAnimationFrame(() => setTimeout(tell));
}

/** Sets a parameter, or a setting. */
export interface Assign {
  (name: string, values: readonly string[]): void;
  <T>(setting: Setting<T>, value: NoInfer<T>): void;
}

const assigning = (params: URLSearchParams): Assign => <T>(of: string | Setting<T>, value: T | readonly string[]) =>
  typeof of === "string"
    ? assign(params, of, value as readonly string[])
    : assign(params, of.name, of.format(value as T));

export const view = {
  /** A copy of the current parameters; changing it has no effect on the view. */
  params: () => new URLSearchParams(current),
  /** All values of a parameter, or its default if it is absent. */
  values(name: string): string[] {
    const found = new URLSearchParams(current).getAll(name);
    return found.length ? found : defaults[name] || [];
  },
  /**
   * Changes the view: `change` receives the parameters and a function that sets one; with `step`, the back button
   * undoes the change.
   */
  update(change: (params: URLSearchParams, assign: Assign) => void, step?: boolean) {
    const params = new URLSearchParams(current);
    const before = current;
    change(params, assigning(params));
    if (remember(params, step) !== before) tellDash();
  },
  query: () => current,
  /** Whether the address can hold another value of a setting. */
  fits<T>(setting: Setting<T>, value: NoInfer<T>): boolean {
    const params = new URLSearchParams(current);
    assigning(params)(setting, value);
    return readable(params).length < LONGEST_QUERY;
  },
  /** Requests the frame and the open tab from the server again. */
  askAgain: tellDash,
  /** Calls back whenever the view has changed. */
  onChange(listener: () => void) {
    listeners.push(listener);
  },
  /** Calls back when the page starts, with what the server declares. */
  onBegin(listener: (declared: Declared) => void) {
    beginners.push(listener);
  },
  /** A setting's value. */
  read<T>(setting: Setting<T>): T {
    return setting.parse(new URLSearchParams(current).getAll(setting.name));
  },
  /** Changes a setting; with `step`, the back button undoes the change. */
  write<T>(setting: Setting<T>, value: NoInfer<T>, step?: boolean) {
    this.update((_params, set) => set(setting, value), step);
  },
  /** The panel that shows tags of a kind of data. */
  panelOf: (kind: string): PanelFacts | undefined => panels.find(({ kinds }) => kinds.includes(kind)),
  /** Whether the list of runs determines what a panel shows. */
  followsRuns: (panel: string): boolean => panels.find(({ name }) => name === panel)?.follows_runs ?? true,
  /** The tabs: their elements, names and titles, and which one is open. */
  tabs: () =>
    tabs().map((tab) => ({
      element: tab,
      name: tabName(tab),
      title: tab.textContent ?? "",
      open: tab.getAttribute("aria-selected") === "true",
    })),
  /** Opens a tab, optionally with other parameters, as a step that the back button undoes. */
  open(name: string, others?: Record<string, readonly string[]>) {
    this.update((_params, set) => {
      set("tab", [name]);
      for (const [other, values] of Object.entries(others || {})) set(other, values);
    }, true);
    for (const other of Object.keys(others || {})) follow(other);
  },
  /** Forgets what was remembered, and resets all personal settings to their defaults. */
  reset() {
    storage.remove(STORED);
    this.update((params) => personal.forEach((name) => params.delete(name)));
    // The panel is made from the view that Dash knows.
    setProps("view", { data: current });
    remount();
  },
  /** The address of exactly this view, including the open tab. */
  link() {
    const params = new URLSearchParams(current);
    const open = tabs().find((tab) => tab.getAttribute("aria-selected") === "true");
    if (open && !params.has("tab")) params.set("tab", tabName(open));
    const query = readable(params);
    return location.origin + location.pathname + (query ? "?" + query : "");
  },
  follow,
  /** Adds `value` to a list parameter, or removes it. */
  toggle(list: string | Setting<readonly string[]>, value: string, on: boolean) {
    const name = typeof list === "string" ? list : list.name;
    this.update((params, set) => {
      const rest = params.getAll(name).filter((entry) => entry !== value);
      set(name, on ? [...rest, value] : rest);
    });
  },
};

callbacks("stepscope", {
  /** When the page starts: takes the view from the address bar. */
  boot(settings: Declared) {
    defaults = settings.values;
    panels = settings.panels;
    personal = new Set(settings.personal);
    formerNames = settings.former_names;
    formerValues = settings.former_values;
    current = begin();
    setTimeout(() => live.start(), LATEST_START_MS);
    for (const listener of listeners) listener();
    for (const beginner of beginners) beginner(settings);
    return [current, new URLSearchParams(current).get("run_filter") || "", theme.chosen()];
  },
  /**
   * Controls -> URL. Also called for newly mounted controls: these report what the view says, or their own value if the
   * view says nothing.
   */
  collect(_values: unknown, _checked: unknown, made: readonly Made[]) {
    seePanel(made);
    const params = new URLSearchParams(current);
    for (const trigger of callbackContext().triggered) {
      const at = trigger.prop_id.lastIndexOf(".");
      let name: string;
      try {
        name = JSON.parse(trigger.prop_id.slice(0, at)).name.replace(":", ".");
      } catch {
        continue;
      }
      // The control reports an earlier choice, and the panel is about to be made again.
      const isMadeWith = !reported.has(name) && !OF_FRAME.has(name);
      reported.add(name);
      if (isOutdated && isMadeWith) continue;
      if (trigger.value === undefined || trigger.value === null) continue;
      const value = typeof trigger.value === "boolean" ? (trigger.value ? "on" : "off") : String(trigger.value);
      if (typeof trigger.value === "number") {
        // A slider that is being dragged: the values it passes on the way are not drawn.
        clearTimeout(settling[name]);
        settling[name] = window.setTimeout(() => view.update((_params, set) => set(name, [value])), 80);
      } else if (value === "") params.delete(name);
      else assign(params, name, [value]);
    }
    const before = current;
    return remember(params) === before ? noUpdate() : current;
  },
  /**
   * View, revision and scheme -> the stores of the open panel, except for values that it already has. Also runs when a
   * panel has been mounted, since any of the three may have changed while it was on its way.
   */
  tellPanel(
    view: string,
    revision: number | null,
    scheme: string | null,
    _children: unknown,
    made: readonly Made[],
    views: unknown[],
    revisions: unknown[],
    schemes: unknown[],
  ) {
    seePanel(made);
    // The new panel will be made from the view that Dash knows.
    if (isOutdated && !isMadeAgain && view === current) {
      // Until it is there, controls of this one may still report.
      isMadeAgain = true;
      remount();
    }
    const news = (value: unknown, known: unknown[]) => known.map((old) => (old === value ? noUpdate() : value));
    // Until the server first sends one, the panel keeps the revision that it was made from.
    const heard = (revision ?? null) === null ? revisions.map(noUpdate) : news(revision, revisions);
    // The panel may have heard of this view before, but not of one that it led to itself and that was left again.
    const isNews = isTurned && view === current;
    if (isNews) isTurned = false;
    return [isNews ? views.map(() => view) : news(view, views), heard, news(scheme ?? null, schemes)];
  },
  /** When the frame exists: starts to listen for new data. */
  startLive() {
    live.start();
    return noUpdate();
  },
  applyTheme(choice: string) {
    return theme.apply(choice);
  },
});
