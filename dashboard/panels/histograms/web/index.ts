// @ts-nocheck
// The histograms panel: what is under the pointer, the runs of a card, downloads.
import * as charts from "../../../web/cards/plotly.ts";
import * as dash from "../../../web/core/dash.ts";
import * as large from "./large.ts";
import * as steps from "../../../web/core/step_slider.ts";
import { cards as pageCards } from "../../../web/cards/grid.ts";
import { elements } from "../../../web/core/dom.ts";
import { runs as pageRuns } from "../../../runs/web/state.ts";
import { view } from "../../../web/page/view.ts";

const { make, numbers, runLabel } = elements;

/** Five significant digits, without noise. */
function show(value) {
  if (typeof value !== "number") return value === null ? "–" : String(value);
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) return value.toExponential(3).replace("-", "−").replace("e+", "e");
  return Number(value.toPrecision(5)).toLocaleString("en-US", { maximumFractionDigits: 9 }).replace("-", "−");
}

// --- what is under the pointer -----------------------------------------------------------------------------

let box = null;
let hot = null;
/** What the box shows now, so that an answer that comes late is not put into another's. */
let asked = "";

function leave() {
  asked = "";
  if (box) box.hidden = true;
  if (hot) hot.classList.remove("hot");
  hot = null;
}

/** Height of a ridge at x, by the line that is drawn. */
function heightAt(trace, x) {
  const xs = trace.x;
  const ys = trace.y;
  if (!xs || !xs.length || x < xs[0] || x > xs[xs.length - 1]) return null;
  let i = 0;
  while (i + 1 < xs.length && xs[i + 1] < x) i += 1;
  const j = Math.min(i + 1, xs.length - 1);
  const share = xs[j] > xs[i] ? (x - xs[i]) / (xs[j] - xs[i]) : 0;
  return ys[i] + (ys[j] - ys[i]) * share;
}

/** Trace under the pointer: in ridges the foremost whose shape is hit, else the nearest line. */
function traceAt(plot, mode, x, px, py) {
  const axis = plot._fullLayout.yaxis;
  let best = -1;
  let distance = 24;
  for (let i = plot._fullData.length - 1; i >= 0; i -= 1) {
    const trace = plot._fullData[i];
    const y = heightAt(trace, x);
    if (y === null) continue;
    const top = axis.c2p(axis.type === "date" ? axis.d2c(y) : y);
    const bottom = mode === "offset" ? axis.c2p(axis.type === "date" ? axis.d2c(trace.meta.at) : trace.meta.at) : top;
    if (mode === "offset" && py >= top && py <= bottom) return i;
    const off = Math.min(Math.abs(py - top), Math.abs(py - bottom));
    if (off < distance) {
      distance = off;
      best = i;
    }
  }
  return best;
}

/** The bucket of x: stair i lies between points 2i + 1 and 2i + 2. */
function bucketAt(xs, counts, x) {
  let i = 0;
  while (i + 1 < counts.length && xs[2 * i + 2] <= x) i += 1;
  return { left: xs[2 * i + 1], right: xs[2 * i + 2], count: counts[i] };
}

function ridgeFacts(plot, mode, x, px, py) {
  const at = traceAt(plot, mode, x, px, py);
  if (at < 0) return null;
  const trace = plot._fullData[at];
  const { step, wall, total, index, run, counts } = trace.meta;
  return { at, step, wall, total, index, run, ...bucketAt(trace.x, numbers(counts), x) };
}

/** The column nearest to a place in pixels. */
function columnAt(axis, meta, px) {
  const places = numbers(meta.places);
  let best = 0;
  for (let i = 1; i < places.length; i += 1) {
    if (Math.abs(axis.c2p(places[i]) - px) < Math.abs(axis.c2p(places[best]) - px)) best = i;
  }
  return {
    column: best,
    step: numbers(meta.steps)[best],
    wall: numbers(meta.walls)[best],
    index: numbers(meta.indices)[best],
    total: numbers(meta.totals)[best],
  };
}

