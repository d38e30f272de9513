// The order that the user gave to cards or sections, as a list in the address: pure functions.

/**
 * Lists entries up to the last one that was ever moved: those after it stay in their default order, which continues
 * with new entries.
 * @param list the list so far; entries that are elsewhere keep their places in it
 * @param entries in their new order
 * @param to the place of the entry that has just been moved
 */
export function listed(list: readonly string[], entries: readonly string[], to: number): string[] {
  const last = Math.max(to, ...list.map((entry) => entries.indexOf(entry)));
  const rest = entries.slice(0, last + 1);
  const own = new Set(rest);
  return [...list.map((entry) => (own.has(entry) ? rest.shift() ?? entry : entry)), ...rest];
}
