/**
 * The typed contents of the page's address: the counterpart of dashboard/page/state.py. Each room's and panel's
 * `settings.generated.ts` is generated from its settings in Python.
 */

export interface Setting<T> {
  /** The name of the parameter: "images.width". */
  readonly name: string;
  readonly default: T;
  /** Parses a parameter's values; returns the default if they are invalid. */
  parse(values: readonly string[]): T;
  format(value: T): string[];
}

/**
 * For choices that are kept beside the address: `differs` tells whether `said`, what the address says about them, has
 * changed since it was last called, or since `note` was called after writing them.
 */
export function noted(said: () => unknown): { differs: () => boolean; note: () => void } {
  let known = "";
  const note = () => void (known = JSON.stringify(said()));
  const differs = () => {
    const before = known;
    note();
    return known !== before;
  };
  return { differs, note };
}

/** The type of a setting's value. */
export type ValueOf<S> = S extends Setting<infer T> ? T : never;

export interface Choice<T extends string> extends Setting<T> {
  readonly options: readonly T[];
}

export interface NumberSetting extends Setting<number> {
  readonly least: number;
  readonly largest: number;
}

const last = (values: readonly string[]): string => values[values.length - 1];

export const text = (name: string, standard: string): Setting<string> => ({
  name,
  default: standard,
  parse: (values) => (values.length ? last(values) : standard),
  format: (value) => [value],
});

/** Any number of texts. */
export const names = (name: string): Setting<readonly string[]> => ({
  name,
  default: [],
  parse: (values) => values,
  format: (value) => [...value],
});

/** A list of `KEY:VALUE` entries in which a key has another value, or none. */
export function withValue(entries: readonly string[], key: string, value: number | null): string[] {
  const others = entries.filter((entry) => entry.slice(0, entry.lastIndexOf(":")) !== key);
  return value === null ? others : [...others, `${key}:${value}`];
}

export const flag = (name: string, standard: boolean): Setting<boolean> => ({
  name,
  default: standard,
  parse: (values) => (values.length && ["on", "off"].includes(last(values)) ? last(values) === "on" : standard),
  format: (value) => [value ? "on" : "off"],
});

export const choice = <const T extends string>(
  name: string,
  standard: NoInfer<T>,
  options: readonly T[],
): Choice<T> => ({
  name,
  default: standard,
  options,
  parse: (values) => options.find((option) => values.length && option === last(values)) ?? standard,
  format: (value) => [value],
});

export const number = (name: string, standard: number, least: number, largest: number): NumberSetting => ({
  name,
  default: standard,
  least,
  largest,
  parse(values) {
    const value = values.length && last(values).trim() ? Number(last(values)) : NaN;
    return value >= least && value <= largest ? value : standard;
  },
  format: (value) => [String(Number(value.toPrecision(6)))],
});
