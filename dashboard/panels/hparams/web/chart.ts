// @ts-nocheck
// The chart of the hparams panel: its head with legend and choices, its tooltip, and which of the charts is drawn.
import { coloring as hparamsColoring, shade, short } from "./scales.ts";
import { columns as hparamsColumns, dark, data, redraw, setSetting, setting, settings } from "./index.ts";
import { elements } from "../../../web/core/dom.ts";
import { parallel } from "./parallel.ts";
import { scatter } from "./scatter.ts";
import { view } from "../../../web/page/view.ts";

const { make, runLabel } = elements;
const MOST_LEGEND = 10;
const MOST_TIP = 24;

/** A native choice: `options` as [value, text]. */
function choice(label, value, options, change) {
  const select = make("select", { ariaLabel: label, title: label, onchange: () => change(select.value) });
  for (const [key, text] of options) select.append(make("option", { value: key }, text));
  select.value = options.some(([key]) => key === value) ? value : options[0][0];
  select.dataset.focus = label;
  return make("label", {}, make("span", { className: "dim" }, label), select);
}

function legend(coloring) {
  const { column, scale, hue } = coloring;
  if (!column) return make("span", { className: "hparams-legend count" }, "colours of the runs");
  const place = make("span", { className: "hparams-legend" });
  if (scale.kind === "category") {
    scale.labels.slice(0, MOST_LEGEND).forEach((label) => {
      const dot = make("i", {});
      dot.style.background = hue(label);
      place.append(make("span", {}, dot, label === "" ? '""' : label));
    });
    const more = scale.labels.length - MOST_LEGEND;
    if (more > 0) place.append(make("span", { className: "dim" }, `and ${more} more`));
    return place;
  }
  if (!scale.ticks.length) return place;
  const bar = make("i", { className: "ramp" });
  bar.style.background = `linear-gradient(to right, ${[0, 0.25, 0.5, 0.75, 1].map(shade).join(",")})`;
  const end = (at) => short(Number(scale.value(at).toPrecision(4)));
  place.append(
    make("span", {}, end(0)),
    bar,
    make("span", {}, end(1)),
    make("span", { className: "dim" }, scale.kind === "linear" ? "" : scale.kind),
  );
  return place;
}

let headShown = "";
let headElement = null;

/** The row above the chart; the same element as long as it says the same, so that an open list stays open. */
function head(chart, coloring) {
  const columns = hparamsColumns();
  const { scale, hue } = coloring;
  const legends = !scale
    ? ""
    : scale.kind === "category"
    ? [scale.labels, scale.labels.map(hue)]
    : [scale.kind, scale.ticks.length && [scale.value(0), scale.value(1)]];
  const now = JSON.stringify([
    chart,
    columns.map((column) => [column.key, column.label]),
    coloring.key,
    setting("x"),
    setting("y"),
    legends,
    dark(),
  ]);
  if (!headElement || now !== headShown) headElement = newHead(chart, coloring, columns);
  headShown = now;
  return headElement;
}

function newHead(chart, coloring, columns) {
  const named = columns.map((column) => [column.key, column.label]);
  const place = make("div", { className: "hparams-head" });
  place.append(
    choice("Colour", coloring.key, [...named, ["@run", "run"]], (key) => setSetting("color", key)),
    legend(coloring),
    make("span", { className: "spacer" }),
  );
  if (chart === "scatter") {
    place.append(
      choice("x", setting("x"), [["", "all hyperparameters"], ...named], (key) => setSetting("x", key)),
      choice("y", setting("y"), [["", "all metrics"], ...named], (key) => setSetting("y", key)),
    );
  } else {
    place.append(make("span", { className: "count hint" }, "Drag along an axis to select; drag its name to move it"));
  }
  return place;
}

// --- tooltip -----------------------------------------------------------------------------------------------

let tip = null;
export function hideTip() {
  if (tip) tip.hidden = true;
}

