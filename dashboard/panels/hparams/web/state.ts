/** State shared by the parts of the panel: the data, the settings in the URL, the selected rows, and redrawing. */
import { integer } from "../../../web/core/numbers.ts";
import { settings as runSettings } from "../../../runs/web/settings.generated.ts";
import type { Setting } from "../../../web/core/setting.ts";
import { type Assign, view } from "../../../web/page/view.ts";
import { pairEntries, pairsIn } from "./entries.ts";
import { type Cell, type Data, type Row, type ShownColumn, shownColumns } from "./payload.ts";
import { settings } from "./settings.generated.ts";

/** The data before any has arrived. */
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

/** Sets the least and greatest values of columns over all sessions, for those not among the rows. */
export const setEnds = (found: ReadonlyMap<string, readonly number[]>): void =>
  void (ends = new Map([...ends, ...found]));

/** The shown columns, each with its index in a row's values. */
export const columns = (): ShownColumn[] => shownColumns(current);
/** The rows of the table; if there are very many, charts draw others too. */
export const listedRows = (): Row[] => current.whole_table ? current.rows : current.rows.slice(0, current.listed);
/** The values that a column's axis must have room for. */
export const extentOf = ({ key, place }: ShownColumn): Cell[] => [...valuesOf(place), ...(ends.get(key) ?? [])];
export const valuesOf = (place: number): Cell[] => current.rows.map((row) => row.v[place]);

// --- settings ----------------------------------------------------------------------------------------------

type List = Setting<readonly string[]>;

export const update = (change: (set: Assign) => void): void => view.update((_params, set) => change(set));

/** A list's entries of the form "column:rest", by column; "rest" is as written. */
export const pairs = (list: List): Map<string, string> => pairsIn(view.read(list));

/** Writes such a list; entries with an empty rest are omitted. */
export const setPairs = (set: Assign, list: List, map: ReadonlyMap<string, string>): void =>
  set(list, pairEntries(map));

export const scheme = (): "light" | "dark" =>
  document.documentElement.dataset.mantineColorScheme === "dark" ? "dark" : "light";

// --- selection ---------------------------------------------------------------------------------------------

/** Why a selection was not made, and the settings that were left by that. */
let refused = { why: "", left: "" };

const selectionNow = (): string => JSON.stringify([view.read(runSettings.select), view.read(settings.brush)]);

/** Why a selection was not made, or "" if none was refused or there has been another since. */
export const refusal = (): string => refused.left === selectionNow() ? refused.why : "";
export const selectedRuns = (): ReadonlySet<string> => new Set(view.read(runSettings.select));

/** Indices of the selected rows; null if no row is selected, in which case all count. */
export function selectedRows(): Set<number> | null {
  const runs = selectedRuns();
  if (!runs.size) return null;
  const found = new Set(current.rows.flatMap((row, place) => (row.runs.some((run) => runs.has(run)) ? [place] : [])));
  return found.size ? found : null;
}

/** Selected runs that no row has: runs without hyperparameters, or of sessions that the server did not send. */
function unlistedRuns(): string[] {
  const listed = new Set(current.rows.flatMap((row) => row.runs));
  return [...selectedRuns()].filter((run) => !listed.has(run));
}

/** Indices of the first rows in the table: those that are drawn over a shade of all. */
export const firstRows = (): Set<number> => new Set(listedRows().keys());

/**
 * Selects the runs of some rows; none if they are too many for the address.
 * @param brushes the brushes that selected these rows; if none are given, existing brushes are removed
 * @param others further runs to select
 */
export function select(
  rows: readonly Row[],
  brushes: ReadonlyMap<string, string> = new Map(),
  others: readonly string[] = [],
): void {
  const runs = [...new Set([...others, ...rows.flatMap((row) => row.runs)])];
  const fits = view.fits(runSettings.select, runs);
  update((set) => {
    set(runSettings.select, fits ? runs : []);
    setPairs(set, settings.brush, brushes);
  });
  const why = fits ? "" : `${integer(runs.length)} runs are too many to select; choose fewer`;
  refused = { why, left: selectionNow() };
  redraw();
}

/** Selects these of the table's rows; runs that are selected and have no row remain so. */
export const selectListed = (rows: readonly Row[]): void => select(rows, new Map(), unlistedRuns());

/** Whether a click adds to the selection, or takes from it. */
export const adds = (event: MouseEvent): boolean => event.ctrlKey || event.metaKey || event.shiftKey;

/** Selects rows by pointer: alone, or together with those already selected while Ctrl or Shift is held. */
export function pick(rows: readonly Row[], event: MouseEvent): void {
  if (!adds(event)) return select(rows);
  const before = selectedRows() ?? new Set();
  const adding = rows.some((row) => !before.has(current.rows.indexOf(row)));
  const others = [...before].map((place) => current.rows[place]).filter((row) => !rows.includes(row));
  selectListed(adding ? [...others, ...rows] : others);
}

export const clear = (): void => select([]);

// --- drawing -----------------------------------------------------------------------------------------------

let draw = () => {};
let drawing = 0;

export const isDrawnBy = (act: () => void): void => void (draw = act);

/** Redraws what depends on the view; several calls before the next frame result in one redraw. */
export function redraw(): void {
  if (drawing) return;
  drawing = requestAnimationFrame(() => {
    drawing = 0;
    draw();
  });
}
