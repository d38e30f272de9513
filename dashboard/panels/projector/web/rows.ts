/** Rows of points, as written in the address. */

const MOST_ROWS_TEXT = 6000;

/** Writes rows as "0-5,9"; null if that is too long, by default for an address. */
export function writeRows(rows: ArrayLike<number>, most = MOST_ROWS_TEXT): string | null {
  const sorted = Uint32Array.from(rows).sort();
  const parts: string[] = [];
  for (let at = 0; at < sorted.length;) {
    let end = at;
    while (end + 1 < sorted.length && sorted[end + 1] === sorted[end] + 1) end += 1;
    parts.push(end > at ? `${sorted[at]}-${sorted[end]}` : String(sorted[at]));
    at = end + 1;
    if (parts.length > most / 2) return null;
  }
  const text = parts.join(",");
  return text.length > most ? null : text;
}

/** @param count rows beyond it are left out */
export function readRows(text: string, count: number): Uint32Array {
  const rows = new Set<number>();
  for (const part of text.split(",")) {
    const found = /^(\d+)(?:-(\d+))?$/.exec(part);
    if (!found) continue;
    const last = Math.min(Number(found[2] ?? found[1]), count - 1);
    for (let row = Number(found[1]); row <= last; row += 1) rows.add(row);
  }
  return Uint32Array.from(rows).sort();
}

/** Some points, as the route "project" expects them. */
export type RowsSpec = { rows: number[] } | { q: string; match: "text" | "regex"; in: string };

/** Parses one end of a custom axis: "text:king", "regex:^k", "rows:1-3". */
export function rowsSpec(text: string, column: string, count: number): RowsSpec | null {
  const [sort, rest] = [text.slice(0, text.indexOf(":")), text.slice(text.indexOf(":") + 1)];
  if (!rest) return null;
  return sort === "rows"
    ? { rows: [...readRows(rest, count)] }
    : { q: rest, match: sort === "regex" ? "regex" : "text", in: column || "*" };
}
