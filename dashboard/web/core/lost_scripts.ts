/** Scripts that failed to load. Whatever needs one stays empty, since neither browsers nor Dash request it again. */

const listeners: (() => void)[] = [];

/** Calls back whenever a script, or a module that is imported later, failed to load. */
export const onLostScript = (listener: () => void): void => void listeners.push(listener);

const tell = (): void => listeners.forEach((listener) => listener());

addEventListener("error", ({ target }) => {
  // Errors of scripts that did load go to the window itself.
  if (target instanceof HTMLScriptElement) tell();
}, true);

/** Awaits modules that are imported later, and notifies the listeners if they failed to load. */
export async function had<Modules>(modules: Promise<Modules>): Promise<Modules> {
  try {
    return await modules;
  } catch (error) {
    // In every browser, a module that cannot be fetched is a TypeError; any other error comes from a loaded module.
    if (error instanceof TypeError) tell();
    throw error;
  }
}
