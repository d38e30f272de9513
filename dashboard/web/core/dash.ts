/** What Dash and its grid offer the page, and what they call of it by name. */
import { had } from "./lost_scripts.ts";
import { runtime } from "./old_generators.ts";

/** The id of a component: a text, or the parts of one among many. */
export type Id = string | Record<string, string>;

export interface Trigger {
  /** The id, as JSON where it has parts, a dot, and the name of the property. */
  prop_id: string;
  value: unknown;
}

export interface CallbackContext {
  triggered: Trigger[];
  /** Of each input its id and value, or a list of them where its id is a pattern. */
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

declare global {
  interface Window {
    dash_component_api?: { getLayout(id: Id): { props: Record<string, unknown> } | undefined };
    dash_clientside: Clientside;
    dashAgGridFunctions?: Record<string, Callback>;
    dashAgGridComponentFunctions?: Record<string, Callback>;
    DashRenderer: new () => unknown;
    regeneratorRuntime: typeof runtime;
  }
}

window.regeneratorRuntime = runtime;

/** Functions that columns of grids name. */
export const gridFunctions: Record<string, Callback> = (window.dashAgGridFunctions ??= {});
/** Components that columns of grids name. */
export const gridComponents: Record<string, Callback> = (window.dashAgGridComponentFunctions ??= {});

/** Adds functions that callbacks of the server name. */
export function callbacks(namespace: string, functions: Record<string, Callback>): void {
  window.dash_clientside ??= {} as Clientside;
  const all = window.dash_clientside;
  all[namespace] = Object.assign(all[namespace] ?? {}, functions);
}

/** Gives a component other properties, of which Dash's callbacks hear. */
export const setProps = (id: Id, props: Record<string, unknown>): void => window.dash_clientside.set_props?.(id, props);

/** The properties that a component has now, if it is on the page. */
export function propsOf(id: Id): Record<string, unknown> | undefined {
  try {
    return window.dash_component_api?.getLayout(id)?.props;
  } catch {
    // Dash looks for the place of a component that it does not know.
    return undefined;
  }
}

/** Whether Dash runs yet. */
export const isReady = (): boolean => Boolean(window.dash_clientside.set_props);

/** Calls back when a request of Dash's callbacks failed, which Dash tells nobody. */
export function onFailedCallback(listener: () => void): void {
  new PerformanceObserver((requests) => {
    const isFailed = ({ name, responseStatus }: PerformanceResourceTiming) =>
      name.includes("/_dash-update-component") && (responseStatus === 0 || responseStatus >= 400);
    if ((requests.getEntries() as PerformanceResourceTiming[]).some(isFailed)) listener();
  }).observe({ type: "resource" });
}

/** What a callback returns for an output that stays as it is. */
export const noUpdate = (): unknown => window.dash_clientside.no_update;

/** What the callback that runs was called for. */
export const callbackContext = (): CallbackContext => window.dash_clientside.callback_context;

/** The id of the control of a setting (`setting_id` of dashboard/page/controls.py): Dash takes no dot in it. */
export const settingId = (name: string): Id => ({ type: "setting", name: name.replaceAll(".", ":") });

/**
 * Callbacks of a panel whose modules come with its first visit.
 * @param load fetches the module that exports the functions; at once where the page begins with the panel
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