function heatFacts(plot, px, py) {
  const { meta } = plot._fullData[0];
  const found = columnAt(plot._fullLayout.xaxis, meta, px);
  const y = plot._fullLayout.yaxis.p2c(py);
  const edges = numbers(meta.edges);
  const bins = edges.length - 1;
  const row = Math.floor(((y - edges[0]) / (edges[bins] - edges[0])) * bins);
  if (row < 0 || row >= bins) return null;
  const counts = numbers(meta.counts);
  return { at: -1, ...found, left: edges[row], right: edges[row + 1], count: counts[found.column * bins + row] };
}

const bucketRows = (facts) => {
  const share = facts.total > 0 ? ` (${Number(((100 * facts.count) / facts.total).toPrecision(3))} %)` : "";
  return [
    ["Step", elements.step(facts.step)],
    ["From", show(facts.left)],
    ["To", show(facts.right)],
    ["Count", show(facts.count) + share],
    ["Of", show(facts.total)],
    ["Time", elements.when(facts.wall)],
  ];
};

function bandFacts(plot, px) {
  const { meta } = plot._fullData[plot._fullData.length - 1];
  if (!meta || !meta.points) return null;
  const found = columnAt(plot._fullLayout.xaxis, meta, px);
  const points = meta.points;
  const values = numbers(meta.values).subarray(found.column * points.length, (found.column + 1) * points.length);
  const name = (
    point,
  ) => (point === 0 ? "Min" : point === 5000 ? "Median" : point === 10000 ? "Max" : `${(point / 100).toFixed(2)} %`);
  const rows = points.map((point, i) => [name(point), show(values[i])]).reverse();
  rows.unshift(["Step", elements.step(found.step)]);
  rows.push(["Of", show(found.total)], ["Time", elements.when(found.wall)]);
  return { at: -1, ...found, rows };
}

function factsAt(plot, mode, px, py) {
  if (mode === "bands") return bandFacts(plot, px);
  const facts = mode === "heatmap"
    ? heatFacts(plot, px, py)
    : ridgeFacts(plot, mode, plot._fullLayout.xaxis.p2c(px), px, py);
  return facts && facts.left !== undefined ? { ...facts, rows: bucketRows(facts) } : null;
}

/** Tag, run and place of the histogram under the pointer. */
const source = (meta, facts) => ({ tag: meta.tag, run: facts.run ?? meta.run, index: facts.index });

function hover({ card, plot, layout, px, py }, event) {
  if (!plot._fullData.length || !layout.meta || !layout.meta.mode) return leave();
  const { mode } = layout.meta;
  const facts = factsAt(plot, mode, px, py);
  if (!facts) return leave();
  const line = facts.at < 0 ? null : plot.querySelectorAll(".scatterlayer .trace")[facts.at];
  if (hot && hot !== line) hot.classList.remove("hot");
  if (line) line.classList.add("hot");
  hot = line;
  if (!box) {
    document.body.append(
      box = make(
        "div",
        { id: "bucket" },
        make("div", { className: "what" }),
        make("div", { className: "bucket-picture" }),
      ),
    );
  }
  const rows = facts.rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]);
  const what = [make("dl", {}, ...rows)];
  if (facts.run) {
    what.unshift(make("div", { className: "run" }, pageRuns && pageRuns.label ? pageRuns.label(facts.run) : facts.run));
  }
  box.firstChild.replaceChildren(...what);
  box.hidden = false;
  const from = source(layout.meta, facts);
  const key = large.address(from);
  if (key !== asked) {
    asked = key;
    large.fetch(from).then((found) => {
      if (asked !== key) return;
      box.lastChild.replaceChildren(...large.picture(found, 300, 110), large.facts(found, show));
      charts.placeBeside(box, event, 16);
    });
  }
  charts.placeBeside(box, event, 16);
  card.stepscopeUnder = from;
}

charts.onPointer(".histograms-card", hover, leave);

