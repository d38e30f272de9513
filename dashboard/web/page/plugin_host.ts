/**
 * Hosts panels of other distributions: loads their modules, gives each its element and access to parts of the page, and
 * reports which of them fails at what. docs/extending.md describes this interface; `API` is its version.
 */
import { all, type Command, register } from "../core/commands.ts";
import { onUndrawn } from "../core/dash.ts";
import { icon, iconButton, make } from "../core/dom.ts";
import { Api, type How, isAbort, messageOf, type Parameters } from "../core/request.ts";
import { runs } from "../../runs/web/state.ts";
import { removeNotice, say } from "./layout.ts";
import type { PluginPage, PluginsListed } from "./messages.generated.ts";
import { accepted, settingOf } from "./plugin_settings.ts";
import { chosen, noteUndrawn } from "./tabs.ts";
import { view } from "./view.ts";

/** The version of the interface for modules; it increases when a part of it is removed or changes its meaning. */
export const API = 1;

export type What = "data" | "runs" | "settings" | "scheme";
type Scheme = "light" | "dark";

export interface ShownRun {
  name: string;
  /** The name that the page shows. */
  label: string;
  /** In the current color scheme. */
  color: string;
}

export interface PluginCommand extends Pick<Command, "title" | "keys" | "gestures" | "when"> {
  id: string;
  act: (event: KeyboardEvent) => unknown;
}

/** The interface that a plug-in's module receives. */
export interface PluginContext {
  readonly api: number;
  /** The panel's name. */
  readonly name: string;
  /** Aborts when the element is removed: for listeners and requests. */
  readonly signal: AbortSignal;
  /** Increases with new data. */
  revision(): number;
  scheme(): Scheme;
  /** The runs that are shown, in the order of their list. */
  runs(): ShownRun[];
  /** The value of a setting, by its name without the panel's: "scale" for "spectrum.scale". */
  get(setting: string): unknown;
  /** Changes a setting in the page's address; with `step`, the back button undoes it. */
  set(setting: string, value: unknown, step?: boolean): void;
  /** Calls back with what has changed, whenever something has. */
  onChange(listener: (what: What) => unknown): void;
  /** The JSON response of one of the panel's routes, by its path under `api/NAME/`. */
  ask(route: string, parameters?: Parameters, how?: How): Promise<unknown>;
  /** The address of such a route, for images and links. */
  address(route: string, parameters?: Parameters): string;
  /** Adds commands to the palette, and their keys to the key sheet. */
  commands(commands: readonly PluginCommand[]): void;
  /** Shows a brief message that needs no response. */
  say(text: string): void;
  /** Opens the panel's tab. */
  open(): void;
}

interface Module {
  api?: unknown;
  mount?: (element: HTMLElement, context: PluginContext) => unknown;
  start?: (context: PluginContext) => unknown;
}

interface Listener {
  plugin: PluginPage;
  hear: (what: What) => unknown;
  /** The state of the page that the listener last knew of. */
  known: Record<"runs" | "settings", string>;
}

const plugins = new Map<string, PluginPage>();
const modules = new Map<string, Promise<Module>>();
const listeners = new Set<Listener>();
let revision = 0;

const scheme = (): Scheme => document.documentElement.dataset.mantineColorScheme === "dark" ? "dark" : "light";

// --- failures ------------------------------------------------------------------------------------------------

const told = new Set<string>();

/** Shows failures on the page, each one once, until closed. */
function tellFailures(sentences: readonly string[]): void {
  const news = sentences.filter((sentence) => !told.has(sentence));
  if (!news.length) return;
  news.forEach((sentence) => told.add(sentence));
  let box = document.getElementById("plugins-failed");
  if (!box) {
    const close = iconButton("close", "Close", () => removeNotice(box));
    box = make("div", { id: "plugins-failed", role: "status" }, icon("alert", 16), make("ul"), close);
    document.body.append(box);
  }
  // The list may be longer than its box, and the newest failure is what somebody has just caused.
  box.querySelector("ul")!.prepend(...news.map((sentence) => make("li", {}, sentence)));
}

function sentenceOf(plugin: PluginPage, doing: string, error: unknown): string {
  const message = messageOf(error);
  // A route that failed has already reported it.
  if (message.startsWith("The plug-in ")) return message;
  return `The plug-in '${plugin.name}' of ${plugin.distribution} (stepscope.panels) failed: ${doing}: ${message}`;
}

function failed(plugin: PluginPage, doing: string, error: unknown): string {
  const sentence = sentenceOf(plugin, doing, error);
  console.warn(sentence, error);
  return sentence;
}

/** Runs an action of a plug-in; its failure is shown on the page. */
async function guarded<T>(plugin: PluginPage, doing: string, act: () => T): Promise<Awaited<T> | undefined> {
  try {
    return await act();
  } catch (error) {
    if (!isAbort(error)) tellFailures([failed(plugin, doing, error)]);
  }
}

