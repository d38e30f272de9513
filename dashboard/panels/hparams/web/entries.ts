/** List settings of the panel: entries "column:rest", names with "%" and ":" escaped. */

/** A name as it stands before or between colons; Python's `unquote` reads it. */
export const coded = (name: string): string => name.replace(/[%:]/g, encodeURIComponent);

export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** By column the rest, as it stands there. */
export function pairsIn(entries: readonly string[]): Map<string, string> {
  const found = new Map<string, string>();
  for (const entry of entries) {
    const at = entry.indexOf(":");
    if (at >= 0) found.set(decoded(entry.slice(0, at)), entry.slice(at + 1));
  }
  return found;
}

/** Entries of a map; none for what is empty. */
export const pairEntries = (pairs: ReadonlyMap<string, string>): string[] =>
  [...pairs].filter(([, rest]) => rest).map(([column, rest]) => `${coded(column)}:${rest}`);

/** Values that pass, by column; columns without an entry are not filtered. */
export function allowedIn(entries: readonly string[]): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const entry of entries) {
    const [key, value] = entry.split(":").map(decoded);
    if (value !== undefined) found.set(key, (found.get(key) ?? new Set()).add(value));
  }
  return found;
}

export const allowedEntries = (allowed: ReadonlyMap<string, ReadonlySet<string>>): string[] =>
  [...allowed].flatMap(([key, values]) => [...values].map((value) => `${coded(key)}:${coded(value)}`));
