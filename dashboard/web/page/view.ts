// What the user sees, as URL parameters: the store "view" and the address bar hold the same query string.
// Python's side of it is dashboard/page/state.py.
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

/** Query string with what is harmless in a query left readable: to the letter what `state.encode` writes. */
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
 * @param step whether the back button leads to what was before
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

/** Remembers the personal settings that were changed, and only those. */
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

/** A setting of an earlier version, as it is called now; a name of this version comes first. */
function renamed(name: string, value: string, names: { has(name: string): boolean }): [string, string] | null {
  const now = formerNames[name] ?? name;
  if (now !== name && names.has(now)) return null;
  return [now, formerValues[now]?.[value] ?? value];
}

/** The query of the address, which is rewritten where a setting or its value has another name now. */
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

/** The view of a visit without a query: the personal settings. A query says all by itself. */
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

/** Makes a text control that is on the page show what the view says. */
function follow(name: string) {
  const id = settingId(name) as Record<string, string>;
  // As Dash writes the parts of an id: in the order of their names.
  if (!document.getElementById(JSON.stringify({ name: id.name, type: id.type }))) return;
  setProps(id, { value: new URLSearchParams(current).get(name) || "" });
}

const tabs = () => [...document.querySelectorAll<HTMLElement>(".tabs [role=tab]:not(.tab-group)")];
const tabName = (tab: HTMLElement | undefined): string => (tab ? tab.id.slice(tab.id.indexOf("-tab-") + 5) : "");

/** The tab that a query opens; without a name the first. */
const opened = (query: string): string => new URLSearchParams(query).get("tab") || tabName(tabs()[0]);

/** Mounts the open panel again, so that its controls show what the view says. */
const remount = () => setProps("panel-again", { data: Date.now() });

window.addEventListener("popstate", () => {
  const next = fromAddress();
  if (next === current) return;
  Object.values(settling).forEach(clearTimeout);
  const tab = opened(next);
  const same = opened(current) === tab;
  current = next;
  setProps("view", { data: current });
  follow("run_filter");
  // The server marks it too, but not where another question comes before its answer.
  if (!same && tabs().some((one) => tabName(one) === tab)) setProps(settingId("tab"), { value: tab });
  if (same) remount();
  for (const listener of listeners) listener();
});

/** Parameters whose controls are around the panel, which is no reason to make it again. */
const OF_FRAME = new Set(["tab", "run_filter"]);
/** What the open panel was made of: the view, and a key that no other time has (`panel_stores` of page/controls.py). */
interface Made {
  key: string;
  view: string;
}
let seen = "";
/** The panel was on its way while the view changed: its controls show the one that it was made of. */
let isOutdated = false;

/** Looks at a panel that has been mounted, before its controls say what is chosen: of Dash's callbacks any comes first. */
function seePanel([made]: readonly (Made | undefined)[]): void {
  if (!made || made.key === seen) return;
  seen = made.key;
  const [before, now] = [new URLSearchParams(made.view), new URLSearchParams(current)];
  isOutdated = [...new Set([...before.keys(), ...now.keys()])].some((name) =>
    !OF_FRAME.has(name) && !sameValues(before.getAll(name), now.getAll(name)) &&
    ["setting", "toggle"].some((type) => propsOf({ ...settingId(name) as Record<string, string>, type }))
  );
}

function sameValues(one: readonly string[], other: readonly string[]) {
  return one.length === other.length && one.every((value, index) => value === other[index]);
}

/** Sets a parameter, or removes it where that is its default. */
function assign(params: URLSearchParams, name: string, values: readonly string[]) {
  if (sameValues(params.getAll(name), values)) return;
  params.delete(name);
  if (!sameValues(values, defaults[name] || [])) values.forEach((value) => params.append(name, value));
}

let telling = false;

