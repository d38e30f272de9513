// @ts-nocheck
// Rows of the Profile panel's tables: rows within rows, the row that is selected, and distributions in cells.
//
// The grid knows no rows within rows. A group's row has "@group", and how many are in it as "@size"; those in it have
// the same number as "@in", and "@shown" while it is open. What is not shown is filtered out, and sorting keeps what is
// in a group behind the group.
import * as dash from "../../../web/core/dash.ts";
import { gridComponents as renderers, gridFunctions as functions } from "../../../web/core/dash.ts";
import * as profileText from "./index.ts";

const h = (...args) => window.React.createElement(...args);

const isGroup = (data) => !!data && "@group" in data;

// --- groups ------------------------------------------------------------------------------------------------

functions.stepscopeProfileTreeShown = (node) => !("@in" in node.data) || !!node.data["@shown"];

/** Puts what is in groups behind the group, each group's in the order that sorting gave them. */
functions.stepscopeProfileTreeOrder = ({ nodes }) => {
  const inside: Map<number, any[]> = new Map();
  const outside = [];
  const groups = new Set(nodes.filter((node) => isGroup(node.data)).map((node) => node.data["@group"]));
  for (const node of nodes) {
    const group = node.data["@in"];
    // A filter may have taken the group out.
    if (group === undefined || !groups.has(group)) outside.push(node);
    else if (inside.has(group)) inside.get(group).push(node);
    else inside.set(group, [node]);
  }
  let place = 0;
  for (const node of outside) {
    nodes[place++] = node;
    if (isGroup(node.data)) { for (const member of inside.get(node.data["@group"]) || []) nodes[place++] = member; }
  }
};

/** What the search looks through: a group is found by what is in it, and what is in it by the group. */
functions.stepscopeProfileTreeText = (params) => {
  const { data, value, api } = params;
  if (isGroup(data)) return [value, ...(texts(api, params.column).get(data["@group"]) || [])].join(" ");
  if (!("@in" in data)) return value;
  const group = api.getRowNode(`group ${data["@in"]}`);
  return group ? `${value} ${group.data[params.colDef.field]}` : value;
};

const kept: WeakMap<object, Map<number, string[]>> = new WeakMap();

/** The names in each group. */
function texts(api, column) {
  if (!kept.has(api)) {
    const found = new Map();
    const field = column.getColDef().field;
    api.forEachNode(({ data }) => {
      if (!("@in" in data)) return;
      if (!found.has(data["@in"])) found.set(data["@in"], []);
      found.get(data["@in"]).push(data[field]);
    });
    kept.set(api, found);
  }
  return kept.get(api);
}

const searched: WeakSet<object> = new WeakSet();

/** Shows what is in the open groups, and while somebody searches, whatever is found. */
function refresh(api) {
  const open = new Set();
  api.forEachNode(({ data }) => isGroup(data) && data["@open"] && open.add(data["@group"]));
  const all = searched.has(api);
  api.forEachNode(({ data }) => "@in" in data && (data["@shown"] = all || open.has(data["@in"])));
  api.onFilterChanged();
  api.refreshCells({ force: true, columns: [api.getAllDisplayedColumns()[0]] });
}

function set(api, node, open) {
  if (!!node.data["@open"] === open) return;
  node.data["@open"] = open;
  refresh(api);
}

/** What stands before a name in a table of groups: what opens a group, or room for it. */
function chevron(data, api, node) {
  if (!isGroup(data)) return data["@row"] === "total" ? null : h("span", { className: "indent" });
  const open = !!data["@open"];
  return h("button", {
    className: "profile-chevron",
    type: "button",
    tabIndex: -1,
    "aria-expanded": String(open),
    "aria-label": open ? "Close the group" : "Open the group",
    onClick: (event) => {
      event.stopPropagation();
      set(api, node, !open);
    },
  }, h("span", { className: "icon", style: { "--icon": "var(--icon-chevron)", "--size": "12px" } }));
}

const TREE_KEYS = new Set(["Enter", "ArrowLeft", "ArrowRight"]);
const plain = (event) => !(event.ctrlKey || event.metaKey || event.altKey || event.shiftKey);

/** Whether a key in the first column opens, closes or leaves a group, and so does nothing else. */
const isTreeKey = ({ event, node }) =>
  TREE_KEYS.has(event.key) && plain(event) && !node.rowPinned &&
  (isGroup(node.data)
    ? event.key !== "ArrowRight" || !node.data["@open"]
    : event.key === "ArrowLeft" && "@in" in node.data);

functions.stepscopeProfileTreeKey = (params) => isTreeKey(params);

