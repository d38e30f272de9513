/** The chart above the table: its head with legend and choices, and the choice of chart. */
import { make } from "../../../web/core/dom.ts";
import { settings as runSettings } from "../../../runs/web/settings.generated.ts";
import type { Setting } from "../../../web/core/setting.ts";
import { view } from "../../../web/page/view.ts";
import { shadesVersion } from "./shades.ts";
import { type Coloring, coloring as coloringNow, hideTip, shade } from "./drawing.ts";
import { keepFocus } from "./focus.ts";
import { parallel } from "./parallel.ts";
import type { Data, ShownColumn } from "./payload.ts";
import { scatter } from "./scatter.ts";
import { short } from "./scales.ts";
import { settings } from "./settings.generated.ts";
import { columns, data, redraw, scheme } from "./state.ts";

const MOST_LEGEND = 10;
/** Settings the charts depend on. */
const { color, x, y, scale, order, brush } = settings;
const DRAWN = [color, x, y, scale, order, brush, runSettings.select];

/** A native select element; `options` are pairs of value and text. */
function choice(label: string, value: string, options: [string, string][], change: (value: string) => void) {
  const select = make("select", { ariaLabel: label, title: label, onchange: () => change(select.value) });
  for (const [key, text] of options) select.append(make("option", { value: key }, text));
  select.value = options.some(([key]) => key === value) ? value : options[0][0];
  select.dataset.focus = label;
  return make("label", {}, make("span", { className: "dim" }, label), select);
}

function legend({ scale, hue }: Coloring): HTMLElement {
  if (!scale) return make("span", { className: "hparams-legend count" }, "colors of the runs");
  const place = make("span", { className: "hparams-legend" });
  if (scale.kind === "category") {
    for (const label of scale.labels.slice(0, MOST_LEGEND)) {
      const dot = make("i");
      dot.style.background = hue(label);
      place.append(make("span", {}, dot, label === "" ? '""' : label));
    }
    const more = scale.labels.length - MOST_LEGEND;
    if (more > 0) place.append(make("span", { className: "dim" }, `and ${more} more`));
    return place;
  }
  if (!scale.ticks.length) return place;
  const bar = make("i", { className: "ramp" });
  bar.style.background = `linear-gradient(to right, ${[0, 0.25, 0.5, 0.75, 1].map(shade).join(",")})`;
  const end = (at: number) => make("span", {}, short(Number(scale.value(at).toPrecision(4))));
  place.append(end(0), bar, end(1), make("span", { className: "dim" }, scale.kind === "linear" ? "" : scale.kind));
  return place;
}

/** The content of the legend, for comparison. */
function legendState({ scale, hue }: Coloring): unknown {
  if (!scale) return "";
  if (scale.kind === "category") return [scale.labels, scale.labels.map(hue)];
  return [scale.kind, scale.ticks.length && [scale.value(0), scale.value(1)]];
}

let headOf = "";
let legendOf = "";
let headElement: HTMLElement | null = null;

/** The row above the chart; the same element as long as its choices are the same, so that an open list stays open. */
function head(chart: string, coloring: Coloring): HTMLElement {
  const named = columns().map((column) => [column.key, column.label]);
  const now = JSON.stringify([chart, named, coloring.key, view.read(settings.x), view.read(settings.y)]);
  const legendNow = JSON.stringify([legendState(coloring), scheme()]);
  if (!headElement || now !== headOf) headElement = newHead(chart, coloring, columns());
  else if (legendNow !== legendOf) headElement.querySelector(".hparams-legend")?.replaceWith(legend(coloring));
  [headOf, legendOf] = [now, legendNow];
  return headElement;
}

function newHead(chart: string, coloring: Coloring, columns: ShownColumn[]): HTMLElement {
  const named = columns.map(({ key, label }): [string, string] => [key, label]);
  const one = (label: string, setting: Setting<string>, first: [string, string], value = view.read(setting)) =>
    choice(label, value, first[0] ? [...named, first] : [first, ...named], (key) => view.write(setting, key));
  const rest = chart === "scatter"
    ? [one("x", settings.x, ["", "all hyperparameters"]), one("y", settings.y, ["", "all metrics"])]
    : [make("span", { className: "count hint" }, "Drag along an axis to select; drag its name to move it")];
  return make(
    "div",
    { className: "hparams-head" },
    one("Color", settings.color, ["@run", "run"], coloring.key),
    legend(coloring),
    make("span", { className: "spacer" }),
    ...rest,
  );
}

function noChart({ rows, sessions, loading, whole_table, found }: Data): HTMLElement {
  const [why, what] = rows.length
    ? ["No column is chosen", "Choose hyperparameters and metrics on the left."]
    : !sessions && loading
    ? ["No session so far", "The log directory is still being read."]
    : !whole_table && !found
    ? ["No session matches the search", "Search for something else, or change the filters on the left."]
    : ["No session matches the filters", "Change the filters on the left."];
  return make("div", { className: "notice none" }, make("strong", {}, why), make("span", {}, what));
}

const observer = new ResizeObserver(() => redraw());
let observed: HTMLElement | null = null;
let shown = "";
let drawn: Data | null = null;

export function drawChart(): void {
  const chart = view.read(settings.chart);
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
  // If nothing it shows has changed, an interaction in progress must not be disturbed.
  const state = [
    chart,
    place.clientWidth,
    scheme(),
    shadesVersion(),
    ...DRAWN.flatMap(({ name }) => [name, ...view.values(name)]),
  ].join("\n");
  if (state === shown && drawn === data()) return;
  shown = state;
  drawn = data();
  if (!drawn.rows.length || !columns().length) {
    hideTip();
    return place.replaceChildren(noChart(drawn));
  }
  const scrolled = place.querySelector(".hparams-scroll")?.scrollLeft ?? 0;
  const coloring = coloringNow();
  const draw = chart === "parallel" ? parallel : scatter;
  const [above, below] = [head(chart, coloring), draw(place.clientWidth, coloring)];
  keepFocus(place, () => {
    // An element that is removed and reinserted loses its open list.
    if (place.firstChild === above && place.children.length === 2) place.children[1].replaceWith(below);
    else place.replaceChildren(above, below);
  });
  const scroll = place.querySelector(".hparams-scroll");
  if (scroll) scroll.scrollLeft = scrolled;
}
