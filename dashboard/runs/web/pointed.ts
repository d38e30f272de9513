/** Runs that are pointed at elsewhere on the page; the table of runs marks their rows. */

let pointed: readonly string[] = [];
const listeners: ((changed: readonly string[]) => void)[] = [];

export const isPointed = (run: string): boolean => pointed.includes(run);

/** Marks the rows of these runs and no others. */
export function point(runs: readonly string[]): void {
  if (runs.length === pointed.length && runs.every(isPointed)) return;
  const changed = [...pointed, ...runs];
  pointed = runs;
  for (const listener of listeners) listener(changed);
}

/** Calls back with the runs that were marked or unmarked. */
export const onPoint = (listener: (changed: readonly string[]) => void): void => void listeners.push(listener);
