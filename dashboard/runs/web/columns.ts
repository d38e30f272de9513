/** The columns of the table of runs. */
import type { ColumnDef } from "../../web/core/ag_grid.ts";
import { cellRules, Name, stateOf, Swatch } from "./cells.ts";
import { isHead, type Item } from "./items.ts";
import { textWidth } from "./row_names.ts";
import { type RunColumn, runs } from "./state.ts";
import { ago, asNumber, compare, formatOf, full, type Value } from "./values.ts";

export const SWATCH = 34;
const STARTED = 84;

/** The preferred width of a column, and the least that its values need. */
export interface Fit {
  least: number;
  wanted: number;
}
type Column = ColumnDef<Item, Value, Fit>;

/** Values of a column, without missing ones. */
const present = (place: number): Value[] =>
  [...runs.rows.values()].map((row) => row.values[place]).filter((value) => value !== null);

/** Which columns contain texts, which are shown, filtered and aligned differently from numbers. */
export const haveTexts = (): boolean[] =>
  runs.around().columns.map((_column, place) => present(place).some((value) => asNumber(value) === null));

function valueColumn(column: RunColumn, place: number, hasTexts: boolean): Column {
  const values = present(place);
  const short = formatOf(values);
  const isNumeric = values.length > 0 && !hasTexts;
  const least = Math.max(40, ...values.slice(0, 200).map((value) => textWidth(short(value)))) + 18;
  const wanted = Math.min(Math.max(textWidth(column.label, 11) + 40, least), 150);
  return {
    context: { least: Math.min(least, 150), wanted },
    colId: column.spec,
    headerName: column.label,
    headerTooltip: column.label,
    width: wanted,
    minWidth: 44,
    valueGetter: ({ data }) => data.values[place],
    valueFormatter: ({ value }) => short(value),
    tooltipValueGetter: ({ data, value }) => {
      if (isHead(data) && data.means[place]) return `${full(value)}, the mean of the group`;
      return full(value) === short(value) ? "" : full(value);
    },
    filter: isNumeric ? "agNumberColumnFilter" : "agTextColumnFilter",
    filterValueGetter: ({ data }) => (isNumeric ? asNumber(data.values[place]) : full(data.values[place])),
    comparator: compare,
    type: isNumeric ? "rightAligned" : undefined,
    cellClass: isNumeric ? "value-cell number" : "value-cell",
    cellClassRules: cellRules,
  };
}

function nameTip(item: Item): string {
  return isHead(item) || item.run === item.label ? item.label : `${item.label}: ${item.run}`;
}

function startTip({ started }: Item): string {
  return Number.isFinite(started) ? `First event ${new Date(started * 1000).toLocaleString()}` : "";
}

export function columnDefs(): Column[] {
  const texts = haveTexts();
  return [
    {
      colId: "on",
      headerName: "Shown",
      headerClass: "heard-head",
      width: SWATCH,
      minWidth: SWATCH,
      maxWidth: SWATCH,
      pinned: "left",
      resizable: false,
      sortable: false,
      valueGetter: ({ data }) => stateOf(data),
      cellRenderer: Swatch,
      cellClass: "swatch-cell",
      cellClassRules: cellRules,
      headerTooltip: "Shown in the charts",
    },
    {
      colId: "run",
      headerName: "Run",
      pinned: "left",
      width: 180,
      minWidth: 70,
      cellRenderer: Name,
      cellClass: "name-cell",
      cellClassRules: cellRules,
      valueGetter: ({ data }) => data.label,
      comparator: compare,
      tooltipValueGetter: ({ data }) => nameTip(data),
    },
    ...runs.around().columns.map((column, place) => valueColumn(column, place, texts[place])),
    {
      colId: "started",
      headerName: "Started",
      width: STARTED,
      minWidth: 60,
      cellClass: "started-cell",
      cellClassRules: cellRules,
      type: "rightAligned",
      valueGetter: ({ data }) => data.started,
      valueFormatter: ({ data }) => ago(data.started),
      tooltipValueGetter: ({ data }) => startTip(data),
    },
  ];
}