/** Enter follows a row to the Timeline, and opens and closes groups; the arrows open, close and leave them. */
functions.stepscopeProfileKey = (params) => {
  const { event, node, api, column } = params;
  if (!event || !TREE_KEYS.has(event.key) || !plain(event) || node.rowPinned) return;
  if (column !== api.getAllDisplayedColumns()[0]) return;
  if (isGroup(node.data)) {
    const open = !!node.data["@open"];
    if (event.key === "Enter") set(api, node, !open);
    else set(api, node, event.key === "ArrowRight");
  } else if (event.key === "ArrowLeft" && "@in" in node.data) {
    const group = api.getRowNode(`group ${node.data["@in"]}`);
    if (group && group.rowIndex !== null) api.setFocusedCell(group.rowIndex, column);
  } else if (event.key === "Enter") {
    const link = event.target.querySelector && event.target.querySelector("a.profile-at[href]");
    if (link) link.click();
  }
};

// --- the row that is selected ------------------------------------------------------------------------------

/** Brings the selected row into view and focuses it; a group that it is in is opened. */
function bring(api, node, row) {
  const group = "@in" in node.data && api.getRowNode(`group ${node.data["@in"]}`);
  if (group) set(api, group, true);
  api.ensureNodeVisible(node, "middle");
  const active = document.activeElement;
  // Somebody who types elsewhere goes on typing there.
  const focuses = !(active && active.matches("input[type=search], input[type=text], textarea"));
  if (focuses && node.rowIndex !== null) api.setFocusedCell(node.rowIndex, api.getAllDisplayedColumns()[0]);
  let left = MOST_FRAMES;
  (function show() {
    const shown = document.querySelector(`.profile-grid .ag-center-cols-container [row-id="${CSS.escape(row)}"]`);
    const cell = (shown && shown.querySelector(".ag-cell")) as HTMLElement | null;
    // The grid draws what it scrolled to some frames later.
    if (!cell) return --left && requestAnimationFrame(show);
    shown.scrollIntoView({ block: "nearest" });
    if (focuses) cell.focus({ preventScroll: true });
  })();
}

const MOST_FRAMES = 60;
const PATIENCE_MS = 10_000;
let waiting = 0;

const clientside = {
  /** The row that the page is to open with: shows it once its table has selected it. */
  profileSelect(chosen) {
    clearTimeout(waiting);
    const began = performance.now();
    const [table, row] = chosen || [];
    (function look() {
      if (!chosen || performance.now() - began > PATIENCE_MS) return;
      const card = document.querySelector(
        `.profile-card[data-table="${CSS.escape(table)}"][data-chosen="${CSS.escape(row)}"] .ag-row`,
      );
      const api = card && window.dash_ag_grid.getApi({ table, type: "profile-grid" });
      const node = api && !api.isDestroyed() && api.getRowNode(row);
      if (node && node.isSelected()) bring(api, node, row);
      else waiting = setTimeout(look, 50);
    })();
    return window.dash_clientside.no_update;
  },
};
dash.callbacks("stepscope", clientside);

// --- distributions -----------------------------------------------------------------------------------------

const WIDTH = 3;
const HEIGHT = 16;

/** How many slices are how long, as bars; hovering one says what it stands for. */
renderers.ProfileSpread = ({ value }) => {
  if (!Array.isArray(value)) return null;
  const [low, high, ...counts] = value;
  const { time } = profileText;
  const most = Math.max(...counts);
  const all = counts.reduce((sum, count) => sum + count, 0);
  const bound = (index) => time(low * Math.pow(high / low, index / counts.length));
  const parts = counts.map((count, index) => {
    // One of a million is seen too.
    const tall = count ? Math.max(1.5, (HEIGHT * count) / most) : 0;
    return h(
      "g",
      { key: index },
      h("rect", { className: "hit", x: index * WIDTH, y: 0, width: WIDTH, height: HEIGHT }),
      tall
        ? h("rect", { className: "bar", x: index * WIDTH, y: HEIGHT - tall, width: WIDTH - 0.75, height: tall })
        : null,
      h(
        "title",
        {},
        `${bound(index)} to ${bound(index + 1)}: ${count.toLocaleString("en-US")} of ${all.toLocaleString("en-US")}`,
      ),
    );
  });
  const peak = counts.indexOf(most);
  const words = `${all.toLocaleString("en-US")} durations, most from ${bound(peak)} to ${bound(peak + 1)}`;
  return h("svg", {
    className: "profile-spread",
    width: WIDTH * counts.length,
    height: HEIGHT,
    role: "img",
    "aria-label": words,
  }, ...parts);
};

export const profileTree = {
  chevron,
  /** Searches a table; groups open for what is found in them. */
  search(api, text) {
    if (text) searched.add(api);
    else searched.delete(api);
    api.setGridOption("quickFilterText", text);
    refresh(api);
  },
  /** Opens or closes all groups. */
  toggleAll(api, button) {
    if (!api) return;
    const open = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(open));
    button.querySelector("span:last-child").textContent = open ? "Close all" : "Open all";
    api.forEachNode(({ data }) => isGroup(data) && (data["@open"] = open));
    refresh(api);
  },
};
