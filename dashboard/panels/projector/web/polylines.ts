/** Lines through points that follow each other: by a column with the next row, or in the order of a column. */

/**
 * Pairs of rows that a line joins.
 * @param dataset of projector_data.js
 * @param next whether the column has the next row's number
 */
export async function pairsOf(dataset: any, name: string, next: boolean) {
  const column = await dataset.column(name);
  const numbers = await numbersOf(dataset, column);
  return next ? following(numbers, dataset.fileRows) : ordered(column, numbers);
}

async function numbersOf(dataset: any, column: any) {
  if (column.kind === "number") return column.values;
  if (column.categories) {
    return Float64Array.from(
      column.values,
      (code: number) => (code < 0 || column.categories[code].trim() === "" ? NaN : Number(column.categories[code])),
    );
  }
  const texts = await dataset.texts(column.name, Uint32Array.from({ length: dataset.count }, (_, row) => row));
  return Float64Array.from(texts, (text: string) => (text.trim() === "" ? NaN : Number(text)));
}

/**
 * @param numbers rows of the file
 * @param fileRows where some were left out, those of the points
 */
function following(numbers: ArrayLike<number>, fileRows: Uint32Array | null) {
  const pairs = [];
  const places = fileRows && new Map(Array.from(fileRows, (number, row) => [number, row]));
  for (let row = 0; row < numbers.length; row += 1) {
    const next = places ? places.get(numbers[row]) ?? -1 : numbers[row];
    if (Number.isInteger(next) && next >= 0 && next < numbers.length && next !== row) pairs.push(row, next);
  }
  return Uint32Array.from(pairs);
}

/** Numbers: one line in their order. Categories: one line through each, in the order of the rows. */
function ordered(column: any, numbers: ArrayLike<number>) {
  const pairs = [];
  if (column.kind === "text" && column.categories) {
    const last = new Map();
    for (let row = 0; row < column.values.length; row += 1) {
      const code = column.values[row];
      if (code < 0) continue;
      if (last.has(code)) pairs.push(last.get(code), row);
      last.set(code, row);
    }
  } else {
    const rows = Array.from(numbers, (_, row) => row).filter((row) => Number.isFinite(numbers[row])).sort((a, b) =>
      numbers[a] - numbers[b] || a - b
    );
    for (let at = 1; at < rows.length; at += 1) pairs.push(rows[at - 1], rows[at]);
  }
  return Uint32Array.from(pairs);
}

/**
 * Each line in the color of the point that it begins at.
 * @param rgba of the points
 */
export function colorsOf(pairs: Uint32Array, rgba: Uint8Array) {
  const out = new Uint8Array(pairs.length * 2);
  for (let line = 0; line < pairs.length / 2; line += 1) {
    out.set([rgba[pairs[line * 2] * 4], rgba[pairs[line * 2] * 4 + 1], rgba[pairs[line * 2] * 4 + 2], 150], line * 4);
  }
  return out;
}

/** Columns that say which point comes next, as TensorBoard has them. */
export const NEXT_COLUMNS = ["__next__", "__seq_next__"];
