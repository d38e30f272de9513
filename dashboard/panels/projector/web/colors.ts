/** Colors and sizes of points: by a column, or by how far the picture can be trusted at each point. */
import { integer } from "../../../web/core/numbers.ts";
import { MOST_COLORS, type Paints } from "./theme.ts";
import type { Rgb } from "../../../web/core/color.ts";
import type { Column } from "./data.ts";

/** Whole numbers with at most this many different values count as categories, unless the user chooses otherwise. */
const FEW = 20;
const MOST_CATEGORIES = 1000;

/** Measures of a picture, per point. */
export const TRUST: Record<string, [title: string, about: string]> = {
  "@trustworthiness": ["Trustworthiness", "Low where the view shows false neighbors."],
  "@continuity": ["Continuity", "Low where the view separates true neighbors."],
  "@hit": ["Neighborhood hit", "Share of neighbors in the view with the same value as the point."],
  "@kept": ["Neighbors kept", "Share of the neighbors in the data that are also neighbors in the view."],
};

export type Numbers = Float32Array | Float64Array;

/** A category in the legend; place -1 is gray. */
export interface Entry {
  label: string;
  code: number;
  count: number;
  place: number;
}

export interface Coloring {
  sort: "none" | "categories" | "scale";
  title: string;
  /** of categories, -1 for none */
  codes: Int32Array | null;
  /** categories, the most frequent first */
  entries: Entry[];
  numbers: Numbers | null;
  minimum: number;
  maximum: number;
  /** points without a value */
  missing: number;
  note: string;
}

export const nothing = (title: string, note: string = ""): Coloring => ({
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

function byCategory(title: string, codes: Int32Array, categories: string[]): Coloring {
  const counts = new Int32Array(categories.length);
  let missing = 0;
  for (let row = 0; row < codes.length; row += 1) {
    if (codes[row] >= 0) counts[codes[row]] += 1;
    else missing += 1;
  }
  const order = [...counts.keys()].filter((code) => counts[code]).sort((a, b) => counts[b] - counts[a] || a - b);
  const colored = order.slice(0, MOST_COLORS);
  // Colored categories are ordered by name, so that each keeps its color when counts change a little.
  const named = [...colored].sort((a, b) => compare(categories[a], categories[b]));
  const places = new Map(named.map((code, place) => [code, place]));
  const entries = order.map((code) => ({
    label: categories[code],
    code,
    count: counts[code],
    place: places.get(code) ?? -1,
  }));
  if (entries.length <= MOST_COLORS) entries.sort((a, b) => a.place - b.place);
  const note = order.length > MOST_COLORS
    ? `The ${MOST_COLORS} largest of ${integer(order.length)} have a color; the others are gray.`
    : "";
  return { sort: "categories", title, codes, entries, numbers: null, minimum: 0, maximum: 0, missing, note };
}

const compare = (a: string, b: string) => a.localeCompare(b, "en", { numeric: true });

export function byNumber(
  title: string,
  numbers: Numbers,
  ends: [number, number] | null = null,
): Coloring {
  let [minimum, maximum, missing] = [Infinity, -Infinity, 0];
  for (const value of numbers) {
    if (!Number.isFinite(value)) missing += 1;
    else {
      if (value < minimum) minimum = value;
      if (value > maximum) maximum = value;
    }
  }
  if (minimum > maximum) return { ...nothing(title, "This column has no numbers."), missing };
  if (ends) [minimum, maximum] = ends;
  return { sort: "scale", title, codes: null, entries: [], numbers, minimum, maximum, missing, note: "" };
}

/** Codes and texts of the distinct numbers; null if there are too many. */
function distinct(numbers: Numbers, most: number) {
  const found: Map<number, number> = new Map();
  for (const value of numbers) {
    if (!Number.isNaN(value) && !found.has(value)) found.set(value, found.size);
    if (found.size > most) return null;
  }
  return {
    categories: [...found.keys()].map(String),
    codes: Int32Array.from(numbers, (value) => found.get(value) ?? -1),
  };
}

function wholeOnly(numbers: Numbers): boolean {
  for (const value of numbers) if (!Number.isInteger(value) && !Number.isNaN(value)) return false;
  return true;
}

/** How a column colors the points; a few whole numbers count as categories unless this is set to "on" or "off". */
export function ofColumn(column: Column, categorical: string): Coloring {
  const { name } = column;
  if (column.kind === "text") {
    const { categories, values } = column;
    if (!categories || !values) return nothing(name, "Too many different values to color by.");
    return byCategory(name, values, categories);
  }
  const { values } = column;
  if (!values) return nothing(name, "This column has no numbers.");
  const whole = categorical === "auto" && wholeOnly(values);
  if (categorical === "on" || whole) {
    const found = distinct(values, categorical === "on" ? MOST_CATEGORIES : FEW);
    if (found) return byCategory(name, found.codes, found.categories);
    if (categorical === "on") {
      return {
        ...byNumber(name, values),
        note: `More than ${integer(MOST_CATEGORIES)} different numbers: shown as a scale.`,
      };
    }
  }
  return byNumber(name, values);
}

/** @param off codes that are switched off */
export function rgba(coloring: Coloring, paints: Paints, count: number) {
  const out = new Uint8Array(count * 4);
  const put = (row: number, color: Rgb) => {
    out[row * 4] = color[0];
    out[row * 4 + 1] = color[1];
    out[row * 4 + 2] = color[2];
    out[row * 4 + 3] = 255;
  };
  const { codes, numbers, minimum, maximum } = coloring;
  if (codes) {
    const colors: Rgb[] = [];
    for (const entry of coloring.entries) {
      colors[entry.code] = entry.place < 0 ? paints.gray : paints.category(entry.place);
    }
    for (let row = 0; row < count; row += 1) put(row, colors[codes[row]] ?? paints.gray);
  } else if (numbers) {
    const steps = Array.from({ length: 256 }, (_, at) => paints.scale(at / 255));
    const by = maximum > minimum ? 255 / (maximum - minimum) : 0;
    for (let row = 0; row < count; row += 1) {
      const value = numbers[row];
      put(
        row,
        Number.isFinite(value) ? steps[Math.min(Math.max(Math.round((value - minimum) * by), 0), 255)] : paints.gray,
      );
    }
  } else for (let row = 0; row < count; row += 1) put(row, paints.plain);
  return out;
}

export function quantile(numbers: Float32Array, share: number) {
  const sorted = numbers.filter((value) => Number.isFinite(value)).sort();
  return sorted.length ? sorted[Math.floor((sorted.length - 1) * share)] : 0;
}

/** Scales numbers to 0..1; missing values are smallest. */
export function sizes(numbers: Numbers) {
  const { minimum, maximum } = byNumber("", numbers);
  const by = maximum > minimum ? 1 / (maximum - minimum) : 0;
  return Float32Array.from(numbers, (value) => (Number.isFinite(value) ? (by ? (value - minimum) * by : 0.5) : 0));
}
