// @ts-nocheck
// The health panel: how its table writes and sorts values, the selected file, and what leaves the page.
import * as dash from "../../../web/core/dash.ts";
import { gridComponents as renderers, gridFunctions as functions } from "../../../web/core/dash.ts";
import { elements } from "../../../web/core/dom.ts";
import { view } from "../../../web/page/view.ts";

const { toClipboard } = elements;

const count = (value) => Number(value).toLocaleString("en-US");

/** Bytes for people; to the letter what dashboard.numbers.file_size writes. */
function fileSize(size) {
  if (size < 1000) return `${size} B`;
  let scaled = size;
  let unit = "";
  for (unit of ["kB", "MB", "GB", "TB"]) {
    scaled /= 1000;
    if (scaled < 999.5) break;
  }
  return `${scaled >= 999.5 ? Math.round(scaled) : Number(scaled.toPrecision(3))} ${unit}`;
}

functions.stepscopeCount = count;
functions.stepscopeBytes = fileSize;
functions.stepscopeExactBytes = (size) => `${count(size)} ${size === 1 ? "byte" : "bytes"}`;
/** Nothing to see where there is nothing. */
functions.stepscopeSome = (value) => (value ? count(value) : "");
functions.stepscopeSkipped = (size) => (size ? fileSize(size) : "");

// What tells names apart is their end, so that is what stays when there is no room for all of one.
const h = (...args) => window.React.createElement(...args);
const cutName = (head, tail) =>
  h("div", { className: "cut-name" }, h("span", { className: "head" }, head), h("span", { className: "tail" }, tail));
renderers.HealthFile = ({ value }) => {
  const name = value.replace(/^events\.out\.tfevents\.(?=.)/, "\u2026");
  return cutName(name.slice(0, -8), name.slice(-8));
};
renderers.HealthRun = ({ value }) => {
  const at = value.lastIndexOf("/") + 1;
  return cutName(value.slice(0, at), value.slice(at));
};

const ORDER = { good: 0, open: 1, bad: 2 };
/** By how bad it is, then by the words. */
functions.stepscopeByHealth = (one, other, oneNode, otherNode) =>
  ORDER[oneNode.data.severity] - ORDER[otherNode.data.severity] || one.localeCompare(other);

/** Address of a table as CSV: of the files that the panel lists, or of the selected one. */
function address(button) {
  const names = button.dataset.selected ? ["file"] : ["show", "filter"];
  const query = names.map((name) => [name, view.values("health." + name)[0] || ""]).filter(([, value]) => value);
  return `/api/health/${button.dataset.table}.csv?${new URLSearchParams(query)}`;
}

async function copy(button) {
  const answer = await fetch(address(button));
  if (!answer.ok) return;
  await toClipboard(await answer.text());
  const label = button.querySelector("span:last-child");
  button.classList.add("done");
  label.textContent = "Copied";
  setTimeout(() => {
    button.classList.remove("done");
    label.textContent = "Copy";
  }, 1200);
}

function save(button) {
  const link = elements.make("a", { href: address(button), download: "" });
  document.body.append(link);
  link.click();
  link.remove();
}

/** Opens the panel, with a file selected where one is named. */
function openPanel(path) {
  const badge = document.getElementById("health-badge");
  if (badge) badge.click();
  view.update((_params, set) => {
    set("tab", ["health"]);
    set("health.show", []);
    set("health.filter", []);
    set("health.file", path ? [path] : []);
  });
}

function close() {
  window.dash_ag_grid.getApi("health-grid").deselectAll();
  view.update((_params, set) => set("health.file", []));
}

document.addEventListener("click", (event) => {
  const button = event.target.closest && event.target.closest("button");
  if (!button) return;
  if (button.classList.contains("health-copy")) copy(button);
  if (button.classList.contains("health-save")) save(button);
  if (button.classList.contains("health-open")) openPanel(button.dataset.path);
  if (button.id === "health-close") close();
});

const clientside = {
  openHealthFile(selected) {
    // Rows that leave the table take the selection with them; the file stays open until it is closed.
    if (Array.isArray(selected) && selected.length) {
      view.update((_params, set) => set("health.file", [selected[0].path]));
    }
    return window.dash_clientside.no_update;
  },
};
dash.callbacks("stepscope", clientside);
