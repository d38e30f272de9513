/** The panel's list settings: entries "column:rest", with "%" and ":" escaped in names. */

import type { Column } from "./messages.generated.ts";

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

/** The values of each column that entries "column:value" name. */
export function valuesIn(entries: readonly string[]): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const entry of entries) {
    const [key, value] = entry.split(":").map(decoded);
    if (value !== undefined) found.set(key, (found.get(key) ?? new Set()).add(value));
  }
  return found;
}

export const valueEntries = (values: ReadonlyMap<string, ReadonlySet<string>>): string[] =>
  [...values].flatMap(([key, values]) => [...values].map((value) => `${coded(key)}:${coded(value)}`));

/** A column, and how many different values it has: more than are listed, perhaps. */
type Filtered = Pick<Column, "key" | "count">;

/** By column, the values that pass, or instead those that do not; columns in neither are not filtered. */
export interface ValueFilters {
  allowed: Map<string, Set<string>>;
  excluded: Map<string, Set<string>>;
}

export const passes = ({ allowed, excluded }: ValueFilters, key: string, value: string): boolean =>
  allowed.get(key)?.has(value) ?? !excluded.get(key)?.has(value);

/** Lets a value of a column pass, or stops it; the column's other values are treated as before. */
export function letPass({ allowed, excluded }: ValueFilters, column: Filtered, value: string, on: boolean): void {
  const filter = allowed.has(column.key) ? allowed : excluded;
  const values = filter.get(column.key) ?? new Set();
  if (on === (filter === allowed)) values.add(value);
  else values.delete(value);
  // A filter that all or none of the values pass is none.
  if (values.size && values.size !== column.count) filter.set(column.key, values);
  else filter.delete(column.key);
}
