// @ts-nocheck
/** What points are coloured and sized by: a column, or how far the picture can be trusted at each of them. */
import { format } from "./parts.ts";
import { theme as projectorTheme } from "./theme.ts";

/** Whole numbers of so few different values are taken for categories unless somebody says otherwise. */
const FEW = 20;
const MOST_CATEGORIES = 1000;

/** Measures of a picture, per point. */
export const TRUST = {
  "@trustworthiness": ["Trustworthiness", "Low where the picture shows neighbours that are none."],
  "@continuity": ["Continuity", "Low where the picture tears neighbours apart."],
  "@hit": ["Neighbourhood hit", "Share of the neighbours in the picture that have the point's own value."],
  "@kept": ["Neighbours kept", "Share of the neighbours in the data that are neighbours in the picture too."],
};

export interface Colouring {
  sort: "none" | "categories" | "scale";
  title: string;
  /** of categories, -1 where there is none */
  codes: Int32Array | null;
  /** categories, the most frequent first; those at place -1 are grey */
  entries: { label: string; code: number; count: number; place: number }[];
  numbers: Float32Array | Float64Array | null;
  minimum: number;
  maximum: number;
  /** points without a value */
  missing: number;
  note: string;
}

export const nothing = (title: string, note: string = ""): Colouring => ({
  sort: "none",
  title,
  codes: null,
  entries: [],
  numbers: null,
  minimum: 0,
  maximum: 0,
  missing: 0,
  note,
});

function byCategory(title: string, codes: Int32Array, categories: string[]): Colouring {
  const counts = new Int32Array(categories.length);
  let missing = 0;
  for (let row = 0; row < codes.length; row += 1) {
    if (codes[row] >= 0) counts[codes[row]] += 1;
    else missing += 1;
  }
  const order = [...counts.keys()].filter((code) => counts[code]).sort((a, b) => counts[b] - counts[a] || a - b);
  const { MOST_COLOURS } = projectorTheme;
  const coloured = order.slice(0, MOST_COLOURS);
  // By name among those of a colour: the same category keeps its colour when counts change a little.
  const named = [...coloured].sort((a, b) => compare(categories[a], categories[b]));
  const places = new Map(named.map((code, place) => [code, place]));
  const entries = order.map((code) => ({
    label: categories[code],
    code,
    count: counts[code],
    place: places.get(code) ?? -1,
  }));
  if (entries.length <= MOST_COLOURS) entries.sort((a, b) => a.place - b.place);
  const note = order.length > MOST_COLOURS
    ? `The ${MOST_COLOURS} largest of ${format.integer(order.length)} have a colour; the others are grey.`
    : "";
  return { sort: "categories", title, codes, entries, numbers: null, minimum: 0, maximum: 0, missing, note };
}

const compare = (a: string, b: string) => a.localeCompare(b, "en", { numeric: true });

export function byNumber(
  title: string,
  numbers: Float32Array | Float64Array,
  ends: [number, number] | null = null,
): Colouring {
  let [minimum, maximum, missing] = [Infinity, -Infinity, 0];
  for (const value of numbers) {
    if (!Number.isFinite(value)) missing += 1;
    else {
      if (value < minimum) minimum = value;
      if (value > maximum) maximum = value;
    }
  }
  if (minimum > maximum) return { ...nothing(title, "There is no number in this column."), missing };
  if (ends) [minimum, maximum] = ends;
  return { sort: "scale", title, codes: null, entries: [], numbers, minimum, maximum, missing, note: "" };
}

/** Codes and texts of the different numbers; null where there are too many. */
function distinct(numbers: Float32Array | Float64Array, most: number) {
  const found: Map<number, number> = new Map();
  for (const value of numbers) {
    if (!Number.isNaN(value) && !found.has(value)) found.set(value, found.size);
    if (found.size > most) return null;
  }
  return {
    categories: [...found.keys()].map((value) => format.number(value)),
    codes: Int32Array.from(numbers, (value) => found.get(value) ?? -1),
  };
}

/**
 * How a column colours the points.
 * @param column of projector_data.js
 * @param categorical "auto", "on" or "off"
 */
export function ofColumn(column: any, categorical: string): Colouring {
  const { name, kind, categories, values } = column;
  if (kind === "text") {
    if (!categories || !values) return nothing(name, "Too many different values for colours.");
    return byCategory(name, values, categories);
  }
  if (!values) return nothing(name, "There is no number in this column.");
  const whole = categorical === "auto" &&
    values.every((value: number) => Number.isInteger(value) || Number.isNaN(value));
  if (categorical === "on" || whole) {
    const found = distinct(values, categorical === "on" ? MOST_CATEGORIES : FEW);
    if (found) return byCategory(name, found.codes, found.categories);
    if (categorical === "on") {
      return {
        ...byNumber(name, values),
        note: `More than ${format.integer(MOST_CATEGORIES)} different numbers: shown as a scale.`,
      };
    }
  }
  return byNumber(name, values);
}

/** @param off codes that are switched off */
export function rgba(colouring: Colouring, theme: any, count: number) {
  const out = new Uint8Array(count * 4);
  const put = (row: number, colour: number[]) => {
    out[row * 4] = colour[0];
    out[row * 4 + 1] = colour[1];
    out[row * 4 + 2] = colour[2];
    out[row * 4 + 3] = 255;
  };
  const { codes, numbers, minimum, maximum } = colouring;
  if (codes) {
    const colours: number[][] = [];
    for (const entry of colouring.entries) {
      colours[entry.code] = entry.place < 0 ? theme.grey : theme.category(entry.place);
    }
    for (let row = 0; row < count; row += 1) put(row, colours[codes[row]] ?? theme.grey);
  } else if (numbers) {
    const steps = Array.from({ length: 256 }, (_, at) => theme.scale(at / 255));
    const by = maximum > minimum ? 255 / (maximum - minimum) : 0;
    for (let row = 0; row < count; row += 1) {
      const value = numbers[row];
      put(
        row,
        Number.isFinite(value) ? steps[Math.min(Math.max(Math.round((value - minimum) * by), 0), 255)] : theme.grey,
      );
    }
  } else for (let row = 0; row < count; row += 1) put(row, theme.plain);
  return out;
}

export function quantile(numbers: Float32Array, share: number) {
  const sorted = numbers.filter((value) => Number.isFinite(value)).sort();
  return sorted.length ? sorted[Math.floor((sorted.length - 1) * share)] : 0;
}

/** Numbers from 0 to 1; what has none is smallest. */
export function sizes(numbers: Float32Array | Float64Array) {
  const { minimum, maximum } = byNumber("", numbers);
  const by = maximum > minimum ? 1 / (maximum - minimum) : 0;
  return Float32Array.from(numbers, (value) => (Number.isFinite(value) ? (by ? (value - minimum) * by : 0.5) : 0));
}