/** Says all of a row beside the pointer; `keys` are the columns that the pointer is on. */
export function showTip(row, keys, event) {
  if (!tip || !tip.isConnected) document.body.append(tip = make("div", { className: "hparams-tip", role: "tooltip" }));
  const lines = hparamsColumns().filter((column) => row.v[column.place] !== null || column.key in row.several);
  const table = make("table", {});
  for (const column of lines.slice(0, MOST_TIP)) {
    const step = row.s[column.place];
    table.append(
      make(
        "tr",
        { className: keys.includes(column.key) ? "on" : "" },
        make("th", {}, column.label),
        make("td", {}, row.several[column.key] || short(row.v[column.place])),
        make("td", { className: "dim" }, step === null ? "" : `step ${step.toLocaleString("en-US")}`),
      ),
    );
  }
  const name = row.n > 1 ? `${row.id} (${row.n} sessions)` : row.id;
  tip.replaceChildren(runLabel({ ...row, run: name }), table);
  if (lines.length > MOST_TIP) tip.append(make("div", { className: "dim" }, `and ${lines.length - MOST_TIP} more`));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left =
    Math.max(4, event.clientX + 16 + box.width > innerWidth ? event.clientX - 16 - box.width : event.clientX + 16) +
    "px";
  tip.style.top = Math.max(4, Math.min(event.clientY + 12, innerHeight - box.height - 4)) + "px";
}

// --- canvases ----------------------------------------------------------------------------------------------

/** A canvas of a size in CSS pixels, sharp on every screen; returns its context. */
export function canvas(width, height, className) {
  const element = make("canvas", { className });
  const density = window.devicePixelRatio || 1;
  element.width = Math.round(width * density);
  element.height = Math.round(height * density);
  element.style.width = width + "px";
  element.style.height = height + "px";
  const context = element.getContext("2d");
  context.scale(density, density);
  context.font = "11px ui-sans-serif, system-ui, -apple-system, 'Segoe UI', Roboto, Arial, sans-serif";
  return context;
}

export const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

/** A text cut to a width. */
export function cut(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let end = text.length;
  while (end > 1 && context.measureText(text.slice(0, end) + "\u2026").width > width) end--;
  return text.slice(0, end) + "\u2026";
}

const observer = new ResizeObserver(() => redraw());
let observed = null;
let shownWidth = 0;
let shown = "";

export function drawChart(chart) {
  const place = document.getElementById("hparams-chart");
  if (!place) return;
  if (observed !== place) {
    observer.disconnect();
    observer.observe(observed = place);
    shown = "";
  }
  if (chart !== "parallel" && chart !== "scatter") {
    shown = "";
    hideTip();
    return place.replaceChildren();
  }
  // Nothing it shows has changed: a hand on it is not to be disturbed.
  const state = [
    chart,
    place.clientWidth,
    dark(),
    ...["color", "x", "y", "scale", "order", "brush"].flatMap((name) => [name, ...settings(name)]),
    ...view.values("runs.select"),
  ].join("\n");
  if (state === shown && drawn === data()) return;
  shown = state;
  drawn = data();
  shownWidth = place.clientWidth;
  const focused = place.contains(document.activeElement) && document.activeElement.dataset.focus;
  const scrolled = place.querySelector(".hparams-scroll")?.scrollLeft || 0;
  const coloring = hparamsColoring();
  if (!drawn.rows.length || !hparamsColumns().length) {
    const why = drawn.rows.length ? "No column is chosen" : "No session passes the filters";
    const what = drawn.rows.length
      ? "Choose hyperparameters and metrics on the left."
      : "Change the filters on the left.";
    return place.replaceChildren(
      make("div", { className: "notice none" }, make("strong", {}, why), make("span", {}, what)),
    );
  }
  const draw = chart === "parallel" ? parallel : scatter;
  const [above, below] = [head(chart, coloring), draw(shownWidth, coloring)];
  // An element that is taken out and put in again loses its open list.
  if (place.firstChild === above && place.children.length === 2) place.lastChild.replaceWith(below);
  else place.replaceChildren(above, below);
  place.querySelector(".hparams-scroll").scrollLeft = scrolled;
  const again = focused && place.querySelector(`[data-focus="${CSS.escape(focused)}"]`);
  if (again && again !== document.activeElement) again.focus();
}
let drawn = null;