/** The plug-in whose file appears in an address or a stack trace. */
const ownerOf = (text: string): PluginPage | undefined =>
  plugins.get(/\/plugins\/([a-z0-9_]+)\/[0-9a-f]+\//.exec(text)?.[1] ?? "");

function hearUncaught(): void {
  window.addEventListener("error", (event) => {
    // The page's own functions throw, too, when they are called with something wrong.
    const stack = event.error instanceof Error ? event.error.stack : "";
    const plugin = ownerOf(`${event.filename} ${stack}`);
    if (plugin) tellFailures([failed(plugin, "index.js", event.error ?? event.message)]);
  });
  window.addEventListener("unhandledrejection", ({ reason }) => {
    const plugin = ownerOf(reason instanceof Error ? reason.stack ?? "" : "");
    if (plugin && !isAbort(reason)) tellFailures([failed(plugin, "index.js", reason)]);
  });
}

// --- the interface for modules -------------------------------------------------------------------------------

const settingsOf = (plugin: PluginPage) => {
  const all = new Map(plugin.settings.map((facts) => [facts.name, settingOf(facts)]));
  return (short: string) => {
    const found = all.get(`${plugin.name}.${short}`);
    if (!found) {
      throw new Error(`There is no setting ${plugin.name}.${short}; the panel declares its settings in Python`);
    }
    return found;
  };
};

function shownRuns(): ShownRun[] {
  const on = [...runs.rows.values()].filter((row) => runs.isOn(row));
  return on.map((row) => ({ name: row.run, label: runs.label(row.run), color: row[scheme()] }));
}

const knownOf = (plugin: PluginPage): Listener["known"] => ({
  runs: JSON.stringify(shownRuns().map(({ name, label, color }) => [name, label, color])),
  settings: JSON.stringify(plugin.settings.map(({ name }) => view.values(name))),
});

const KEY = /^(Ctrl )?(Alt )?(Shift )?([^A-Z\s]| |[A-Z]\w+)$/;

/** The keys of a plug-in's command that it can have: those of the page stay as they are everywhere. */
function usableKeys(plugin: PluginPage, { title, keys = [] }: Command): string[] {
  const ofPage = all().filter(({ panel }) => !panel).flatMap(({ commands }) => commands);
  return keys.filter((key) => {
    const other = ofPage.find((command) => command.keys?.includes(key));
    const wrong = !KEY.test(key)
      ? `the key "${key}" is not valid: write keys as "s", "Shift ArrowLeft" or "Ctrl k"`
      : other && `the key "${key}" is taken on the whole page (${other.title}): choose another`;
    if (wrong) tellFailures([failed(plugin, title, new Error(wrong))]);
    return !wrong;
  });
}

function contextOf(plugin: PluginPage, signal: AbortSignal, everywhere: boolean): PluginContext {
  const api = new Api(`api/${plugin.name}`);
  const setting = settingsOf(plugin);
  return Object.freeze<PluginContext>({
    api: API,
    name: plugin.name,
    signal,
    revision: () => revision,
    scheme,
    runs: shownRuns,
    get: (name) => view.read(setting(name)),
    set(name, value, step) {
      const of = setting(name);
      view.write(of, accepted(of, value), step);
    },
    onChange(hear) {
      const listener = { plugin, hear, known: knownOf(plugin) };
      listeners.add(listener);
      signal.addEventListener("abort", () => listeners.delete(listener));
    },
    ask: (route, parameters = {}, how = {}) => api.ask(route, parameters, { signal, ...how }),
    address: (route, parameters = {}) => api.address(route, parameters),
    commands(commands) {
      const guardedCommands = commands.map((command): Command => ({
        ...command,
        id: `${plugin.name}.${command.id}`,
        keys: usableKeys(plugin, command),
        palette: plugin.name,
        act: (event) => {
          // A key that the act does not handle goes on to the next handler.
          try {
            const done = command.act(event);
            if (done instanceof Promise) return void guarded(plugin, command.title, () => done);
            return done;
          } catch (error) {
            tellFailures([failed(plugin, command.title, error)]);
          }
        },
      }));
      register({ panel: everywhere ? undefined : plugin.name, title: plugin.title, commands: guardedCommands }, signal);
    },
    say,
    open: () => view.open(plugin.name),
  });
}

function tellOne(listener: Listener, what: What): void {
  void guarded(listener.plugin, `its listener to ${what}`, () => listener.hear(what));
}

/** Tells each listener what has changed since it was last notified. */
function compare(): void {
  for (const listener of [...listeners]) {
    const now = knownOf(listener.plugin);
    const changed = (["runs", "settings"] as const).filter((what) => now[what] !== listener.known[what]);
    listener.known = now;
    changed.forEach((what) => tellOne(listener, what));
  }
}

export function tell(latest: number | null, failures: readonly string[] | null): void {
  if (failures) tellFailures(failures);
  if (latest !== null && latest !== revision) {
    revision = latest;
    for (const listener of [...listeners]) tellOne(listener, "data");
  }
}

// --- modules -------------------------------------------------------------------------------------------------

/** Waits until a style sheet has loaded or failed to load. */
const styled = (address: string): Promise<void> =>
  new Promise((done) => {
    const link = make("link", { rel: "stylesheet", href: address });
    link.addEventListener("load", () => done());
    link.addEventListener("error", () => done());
    document.head.append(link);
  });

async function imported(address: string): Promise<Module> {
  try {
    return await import(address);
  } catch (error) {
    // What browsers say of a module that is not there names the one that imports it.
    if (!(error instanceof TypeError)) throw error;
    throw new Error(
      "index.js, or a module that it imports, cannot be loaded: import only modules in the panel's folder, by " +
        `relative paths (./chart.js). ${error.message}`,
    );
  }
}

async function fetched(plugin: PluginPage): Promise<Module> {
  const address = new URL(plugin.script!, document.baseURI).href;
  const [module] = await Promise.all([imported(address), plugin.style && styled(plugin.style)]);
  if (module.api === undefined) throw new Error(`index.js does not export api: add "export const api = ${API};"`);
  if (module.api !== API) {
    throw new Error(`index.js is for version ${String(module.api)} of the page's API; this page has version ${API}`);
  }
  return module;
}

function moduleOf(plugin: PluginPage): Promise<Module> {
  const found = modules.get(plugin.name) ?? fetched(plugin);
  modules.set(plugin.name, found);
  return found;
}

interface Mounted {
  element: HTMLElement;
  name: string;
  ends: AbortController;
  cleanUp: unknown;
}
let mounted: Mounted | null = null;

function unmount(): void {
  if (!mounted) return;
  const { element, name, ends, cleanUp } = mounted;
  mounted = null;
  ends.abort();
  if (typeof cleanUp === "function") void guarded(plugins.get(name)!, "clean-up", () => cleanUp());
  // React may give the same element to the next panel.
  element.replaceChildren();
}

async function mount(element: HTMLElement, plugin: PluginPage): Promise<void> {
  const mine: Mounted = { element, name: plugin.name, ends: new AbortController(), cleanUp: null };
  mounted = mine;
  element.setAttribute("aria-busy", "true");
  try {
    const module = await moduleOf(plugin);
    if (mounted !== mine) return;
    if (!module.mount) throw new Error("index.js does not export a function named mount");
    const cleanUp = await module.mount(element, contextOf(plugin, mine.ends.signal, false));
    if (mounted === mine) mine.cleanUp = cleanUp;
    else if (typeof cleanUp === "function") await cleanUp();
  } catch (error) {
    if (mounted === mine && !isAbort(error)) noteIn(element, failed(plugin, "mount", error));
  } finally {
    element.removeAttribute("aria-busy");
  }
}

/** Replaces the panel's contents with its failure. */
function noteIn(element: HTMLElement, sentence: string): void {
  element.replaceChildren(
    make("div", { className: "notice plugin-failed", role: "alert" }, icon("alert", 20), make("p", {}, sentence)),
  );
}

/** Mounts the open panel's module into its element, and unmounts the one before. */
function look(): void {
  const element = document.querySelector<HTMLElement>("#panel [data-plugin]");
  const name = element?.dataset.plugin;
  if (mounted && (mounted.element !== element || mounted.name !== name)) unmount();
  const plugin = plugins.get(name ?? "");
  if (element && plugin?.script && !mounted) void mount(element, plugin);
}

export function begin(given: readonly PluginPage[]): void {
  for (const plugin of given) plugins.set(plugin.name, plugin);
  hearUncaught();
  onUndrawn((error) => {
    const plugin = plugins.get(chosen()?.name ?? "");
    if (!plugin) return;
    noteUndrawn();
    tellFailures([failed(plugin, "a component cannot be drawn", error)]);
  });
  view.onChange(compare);
  runs.onChange(compare);
  new MutationObserver(look).observe(document.body, {
    childList: true,
    subtree: true,
    attributes: true,
    attributeFilter: ["data-plugin"],
  });
  let before = scheme();
  new MutationObserver(() => {
    if (scheme() === before) return;
    before = scheme();
    for (const listener of [...listeners]) {
      listener.known = knownOf(listener.plugin);
      tellOne(listener, "scheme");
    }
  }).observe(document.documentElement, { attributes: true, attributeFilter: ["data-mantine-color-scheme"] });
  look();
  for (const plugin of given) if (plugin.at_start && plugin.script) void start(plugin);
  void new Api("api").ask<PluginsListed>("plugins", {}).then(({ failures }) => tellFailures(failures), () => {});
}

async function start(plugin: PluginPage): Promise<void> {
  await guarded(plugin, "start", async () => {
    const module = await moduleOf(plugin);
    await module.start?.(contextOf(plugin, new AbortController().signal, true));
  });
}
