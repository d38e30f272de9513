/** Sorts the rows of tables. */

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** The number in a cell, which may have commas, a sign or a percent sign; NaN if there is none. */
export function numeric(text: string): number {
  if (!/^[-+\u2212]?(\d[\d,_ ]*)?\.?\d*(e[-+]?\d+)?\s*%?$/i.test(text) || !/\d/.test(text)) return NaN;
  return Number(text.replace(/[,_ %]/g, "").replace("\u2212", "-"));
}

/** Compares cells; numbers come before words. */
export function compare(one: string, other: string): number {
  const [a, b] = [numeric(one), numeric(other)];
  if (!Number.isNaN(a) && !Number.isNaN(b)) return a - b;
  if (Number.isNaN(a) !== Number.isNaN(b)) return Number.isNaN(a) ? 1 : -1;
  return collator.compare(one, other);
}

/** Sorts the table of a head by its column: ascending, then descending, then back to the original order. */
export function sort(head: HTMLTableCellElement): void {
  const table = head.closest("table");
  const body = table?.tBodies[0];
  if (!table || !body) return;
  const rows = [...body.rows];
  if (rows.length && !rows[0].dataset.order) rows.forEach((row, order) => row.dataset.order = String(order));
  const before = head.getAttribute("aria-sort");
  for (const other of table.querySelectorAll("th[aria-sort]")) other.removeAttribute("aria-sort");
  const text = (row: HTMLTableRowElement) => row.cells[head.cellIndex]?.textContent?.trim() ?? "";
  const original = (a: HTMLElement, b: HTMLElement) => Number(a.dataset.order) - Number(b.dataset.order);
  if (before === "descending") rows.sort(original);
  else {
    const way = before === "ascending" ? -1 : 1;
    rows.sort((a, b) => way * compare(text(a), text(b)) || original(a, b));
    head.setAttribute("aria-sort", way > 0 ? "ascending" : "descending");
  }
  body.append(...rows);
}
