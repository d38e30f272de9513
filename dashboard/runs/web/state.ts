/** What the page knows about runs: the server's data (dashboard/runs/listing.py) and the view's settings for them. */
import { callbacks, noUpdate, setProps } from "../../web/core/dash.ts";
import { runName } from "../../web/core/names.ts";
import { Api } from "../../web/core/request.ts";
import { view as pageView } from "../../web/page/view.ts";
import type { Listing, RunFields, RunRow } from "./messages.generated.ts";
import { settings } from "./settings.generated.ts";
import { givenIn, hiddenRuns, isOn, switched, withGiven } from "./switches.ts";

export type * from "./messages.generated.ts";

/** Everything in a listing apart from its rows. */
type Surroundings = Omit<Listing, "whole" | "rows" | "gone" | "base" | "version">;

/** What changed: the rows and their surroundings, or the view. */
export type Change = "rows" | "view";

/** Settings that the user gives to single runs. */
export type Gift = typeof settings.name | typeof settings.paint;

const api = new Api("api/runs");
/** Rows that pass the search, by run. */
const rows = new Map<string, RunRow>();
let around: Surroundings = {
  columns: [],
  groups: [],
  group_error: "",
  legend: null,
  seeds: { settings: 0, runs: 0 },
  placeholder: "",
  total: 0,
  loading: true,
  found: 0,
  whole_table: true,
  unlisted: [],
  searched: false,
  last_default: 19,
};
let unlisted: ReadonlySet<string> = new Set();
let version = "";
let view = read();
/** How many more rows are requested when the end of the current ones comes into view. */
const MORE_ROWS = 1000;
/** The most rows that the server sends. */
const MOST_ROWS = 20_000;
let wanted = MORE_ROWS;

function read() {
  const params = pageView.params();
  const list = (name: string): ReadonlySet<string> => new Set(params.getAll(name));
  return {
    base: params.get("runs") || "default",
    show: list("show"),
    hide: list("hide"),
    sort: pageView.read(settings.sort),
    selected: new Set(pageView.read(settings.select)),
    pinned: new Set(pageView.read(settings.pin)),
    folded: new Set(pageView.read(settings.fold)),
    allFolded: pageView.read(settings.folded),
    opened: new Set(pageView.read(settings.open)),
  };
}

const switches = () => ({ ...view, lastDefault: around.last_default, searched: around.searched });
const othersAreOn = () => view.base === "all" || (view.base === "found" && around.searched);
const isFolded = (group: { label: string }) => view.folded.has(group.label) !== view.allFolded;

function setBase(base: string, shown: string[]): void {
  pageView.update((_params, set) => {
    set("runs", [base]);
    set("hide", []);
    set("show", shown);
  });
}

/** Switches runs on or off. */
function switchRuns(changed: RunRow[], on: boolean): void {
  pageView.update((_params, set) => {
    const { show, hide } = switched(changed, on, switches());
    set("show", show);
    set("hide", hide);
  });
}

const listeners: ((what: Change) => void)[] = [];
const changed = (what: Change) => listeners.forEach((listener) => listener(what));

/** Takes in news; asks for everything if the news do not follow on from the current version. */
function take(news: Listing | null): void {
  if (!news) return;
  if (!news.whole && news.base !== version) {
    setProps("frame-key", { data: {} });
    pageView.askAgain();
    return;
  }
  if (news.whole) rows.clear();
  for (const run of news.gone) rows.delete(run);
  for (const row of news.rows) rows.set(row.run, row);
  version = news.version;
  around = news;
  unlisted = new Set(news.unlisted);
  changed("rows");
}

pageView.onChange(() => {
  view = read();
  changed("view");
});

export const runs = {
  rows: rows as ReadonlyMap<string, RunRow>,
  around: (): Surroundings => around,
  view: () => view,
  isOn: (row: RunRow): boolean => isOn(row, switches()),
  /** The runs that a view hides by "hide". */
  hidden: (params: URLSearchParams): Set<string> =>
    hiddenRuns(rows.values(), { hide: new Set(params.getAll("hide")), show: new Set(params.getAll("show")) }),
  isSelected: (run: string): boolean => view.selected.has(run),
  isPinned: (run: string): boolean => view.pinned.has(run),
  isFolded,
  switchRuns,
  /** Switches all runs on or off; during a search, all runs that it finds. */
  switchAll(on: boolean, listed: RunRow[]): void {
    if (!around.whole_table) setBase(!on ? "none" : around.searched ? "found" : "all", []);
    else if (listed.filter(({ parent }) => parent === null).length < around.total) switchRuns(listed, on);
    else setBase(on ? "all" : "none", []);
  },
  /** Shows everything that the search finds, now or later; without a search, shows the default runs. */
  showFound: (): void => setBase("found", []),
  /** Shows only these runs. */
  only: (shown: string[]): void => setBase("none", shown),
  select: (selected: string[]): void => pageView.write(settings.select, selected),
  sort: (columns: string[]): void => pageView.write(settings.sort, columns),
  pin: (run: string, on: boolean): void => pageView.toggle(settings.pin, run, on),
  fold: (group: { label: string }, on: boolean): void =>
    pageView.toggle(settings.fold, group.label, on !== view.allFolded),
  foldAll: (on: boolean): void =>
    pageView.update((_params, set) => {
      set(settings.fold, []);
      set(settings.folded, on);
    }),
  /** Whether the runs that belong to this run are listed below it. */
  isOpened: (run: string): boolean => view.opened.has(run),
  open: (run: string, on: boolean): void => pageView.toggle(settings.open, run, on),
  /** How many top-level runs pass the search. */
  count: (): number => around.found,
  /** How many of those are on. */
  countOn(): number {
    const here = [...rows.values()].filter(({ parent }) => parent === null);
    return here.filter(runs.isOn).length + (othersAreOn() ? around.found - here.length : 0);
  },
  /** Whether runs that pass the search but are not on the page are switched on. */
  othersAreOn,
  /** Whether the run is in the table, rather than known only because the view names it. */
  isListed: (run: string): boolean => !unlisted.has(run),
  /** How many top-level runs the table lists. */
  countListed: (): number =>
    [...rows.values()].filter(({ run, parent }) => parent === null && !unlisted.has(run)).length,
  /** Whether the server has more rows than were requested. */
  hasMore: (): boolean => !around.whole_table && wanted < MOST_ROWS,
  askForMore(): void {
    if (around.whole_table || wanted >= MOST_ROWS || rows.size < wanted) return;
    wanted += MORE_ROWS;
    setProps("runs-wanted", { data: wanted });
  },
  /** What the user gave to a run, or "". */
  given: (setting: Gift, run: string): string => givenIn(pageView.read(setting), run),
  give: (setting: Gift, run: string, text: string): void =>
    pageView.write(setting, withGiven(pageView.read(setting), run, text)),
  label: runName,
  onChange: (listener: (what: Change) => void): void => void listeners.push(listener),
  fields: (): Promise<RunFields> => api.ask("fields", {}),
};

callbacks("stepscope", {
  listRuns(news: Listing | null) {
    take(news);
    return noUpdate();
  },
});
