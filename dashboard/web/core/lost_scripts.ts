/** Scripts that could not be loaded. What needs one stays empty, since neither browsers nor Dash ask for it again. */

const listeners: (() => void)[] = [];

/** Calls back whenever a script, or a module that is imported later, could not be loaded. */
export const onLostScript = (listener: () => void): void => void listeners.push(listener);

const tell = (): void => listeners.forEach((listener) => listener());

addEventListener("error", ({ target }) => {
  // Errors of scripts that came are told to the window itself.
  if (target instanceof HTMLScriptElement) tell();
}, true);

/** Awaits modules that are imported later, and tells where they could not be loaded. */
export async function had<Modules>(modules: Promise<Modules>): Promise<Modules> {
  try {
    return await modules;
  } catch (error) {
    // That a module cannot be fetched is a TypeError in every browser; what its own code throws has come.
    if (error instanceof TypeError) tell();
    throw error;
  }
}
