// @ts-nocheck
// The Profile panel: how its tables write values, their search, columns and files, and links to the Timeline.
import * as dash from "../../../web/core/dash.ts";
import { gridComponents as renderers, gridFunctions as functions } from "../../../web/core/dash.ts";
import { elements } from "../../../web/core/dom.ts";
import { popover } from "../../../web/core/popover.ts";
import { profileTree } from "./rows.ts";
import { view } from "../../../web/page/view.ts";

const { make } = elements;
const h = (...args) => window.React.createElement(...args);
const POLL_MS = 500;
const NONE = "–";
/** Letters of a name that is searched for, as in dashboard/panels/profile/links.py. */
const LONGEST_SEARCH = 300;

// --- figures as text: to the letter what dashboard/panels/profile/texts.py writes ---------------------------

const known = (value) => typeof value === "number" && Number.isFinite(value);

/** At most four significant digits, with separators where there are more before the point. */
function digits(value) {
  for (const [unit, size] of ([["P", 1e15], ["T", 1e12], ["G", 1e9], ["M", 1e6]] as [string, number][])) {
    if (Math.abs(value) >= size) return `${digits(value / size)} ${unit}`;
  }
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en-US");
  if (value !== 0 && Math.abs(value) < 1e-4) return value.toExponential(2).replace(/e([+-])(\d)$/, "e$10$2");
  return String(Number(value.toPrecision(4)));
}

export function time(ns) {
  for (const [unit, size] of ([["s", 1e9], ["ms", 1e6], ["µs", 1e3]] as [string, number][])) {
    if (Math.abs(ns) >= size) return `${digits(ns / size)} ${unit}`;
  }
  return `${digits(ns)} ns`;
}

const plus = (value, signed) => (signed && value > 0 ? "+" : "");
/** What a total row says instead of a number stays as it is; where it says nothing, it has no value at all. */
const written = (
  value,
  write,
) => (typeof value === "string" ? value : value === undefined ? "" : known(value) ? write(value) : NONE);

functions.stepscopeProfileTime = (value, signed) => written(value, (ns) => plus(ns, signed) + time(ns));
functions.stepscopeProfileNs = (
  value,
) => (known(value) ? `${value.toLocaleString("en-US", { maximumFractionDigits: 1 })} ns` : "");
functions.stepscopeProfileSize = (value) =>
  written(value, (bytes) => (bytes < 0 ? "-" : "") + functions.stepscopeBytes(Math.abs(bytes)));
functions.stepscopeProfileBytes = (value) => (known(value) ? functions.stepscopeExactBytes(value) : "");
functions.stepscopeProfilePercent = (value, signed) =>
  written(value, (share) => `${plus(share, signed)}${share.toFixed(1)}%`);
functions.stepscopeProfileCount = (value) => written(value, (number) => number.toLocaleString("en-US"));
functions.stepscopeProfileNumber = (value) => written(value, digits);
functions.stepscopeProfileExact = (value) => (known(value) ? String(value) : "");
functions.stepscopeProfileFlag = (value) => (value === true ? "yes" : value === false ? "no" : value || "");
functions.stepscopeProfileBySize = (one, other) => Math.abs(one) - Math.abs(other);
/** A bar behind a number, as long as its share of `whole`. */
functions.stepscopeProfileBar = (params, whole) => {
  const share = known(params.value) && !params.node.rowPinned ? Math.max(0, Math.min(1, params.value / whole)) : 0;
  return { backgroundSize: `${(100 * share).toFixed(2)}% 100%` };
};

// --- cells -------------------------------------------------------------------------------------------------

/** What the Timeline shows of a place; settings that the place does not have are taken back. */
const settings = (place) => ({
  "timeline.trace": [place.trace],
  "timeline.range": place.range ? [place.range] : [],
  "timeline.slice": place.slice ? [place.slice] : [],
  "timeline.search": place.search ? [place.search] : [],
  // A name that was cut is still found as a part of the whole one.
  "timeline.match": place.search && place.search.length < LONGEST_SEARCH ? ["name"] : [],
});

function address(place) {
  const params = new URLSearchParams({ tab: "timeline" });
  for (const [name, values] of Object.entries(settings(place))) for (const value of values) params.append(name, value);
  return "?" + params;
}

/** Where a row is on the Timeline; most are searched for by what they are called. */
function placeOf(data, trace, name) {
  const slice = "@slice" in data ? String(data["@slice"]) : "";
  const search = "@search" in data ? data["@search"] : slice ? String(name) : "";
  return { trace, range: data["@at"], slice, search: search.slice(0, LONGEST_SEARCH) };
}

/** A link that shows a row on the Timeline; nothing for rows that are nowhere in particular. */
function toTimeline(data, trace, name, linked) {
  if (!data["@at"]) return linked && data["@row"] !== "total" ? h("span", { className: "profile-at" }) : null;
  const place = placeOf(data, trace, name);
  return h("a", {
    className: "profile-at",
    href: address(place),
    "data-trace": trace,
    "data-range": place.range,
    "data-slice": place.slice,
    "data-search": place.search,
    title: place.search
      ? "Show its slices on the Timeline, the longest first"
      : "Show it on the Timeline; of several slices, the longest",
    "aria-label": "Show on the Timeline",
    tabIndex: -1,
  }, h("span", { className: "icon", style: { "--icon": "var(--icon-timeline)", "--size": "13px" } }));
}

