/** Lines through consecutive points: from a column that names the next row, or in the order of a column. */
import type { Column, Dataset, TextColumn } from "./data.ts";

/** Columns that name the next point, as in TensorBoard. */
export const NEXT_COLUMNS = ["__next__", "__seq_next__"];

/** Returns the pairs of rows that lines join. */
export async function pairsOf(dataset: Dataset, name: string): Promise<Uint32Array> {
  const column = await dataset.column(name);
  if (NEXT_COLUMNS.includes(name)) return following(await numbersOf(dataset, column), dataset.fileRows);
  if (column.kind === "text" && column.categories) return through(column);
  return ordered(await numbersOf(dataset, column));
}

const numberOf = (text: string) => (text.trim() === "" ? NaN : Number(text));

async function numbersOf(dataset: Dataset, column: Column): Promise<ArrayLike<number>> {
  if (column.kind === "number") return column.values ?? [];
  const { categories, values } = column;
  if (categories && values) return Float64Array.from(values, (code) => (code < 0 ? NaN : numberOf(categories[code])));
  const texts = await dataset.texts(column.name, Uint32Array.from({ length: dataset.count }, (_, row) => row));
  return Float64Array.from(texts, numberOf);
}

/**
 * @param numbers rows of the file
 * @param fileRows the points' rows in the file, if some were left out
 */
export function following(numbers: ArrayLike<number>, fileRows: Uint32Array | null): Uint32Array {
  const pairs: number[] = [];
  const places = fileRows && new Map(Array.from(fileRows, (number, row) => [number, row]));
  for (let row = 0; row < numbers.length; row += 1) {
    const next = places ? places.get(numbers[row]) ?? -1 : numbers[row];
    if (Number.isInteger(next) && next >= 0 && next < numbers.length && next !== row) pairs.push(row, next);
  }
  return Uint32Array.from(pairs);
}

/** One line through each category, in row order. */
export function through({ values }: Pick<TextColumn, "values">): Uint32Array {
  const pairs: number[] = [];
  const last = new Map<number, number>();
  values?.forEach((code, row) => {
    if (code < 0) return;
    const before = last.get(code);
    if (before !== undefined) pairs.push(before, row);
    last.set(code, row);
  });
  return Uint32Array.from(pairs);
}

/** One line through all numbers in ascending order. */
export function ordered(numbers: ArrayLike<number>): Uint32Array {
  const rows = Array.from(numbers, (_, row) => row).filter((row) => Number.isFinite(numbers[row]))
    .sort((a, b) => numbers[a] - numbers[b] || a - b);
  return Uint32Array.from(rows.slice(1).flatMap((row, at) => [rows[at], row]));
}

/**
 * Colors each line like the point it begins at.
 * @param rgba colors of the points
 */
export function colorsOf(pairs: Uint32Array, rgba: Uint8Array) {
  const out = new Uint8Array(pairs.length * 2);
  for (let line = 0; line < pairs.length / 2; line += 1) {
    out.set([rgba[pairs[line * 2] * 4], rgba[pairs[line * 2] * 4 + 1], rgba[pairs[line * 2] * 4 + 2], 150], line * 4);
  }
  return out;
}
