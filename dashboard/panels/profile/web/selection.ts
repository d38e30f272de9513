/** The table row that the page should open with. */
import { isField } from "../../../web/core/commands.ts";
import { type Grid, gridOfTable, type RowNode } from "./grid.ts";
import { groupOf, setOpen } from "./groups.ts";

const MOST_FRAMES = 60;
const PATIENCE_MS = 10_000;
const PAUSE_MS = 50;
let waiting = 0;

/** Brings the selected row into view and focuses it, opening the group that contains it. */
function bring(api: Grid, node: RowNode, row: string): void {
  const group = groupOf(api, node.data);
  if (group) setOpen(api, group, true);
  api.ensureNodeVisible(node, "middle");
  // A user who is typing elsewhere keeps the focus there.
  const focuses = !isField(document.activeElement);
  if (focuses && node.rowIndex !== null) api.setFocusedCell(node.rowIndex, api.getAllDisplayedColumns()[0]);
  let left = MOST_FRAMES;
  (function show() {
    const shown = document.querySelector(`.profile-grid .ag-center-cols-container [row-id="${CSS.escape(row)}"]`);
    const cell = shown?.querySelector<HTMLElement>(".ag-cell");
    // The grid renders the rows it scrolled to a few frames later.
    if (!shown || !cell) return void (--left && requestAnimationFrame(show));
    shown.scrollIntoView({ block: "nearest" });
    if (focuses) cell.focus({ preventScroll: true });
  })();
}

/** Shows a row once its table has selected it. */
export function showRow(chosen: [table: string, row: string] | null): void {
  clearTimeout(waiting);
  if (!chosen) return;
  const began = performance.now();
  const [table, row] = chosen;
  (function look() {
    if (performance.now() - began > PATIENCE_MS) return;
    const card = document.querySelector(
      `.profile-card[data-table="${CSS.escape(table)}"][data-chosen="${CSS.escape(row)}"] .ag-row`,
    );
    const api = card && gridOfTable(table);
    const node = api?.getRowNode(row);
    if (api && node?.isSelected()) bring(api, node, row);
    else waiting = window.setTimeout(look, PAUSE_MS);
  })();
}