renderers.ProfileName = ({ data, valueFormatted, value, linked, trace, tree, api, node }) => {
  const name = value === ""
    ? h("span", { className: "dim" }, "not known")
    : h("span", {}, valueFormatted || String(value ?? ""));
  return h(
    "div",
    { className: "profile-name" + ("@in" in data ? " inside" : "") },
    tree ? profileTree.chevron(data, api, node) : null,
    toTimeline(data, trace, value, linked),
    name,
    "@size" in data ? h("span", { className: "size" }, String(data["@size"].toLocaleString("en-US"))) : null,
  );
};
// Of a file's path, what tells frames apart is its end.
renderers.ProfileFrame = ({ data, value }) => {
  const frame = String(value ?? "");
  const cut = frame.slice(0, (frame.indexOf("(") + 1 || frame.length + 1) - 1).lastIndexOf("/") + 1;
  return h(
    "div",
    { className: "cut-name", style: { paddingLeft: Math.min(data.depth || 0, 40) * 12 + "px" } },
    h("span", { className: "tail" }, frame.slice(cut)),
    h("span", { className: "head dim" }, "  " + frame.slice(0, cut)),
  );
};

// --- tables ------------------------------------------------------------------------------------------------

/** The grid of the card that an element is in. */
function gridOf(element) {
  const card = element.closest("[data-table]");
  const id = card && { table: card.dataset.table, type: "profile-grid" };
  return id ? window.dash_ag_grid.getApi(id) : null;
}

/** A list of the columns of a table, to show or hide them. */
function chooseColumns(button) {
  const grid = gridOf(button);
  if (!grid) return;
  const entries = grid.getColumns().map((column) => {
    const box = make("input", { type: "checkbox", checked: column.isVisible() });
    box.addEventListener("change", () => grid.setColumnsVisible([column.getColId()], box.checked));
    return make("label", { className: "profile-column" }, box, column.getColDef().headerName);
  });
  popover.show(button, "Columns", entries);
}

/** Downloads a table whole, as the server has it. */
function save(button) {
  const name = button.closest("[data-table]").dataset.table;
  const query = new URLSearchParams({ name, view: view.query(), trace: openTrace() });
  const link = make("a", { href: `/api/profile/table.csv?${query}`, download: "" });
  document.body.append(link);
  link.click();
  link.remove();
}

document.addEventListener("input", (event) => {
  const field = event.target as HTMLInputElement;
  if (!field.closest || !field.closest(".profile-search")) return;
  const grid = gridOf(field);
  if (grid) profileTree.search(grid, field.value);
});

// --- links -------------------------------------------------------------------------------------------------

/** Id of the open trace, which the address names only where it was chosen. */
function openTrace() {
  const link = document.getElementById("profile-to-timeline");
  return view.values("profile.trace")[0] || (link && link.dataset.trace) || "";
}

const showOnTimeline = (place) => view.open("timeline", settings(place));

function openPage(page, row) {
  window.dash_clientside.set_props({ type: "setting", name: "profile:view" }, { value: page });
  view.update((_params, set) => {
    set("profile.view", [page]);
    set("profile.row", row ? [row] : []);
  }, true);
}

// A row belongs to the page that it was asked for on: who chooses another page leaves it behind.
document.addEventListener("change", (event) => {
  const target = event.target as Element;
  if (target.closest && target.closest(".profile-views")) view.update((_params, set) => set("profile.row", []));
});

function showLost() {
  const details = document.getElementById("profile-lost") as HTMLDetailsElement | null;
  if (!details) return;
  details.open = true;
  details.scrollIntoView({ block: "nearest" });
  details.querySelector("summary").focus();
}

document.addEventListener("click", (event) => {
  const target = event.target as Element;
  const found = target.closest &&
    (target.closest(
      ".profile-panel a[data-trace], .profile-panel a[data-page], .profile-columns, .profile-save, .profile-expand, .profile-to-lost",
    ) as HTMLElement);
  if (!found) return;
  if (found.classList.contains("profile-columns")) return chooseColumns(found);
  if (found.classList.contains("profile-save")) return save(found);
  if (found.classList.contains("profile-expand")) return profileTree.toggleAll(gridOf(found), found);
  // A link that is to open elsewhere does.
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  if (found.classList.contains("profile-to-lost")) showLost();
  else if (found.dataset.page) openPage(found.dataset.page, found.dataset.row);
  else showOnTimeline(found.dataset);
});

// --- what is going on --------------------------------------------------------------------------------------

let polling = 0;

/** Says what the server is at while somebody waits for it. */
async function poll() {
  const place = document.getElementById("profile-progress");
  if (!place || !polling) return;
  try {
    const answer = await fetch("/api/profile/progress");
    const [latest] = answer.ok ? await answer.json() : [];
    if (latest && polling) {
      place.textContent = latest.seconds < 2 ? `${latest.what} …` : `${latest.what}: ${Math.round(latest.seconds)} s`;
    }
  } catch {
    // The server is gone; the header says so.
  }
  if (polling) polling = setTimeout(poll, POLL_MS);
}

const clientside = {
  profileProgress(running) {
    const place = document.getElementById("profile-progress");
    clearTimeout(polling);
    polling = running ? setTimeout(poll, POLL_MS) : 0;
    if (place && !running) place.textContent = "";
    if (place) place.classList.toggle("busy", !!running);
    return window.dash_clientside.no_update;
  },
  /** A bar or a point was clicked: shows what it stands for on the Timeline. */
  profilePoint() {
    const [trigger] = window.dash_clientside.callback_context.triggered;
    const click = trigger && trigger.value;
    const point = click && click.points[0];
    if (point && point.customdata && point.customdata[0]) {
      const { trace } = JSON.parse(trigger.prop_id.slice(0, trigger.prop_id.lastIndexOf(".")));
      const [range, slice] = point.customdata;
      showOnTimeline({ trace, range, slice });
    }
    return window.dash_clientside.no_update;
  },
};
dash.callbacks("stepscope", clientside);