// A click that is no drag opens the histogram under the pointer.
let down = null;
document.addEventListener("pointerdown", (event) => (down = { x: event.clientX, y: event.clientY }), true);
document.addEventListener(
  "click",
  (event) => {
    const chart = event.target.closest && event.target.closest(".histograms-card .chart");
    if (!chart || !down || Math.hypot(event.clientX - down.x, event.clientY - down.y) > 4) return;
    const card = chart.closest(".card");
    if (card.stepscopeUnder && asked) large.open(card.stepscopeUnder, show);
  },
  true,
);

// --- all runs of a tag at one step -------------------------------------------------------------------------

const cards: Map<string, { fill: HTMLElement; slider: any; legend: HTMLElement; meta: any }> = new Map();
const axis = () => view.values("histograms.axis")[0] || "step";

function showRuns(article, meta) {
  const fill = article.querySelector(".fill");
  let known = cards.get(meta.tag);
  if (!known || known.fill !== fill || !fill.firstChild) {
    const slider = steps.slider({ setting: "histograms.step", key: meta.tag, label: "Step" });
    known = { fill, slider, legend: make("ul", { className: "legend" }), meta };
    fill.replaceChildren(slider.element, known.legend);
    cards.set(meta.tag, known);
  }
  known.meta = meta;
  known.slider.update(meta.slider, axis());
  const entries = meta.runs.map((run) => {
    const said = run.said ? [make("span", { className: "said" }, run.said)] : [];
    return make("li", { className: run.drawn ? "" : "absent" }, runLabel(run), ...said);
  });
  known.legend.replaceChildren(...entries);
}

// --- download ----------------------------------------------------------------------------------------------

function closeMenu() {
  document.querySelectorAll(".menu.of-histograms").forEach((menu) => menu.remove());
}

function openMenu(card, button) {
  closeMenu();
  const plot = card.querySelector(".js-plotly-plot");
  const meta = plot && plot._fullLayout && plot._fullLayout.meta;
  if (!meta || !meta.mode) return;
  const runs = meta.mode === "runs" ? meta.runs.map((run) => run.run) : [meta.run];
  const range = ["first", "last"].flatMap((edge) => view.values("histograms." + edge).map((value) => [edge, value]));
  const query = [["tag", meta.tag], ...runs.map((run) => ["run", run]), ...range];
  const text = range.length ? "Histograms of the range as" : "All histograms as";
  const links = ["csv", "json"].map((format) =>
    make(
      "a",
      { href: "/api/histograms/download?" + new URLSearchParams([...query, ["format", format]]), download: "" },
      `${text} ${format.toUpperCase()}`,
    )
  );
  const menu = make("div", { className: "menu of-histograms" }, ...links);
  document.body.append(menu);
  const place = button.getBoundingClientRect();
  menu.style.top = place.bottom + 4 + "px";
  menu.style.left = place.right - menu.offsetWidth + "px";
  menu.querySelector("a").focus();
}

document.addEventListener("click", (event) => {
  const button = event.target.closest && event.target.closest(".histograms-card .act-download");
  if (button) openMenu(button.closest(".card"), button);
  else closeMenu();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") closeMenu();
});

const clientside = {
  /** Figures of the cards -> what stands below those with all runs. */
  drawHistograms(figures) {
    const inputs = window.dash_clientside.callback_context.inputs_list[0];
    figures.forEach((figure, i) => {
      const meta = figure && figure.layout && figure.layout.meta;
      if (!meta || meta.mode !== "runs") return;
      const article = pageCards.find("histograms", inputs[i].id.key);
      const known = cards.get(meta.tag);
      if (article && !(known && known.meta === meta && known.fill.isConnected)) showRuns(article, meta);
    });
    return window.dash_clientside.no_update;
  },
  /** What the toolbar says that needs no drawing. */
  adjustHistograms() {
    const root = document.getElementById("histograms-panel");
    root.dataset.bins = view.values("histograms.bins")[0] || "written";
    for (const known of cards.values()) if (known.fill.isConnected) known.slider.update(known.meta.slider, axis());
    return window.dash_clientside.no_update;
  },
};
dash.callbacks("stepscope", clientside);
