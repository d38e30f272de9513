/** The panel's list settings: entries "column:rest", with "%" and ":" escaped in names. */

/** A name as written before or between colons; Python's `unquote` reads it. */
export const coded = (name: string): string => name.replace(/[%:]/g, encodeURIComponent);

export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The rest of each entry by column, as written. */
export function pairsIn(entries: readonly string[]): Map<string, string> {
  const found = new Map<string, string>();
  for (const entry of entries) {
    const at = entry.indexOf(":");
    if (at >= 0) found.set(decoded(entry.slice(0, at)), entry.slice(at + 1));
  }
  return found;
}

/** The entries of a map, without the empty ones. */
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