/** Dash hears of the view behind the next frame: what listeners draw by themselves is on the screen before. */
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
  /** The parameters as they are now; changing them changes nothing until `update`. */
  params: () => new URLSearchParams(current),
  /** All values of a parameter, its default where it is absent. */
  values(name: string): string[] {
    const found = new URLSearchParams(current).getAll(name);
    return found.length ? found : defaults[name] || [];
  },
  /**
   * Changes the view: `change` gets the parameters and a function that sets one; `step` makes it a step that the back
   * button undoes.
   */
  update(change: (params: URLSearchParams, assign: Assign) => void, step?: boolean) {
    const params = new URLSearchParams(current);
    const before = current;
    change(params, assigning(params));
    if (remember(params, step) !== before) tellDash();
  },
  query: () => current,
  /** Has the server asked once more for the frame and the open tab. */
  askAgain: tellDash,
  /** Calls back whenever the view has changed. */
  onChange(listener: () => void) {
    listeners.push(listener);
  },
  /** Calls back when the page begins, with what the server declares. */
  onBegin(listener: (declared: Declared) => void) {
    beginners.push(listener);
  },
  /** A setting's value. */
  read<T>(setting: Setting<T>): T {
    return setting.parse(new URLSearchParams(current).getAll(setting.name));
  },
  /** Change a setting; `step` makes it a step that the back button undoes. */
  write<T>(setting: Setting<T>, value: NoInfer<T>, step?: boolean) {
    this.update((_params, set) => set(setting, value), step);
  },
  /** The panel that shows tags of a kind of data. */
  panelOf: (kind: string): PanelFacts | undefined => panels.find(({ kinds }) => kinds.includes(kind)),
  /** Whether the list of runs chooses what a panel shows. */
  followsRuns: (panel: string): boolean => panels.find(({ name }) => name === panel)?.follows_runs ?? true,
  /** The names of the tabs, and that of the open one. */
  tabs: () =>
    tabs().map((tab) => ({
      element: tab,
      name: tabName(tab),
      title: tab.textContent ?? "",
      open: tab.getAttribute("aria-selected") === "true",
    })),
  /** Opens a tab, with other parameters if need be, as a step that the back button undoes. */
  open(name: string, others?: Record<string, readonly string[]>) {
    this.update((_params, set) => {
      set("tab", [name]);
      for (const [other, values] of Object.entries(others || {})) set(other, values);
    }, true);
    for (const other of Object.keys(others || {})) follow(other);
  },
  /** Forgets what was remembered, and takes all personal settings back to their defaults. */
  reset() {
    localStorage.removeItem(STORED);
    this.update((params) => personal.forEach((name) => params.delete(name)));
    remount();
  },
  /** The address of exactly this view, the open tab included. */
  link() {
    const params = new URLSearchParams(current);
    const open = tabs().find((tab) => tab.getAttribute("aria-selected") === "true");
    if (open && !params.has("tab")) params.set("tab", tabName(open));
    const query = readable(params);
    return location.origin + location.pathname + (query ? "?" + query : "");
  },
  follow,
  /** Adds `value` to a list parameter or takes it out. */
  toggle(list: string | Setting<readonly string[]>, value: string, on: boolean) {
    const name = typeof list === "string" ? list : list.name;
    this.update((params, set) => {
      const rest = params.getAll(name).filter((entry) => entry !== value);
      set(name, on ? [...rest, value] : rest);
    });
  },
};

callbacks("stepscope", {
  /** The page begins: takes the view from the address bar. */
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
   * Controls -> URL. Also called for controls that have been mounted: these say what the view says, or what is chosen
   * where it says nothing.
   */
  collect(_values: unknown, _checked: unknown, openPanel: string, made: readonly Made[]) {
    seePanel(made);
    const params = new URLSearchParams(current);
    let step = false;
    for (const trigger of callbackContext().triggered) {
      const at = trigger.prop_id.lastIndexOf(".");
      let name: string;
      try {
        name = JSON.parse(trigger.prop_id.slice(0, at)).name.replace(":", ".");
      } catch {
        continue;
      }
      if (trigger.value === undefined || trigger.value === null) continue;
      // It says what was chosen before, and the panel is about to be made again.
      if (isOutdated && !OF_FRAME.has(name)) continue;
      const value = typeof trigger.value === "boolean" ? (trigger.value ? "on" : "off") : String(trigger.value);
      if (name === "tab") {
        // The server opens a tab too, when the URL names none; only the user's choice goes into the URL.
        if (value !== openPanel && value !== opened(current)) {
          params.set("tab", value);
          step = true;
        }
      } else if (typeof trigger.value === "number") {
        // A slider under the hand: what it passes on the way is not drawn.
        clearTimeout(settling[name]);
        settling[name] = window.setTimeout(() => view.update((_params, set) => set(name, [value])), 80);
      } else if (value === "") params.delete(name);
      else assign(params, name, [value]);
    }
    const before = current;
    return remember(params, step) === before ? noUpdate() : current;
  },
  /**
   * View, revision and scheme -> the stores of the open panel; what it knows already is not told again. Runs when a
   * panel has been mounted too, since any of the three may have changed while it was on its way.
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
    // What it is made again of is what Dash has heard.
    if (isOutdated && view === current) {
      isOutdated = false;
      remount();
    }
    const news = (value: unknown, known: unknown[]) => known.map((old) => (old === value ? noUpdate() : value));
    // Until the server's first word the panel has the revision that it was made of.
    const heard = (revision ?? null) === null ? revisions.map(noUpdate) : news(revision, revisions);
    return [news(view, views), heard, news(scheme ?? null, schemes)];
  },
  /** The frame is there: from now on news are worth a look. */
  startLive() {
    live.start();
    return noUpdate();
  },
  applyTheme(choice: string) {
    return theme.apply(choice);
  },
});
