/** What the parts of the panel share: the data, its settings in the URL, which rows are selected, and that they are drawn. */
import { integer } from "../../../web/core/numbers.ts";
import { settings as runSettings } from "../../../runs/web/settings.generated.ts";
import type { Setting } from "../../../web/core/setting.ts";
import { type Assign, view } from "../../../web/page/view.ts";
import { pairEntries, pairsIn } from "./entries.ts";
import { type Cell, type Data, type Row, type ShownColumn, shownColumns } from "./payload.ts";
import { settings } from "./settings.generated.ts";

/** Before any has come. */
const NOTHING: Data = {
  all: [],
  columns: [],
  constant: [],
  target: "",
  lower: false,
  rows: [],
  sessions: 0,
  passing: 0,
  whole_table: true,
  listed: 0,
  all_rows: 0,
  found: 0,
  loading: false,
  groups: 0,
  statuses: {},
  folders: [],
  folder: "",
  palette: [],
};
let current = NOTHING;

export const data = (): Data => current;
export const hasData = (): boolean => current !== NOTHING;
let ends: ReadonlyMap<string, readonly number[]> = new Map();

export function setData(sent: Data): void {
  current = sent;
  ends = new Map();
}

/** The least and the greatest of columns among all sessions, where rows do not have them. */
export const setEnds = (found: ReadonlyMap<string, readonly number[]>): void =>
  void (ends = new Map([...ends, ...found]));

/** The shown columns, each with its place in a row's values. */
export const columns = (): ShownColumn[] => shownColumns(current);
/** The rows of the table; where there are very many, charts draw others too. */
export const listedRows = (): Row[] => current.whole_table ? current.rows : current.rows.slice(0, current.listed);
/** What the axis of a column has to have room for. */
export const extentOf = ({ key, place }: ShownColumn): Cell[] => [...valuesOf(place), ...(ends.get(key) ?? [])];
export const valuesOf = (place: number): Cell[] => current.rows.map((row) => row.v[place]);

// --- settings ----------------------------------------------------------------------------------------------

type List = Setting<readonly string[]>;

export const update = (change: (set: Assign) => void): void => view.update((_params, set) => change(set));

/** Entries of the form "column:rest" of a list, by column; "rest" as it stands there. */
export const pairs = (list: List): Map<string, string> => pairsIn(view.read(list));

/** Writes such a list; entries whose rest is empty are left out. */
export const setPairs = (set: Assign, list: List, map: ReadonlyMap<string, string>): void =>
  set(list, pairEntries(map));

export const scheme = (): "light" | "dark" =>
  document.documentElement.dataset.mantineColorScheme === "dark" ? "dark" : "light";

// --- selection ---------------------------------------------------------------------------------------------

/** Characters of selected runs that the address bar can hold beside the rest; the server reads 65,536 in all. */
const LONGEST_SELECTION = 40000;
let refused = "";

/** Why a selection was not made, or "". */
export const refusal = (): string => refused;
export const selectedRuns = (): ReadonlySet<string> => new Set(view.read(runSettings.select));

/** Places of the selected rows; null where no row is selected, and so all count. */
export function selectedRows(): Set<number> | null {
  const runs = selectedRuns();
  if (!runs.size) return null;
  const found = new Set(current.rows.flatMap((row, place) => (row.runs.some((run) => runs.has(run)) ? [place] : [])));
  return found.size ? found : null;
}

/** Places of the rows that stand in the table first: those that are drawn over a shade of all. */
export const firstRows = (): Set<number> => new Set(listedRows().keys());

/**
 * Selects the runs of some rows.
 * @param brushes the brushes that these rows come from; without any, there are none left
 */
export function select(rows: readonly Row[], brushes: ReadonlyMap<string, string> = new Map()): void {
  const runs = [...new Set(rows.flatMap((row) => row.runs))];
  const fits = runs.reduce((length, run) => length + encodeURIComponent(run).length + 13, 0) < LONGEST_SELECTION;
  refused = fits ? "" : `${integer(runs.length)} runs are too many to select; choose fewer`;
  update((set) => {
    if (fits) set(runSettings.select, runs);
    setPairs(set, settings.brush, brushes);
  });
  redraw();
}

/** Selects rows by pointer: alone, or with those that are selected already while Ctrl or Shift is held. */
export function pick(rows: readonly Row[], event: MouseEvent): void {
  const before = selectedRows();
  if (!(event.ctrlKey || event.metaKey || event.shiftKey) || !before) return select(rows);
  const adding = rows.some((row) => !before.has(current.rows.indexOf(row)));
  const others = [...before].map((place) => current.rows[place]).filter((row) => !rows.includes(row));
  select(adding ? [...others, ...rows] : others);
}

export function clear(): void {
  refused = "";
  update((set) => {
    set(runSettings.select, []);
    set(settings.brush, []);
  });
  redraw();
}

// --- drawing -----------------------------------------------------------------------------------------------

let draw = () => {};
let drawing = 0;

export const isDrawnBy = (act: () => void): void => void (draw = act);

/** Draws what depends on the view; what is asked for several times before the next frame is done once. */
export function redraw(): void {
  if (drawing) return;
  drawing = requestAnimationFrame(() => {
    drawing = 0;
    draw();
  });
}
