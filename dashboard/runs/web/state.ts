// @ts-nocheck
// What the page knows of runs: what the server told (dashboard/runs/listing.py), and what the view says of them.
import * as dash from "../../web/core/dash.ts";
import { view as pageView } from "../../web/page/view.ts";

export interface Row {
  run: string;
  label: string;
  order: number;
  light: string;
  dark: string;
  started: number;
  group: number | null;
  values: (number | string | boolean | null)[];
}

/** A run as the server tells it. */

/** Rows that pass the search, by run. */
const rows: Map<string, Row> = new Map();
/** What surrounds the rows. */
let around = {
  columns: [],
  groups: [],
  groupError: "",
  legend: null,
  seeds: { settings: 0, runs: 0 },
  total: 0,
  loading: true,
  defaultRuns: 20,
};
let version = "";
let view = read();

function read() {
  const params = pageView ? pageView.params() : new URLSearchParams();
  const list = (name) => new Set(params.getAll(name));
  return {
    base: params.get("runs") || "default",
    show: list("show"),
    hide: list("hide"),
    selected: list("runs.select"),
    pinned: list("runs.pin"),
    folded: list("runs.fold"),
    allFolded: params.get("runs.folded") === "on",
  };
}

// --- switched on, selected, pinned, folded -----------------------------------------------------------------

const inBase = (row) => view.base === "all" || (view.base !== "none" && row.order < around.defaultRuns);
const isOn = (row) => (inBase(row) || view.show.has(row.run)) && !view.hide.has(row.run);

/** Switches runs on or off: each is an exception from the base "runs", kept only where it differs. */
function switchRuns(changed, on) {
  pageView.update((params, set) => {
    const show = new Set(params.getAll("show"));
    const hide = new Set(params.getAll("hide"));
    for (const row of changed) {
      show.delete(row.run);
      hide.delete(row.run);
      if (on && !inBase(row)) show.add(row.run);
      if (!on && inBase(row)) hide.add(row.run);
    }
    set("show", [...show]);
    set("hide", [...hide]);
  });
}

/** Shows these runs and no others. */
function only(runs: string[]) {
  pageView.update((_params, set) => {
    set("runs", ["none"]);
    set("hide", []);
    set("show", runs);
  });
}

/** All or none: of what the search lets through, where something is searched for. */
function switchAll(on, listed) {
  if (listed.length < around.total) return switchRuns(listed, on);
  pageView.update((_params, set) => {
    set("runs", [on ? "all" : "none"]);
    set("show", []);
    set("hide", []);
  });
}

const select = (runs) => pageView.update((_params, set) => set("runs.select", runs));
const pin = (run, on) => pageView.toggle("runs.pin", run, on);
const isFolded = (group) => view.folded.has(group.label) !== view.allFolded;
const fold = (group, on) => pageView.toggle("runs.fold", group.label, on !== view.allFolded);

function foldAll(on) {
  pageView.update((_params, set) => {
    set("runs.fold", []);
    set("runs.folded", [on ? "on" : "off"]);
  });
}

// --- names and colours given by hand: "run:text", the run percent-encoded ------------------------------------

function runOf(entry) {
  try {
    return decodeURIComponent(entry.slice(0, entry.indexOf(":")));
  } catch {
    return null;
  }
}

/** What a run was given by hand, or "". */
function given(setting: "runs.name" | "runs.paint", run: string) {
  const entry = pageView.params().getAll(setting).find((one) => runOf(one) === run);
  return entry ? entry.slice(entry.indexOf(":") + 1) : "";
}

function give(setting, run, text) {
  pageView.update((params, set) => {
    const rest = params.getAll(setting).filter((entry) => runOf(entry) !== run);
    set(setting, text ? [...rest, encodeURIComponent(run) + ":" + text] : rest);
  });
}

// --- what the server tells -----------------------------------------------------------------------------------

const listeners: ((what: "rows" | "view") => void)[] = [];
const changed = (what) => listeners.forEach((listener) => listener(what));

/** Takes news in; asks for everything where they do not follow on what is here. */
function take(news) {
  if (!news) return;
  if (!news.whole && news.base !== version) {
    window.dash_clientside.set_props("frame-key", { data: {} });
    window.dash_clientside.set_props("view", { data: pageView.query() });
    return;
  }
  if (news.whole) rows.clear();
  for (const run of news.gone) rows.delete(run);
  for (const row of news.rows) rows.set(row.run, row);
  version = news.version;
  around = news;
  changed("rows");
}

document.addEventListener("DOMContentLoaded", () =>
  pageView.onChange(() => {
    view = read();
    changed("view");
  }));

const exportedRuns = {
  rows,
  around: () => around,
  view: () => view,
  isOn,
  isSelected: (run) => view.selected.has(run),
  isPinned: (run) => view.pinned.has(run),
  isFolded,
  switchRuns,
  switchAll,
  only,
  select,
  pin,
  fold,
  foldAll,
  given,
  give,
  label: (run) => (run === "." ? ". (the log directory)" : run),
  onChange: (listener) => listeners.push(listener),
  /** What runs can be described by. */
  fields: () => fetch("/api/runs/fields").then((answer) => answer.json()),
};

dash.callbacks("stepscope", {
  listRuns(news) {
    take(news);
    return window.dash_clientside.no_update;
  },
});

export { exportedRuns as runs };
