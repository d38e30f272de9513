/** What Dash and its grid offer the page, and which of the page's functions they call by name. */
import { had } from "./lost_scripts.ts";
import { runtime } from "./old_generators.ts";

/** The id of a component: a string, or the parts of an id among many. */
export type Id = string | Record<string, string>;

export interface Trigger {
  /** The id (as JSON if it has parts), a dot, and the name of the property. */
  prop_id: string;
  value: unknown;
}

export interface CallbackContext {
  triggered: Trigger[];
  /** The id and value of each input, or a list of them if its id is a pattern. */
  inputs_list: unknown[];
}

// deno-lint-ignore no-explicit-any
export type Callback = (...values: any[]) => unknown;

interface Clientside {
  set_props(id: Id, props: Record<string, unknown>): void;
  no_update: unknown;
  callback_context: CallbackContext;
  [namespace: string]: unknown;
}

/** What Dash keeps of an error in the browser; only those of components that cannot be drawn have `info`. */
interface DashError {
  error: unknown;
  info?: unknown;
}

interface DashStore {
  getState(): { error: { frontEnd: readonly DashError[] } };
  subscribe(listener: () => void): unknown;
}

declare global {
  interface Window {
    dash_stores?: readonly DashStore[];
    dash_component_api?: { getLayout(id: Id): { props: Record<string, unknown> } | undefined };
    dash_clientside: Clientside;
    dashAgGridFunctions?: Record<string, Callback>;
    dashAgGridComponentFunctions?: Record<string, Callback>;
    DashRenderer: new () => unknown;
    regeneratorRuntime: typeof runtime;
  }
}

window.regeneratorRuntime = runtime;

/** Functions that grid columns refer to by name. */
export const gridFunctions: Record<string, Callback> = (window.dashAgGridFunctions ??= {});
/** Components that grid columns refer to by name. */
export const gridComponents: Record<string, Callback> = (window.dashAgGridComponentFunctions ??= {});

/** Adds functions that the server's callbacks refer to by name. */
export function callbacks(namespace: string, functions: Record<string, Callback>): void {
  window.dash_clientside ??= {} as Clientside;
  const all = window.dash_clientside;
  all[namespace] = Object.assign(all[namespace] ?? {}, functions);
}

/** Changes properties of a component and triggers the Dash callbacks that depend on them. */
export const setProps = (id: Id, props: Record<string, unknown>): void => window.dash_clientside.set_props?.(id, props);

/** The properties that a component has now, if it is on the page. */
export function propsOf(id: Id): Record<string, unknown> | undefined {
  try {
    return window.dash_component_api?.getLayout(id)?.props;
  } catch {
    // Dash searches for the position even of a component that it does not know.
    return undefined;
  }
}

/** Whether Dash is running yet. */
export const isReady = (): boolean => Boolean(window.dash_clientside.set_props);

/** Calls back when a Dash callback's request has failed, which Dash does not report. */
export function onFailedCallback(listener: () => void): void {
  new PerformanceObserver((requests) => {
    const isFailed = ({ name, responseStatus }: PerformanceResourceTiming) =>
      name.includes("/_dash-update-component") && (responseStatus === 0 || responseStatus >= 400);
    if ((requests.getEntries() as PerformanceResourceTiming[]).some(isFailed)) listener();
  }).observe({ type: "resource" });
}

/** Calls back with the error of each component that cannot be drawn, which Dash leaves empty and does not report. */
export function onUndrawn(listener: (error: unknown) => void): void {
  for (const store of window.dash_stores ?? []) {
    let known = 0;
    const look = () => {
      const { frontEnd } = store.getState().error;
      // The newest is first.
      const news = frontEnd.slice(0, frontEnd.length - known).reverse();
      known = frontEnd.length;
      news.filter(({ info }) => info).forEach(({ error }) => listener(error));
    };
    store.subscribe(look);
    look();
  }
}

/** The value that a callback returns to leave an output unchanged. */
export const noUpdate = (): unknown => window.dash_clientside.no_update;

/** The context of the callback that is running. */
export const callbackContext = (): CallbackContext => window.dash_clientside.callback_context;

/** The id of a setting's control (`setting_id` in dashboard/page/controls.py); Dash allows no dot in it. */
export const settingId = (name: string): Id => ({ type: "setting", name: name.replaceAll(".", ":") });

/**
 * Registers callbacks of a panel whose modules are loaded on its first visit.
 * @param load fetches the module that exports the functions; called at once if the page opens with the panel
 */
export function callbacksLater<const Name extends string>(
  panel: string,
  namespace: string,
  functions: readonly Name[],
  load: () => Promise<Record<Name, Callback>>,
): void {
  const later = (name: Name): Callback => async (...values) => (await had(load()))[name](...values);
  callbacks(namespace, Object.fromEntries(functions.map((name) => [name, later(name)])));
  if (new URLSearchParams(location.search).get("tab") === panel) void had(load());
}
