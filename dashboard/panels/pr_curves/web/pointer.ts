// @ts-nocheck
// The PR curves panel: a dot on each curve at the threshold, and what is under the pointer.
import * as charts from "../../../web/cards/plotly.ts";
import { amount, at, cards, ratio } from "./index.ts";
import { elements } from "../../../web/core/dom.ts";
import { runs } from "../../../runs/web/state.ts";

const { make, numbers } = elements;
const MOST_ROWS = 16;

const columns = (card, run) =>
  (card.meta.view === "roc" ? [run.fpr, run.tpr] : [run.recall, run.precision]).map(numbers);

/** What the page calls a run. */
const named = (run) => (runs && runs.label ? runs.label(run) : run);

// --- dots --------------------------------------------------------------------------------------------------

/** Puts a dot on each curve at the card's threshold; none where the curve does not reach it, or it is zoomed away. */
export const placeDots = function (card) {
  const article = card.fill && card.fill.closest(".card");
  const chart = article && article.querySelector(".chart");
  const plot = chart && chart.querySelector(".js-plotly-plot");
  // What is below a chart may be told of its data before Plotly has made the chart itself.
  if (chart && chart.isConnected && !(plot && plot.on)) requestAnimationFrame(() => placeDots(card));
  if (!plot || !plot.on) return;
  if (!plot.stepscopeDots) {
    plot.stepscopeDots = true;
    plot.on("plotly_afterplot", () => placeDots(card));
    plot.on("plotly_relayout", () => noteZoom(article, plot));
  }
  let layer = chart.querySelector(".pr-dots");
  if (!layer) chart.append(layer = make("div", { className: "pr-dots", "aria-hidden": "true" }));
  const layout = plot._fullLayout;
  if (card.meta.view === "steps" || !layout || !layout._size || !layout.xaxis || layout.xaxis.visible === false) {
    return layer.replaceChildren();
  }
  const { l, t, w, h } = layout._size;
  const dots = (card.dots || []).flatMap(({ run, row }) => {
    if (card.meta.view === "pr" && !row.predicted) return [];
    const [xs, ys] = columns(card, run);
    const [x, y] = [layout.xaxis.c2p(xs[row.i]), layout.yaxis.c2p(ys[row.i])];
    if (!(x >= -1 && y >= -1 && x <= w + 1 && y <= h + 1)) return [];
    const dot = make("i", { "data-run": run.run });
    dot.style.left = l + x + "px";
    dot.style.top = t + y + "px";
    dot.style.background = run.color;
    return [dot];
  });
  layer.replaceChildren(...dots);
};

function noteZoom(article, plot) {
  const { xaxis, yaxis } = plot._fullLayout;
  article.classList.toggle("zoomed", !xaxis.autorange || !yaxis.autorange);
}

// --- hover -------------------------------------------------------------------------------------------------

let box = null;

function leave() {
  if (box) box.hidden = true;
}

/** Of each run the point nearest to the pointer, and how far it is in pixels. */
function nearestPoints(card, layout, px, py) {
  const rows = [];
  for (const run of card.meta.runs) {
    if (!run.thresholds) continue;
    const [xs, ys] = columns(card, run);
    const last = card.meta.view === "pr" ? run.shown : xs.length;
    let best = -1;
    let distance = Infinity;
    for (let i = 0; i < last; i += 1) {
      const off = Math.hypot(layout.xaxis.c2p(xs[i]) - px, layout.yaxis.c2p(ys[i]) - py);
      if (off < distance) [best, distance] = [i, off];
    }
    if (best >= 0) rows.push({ run, distance, ...at(run, best) });
  }
  return rows;
}

function table(card, rows) {
  const name = card.meta.view === "roc" ? "auc" : "ap";
  const near = rows.reduce((best, row) => (row.distance < best.distance ? row : best), rows[0]);
  rows.sort((a, b) => (b.run[name] ?? -1) - (a.run[name] ?? -1));
  const from = Math.max(0, Math.min(rows.indexOf(near) - (MOST_ROWS >> 1), rows.length - MOST_ROWS));
  const heads = ["", "Run", "Threshold", "Precision", "Recall", "TP", "FP", "TN", "FN", "Step"];
  const body = rows.slice(from, from + MOST_ROWS).map((row) => {
    const dot = make("i", {});
    dot.style.background = row.run.color;
    const cells = [
      dot,
      make("bdi", {}, named(row.run.run)),
      row.threshold.toFixed(3),
      ratio(row.precision),
      ratio(row.recall),
      ...["tp", "fp", "tn", "fn"].map((count) => amount(row[count])),
      elements.step(row.run.step),
    ];
    return make("tr", { className: row === near ? "nearest" : "" }, ...cells.map((cell) => make("td", {}, cell)));
  });
  const content = [
    make(
      "table",
      {},
      make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", {}, head)))),
      make("tbody", {}, ...body),
    ),
  ];
  if (rows.length > MOST_ROWS) {
    content.push(make("div", { className: "more" }, `and ${rows.length - MOST_ROWS} more runs`));
  }
  return content;
}

/** One number of each run over steps: the point nearest to the pointer's place on the axis. */
function trackTable(plot, layout, px) {
  const rows = [];
  for (const trace of plot._fullData) {
    if (!trace.meta || trace.meta.role !== "track" || !trace.x || !trace.x.length) continue;
    let best = 0;
    let distance = Infinity;
    for (let i = 0; i < trace.x.length; i += 1) {
      const off = Math.abs(layout.xaxis.d2p(trace.x[i]) - px);
      if (off < distance) [best, distance] = [i, off];
    }
    rows.push({
      meta: trace.meta,
      value: trace.y[best],
      step: numbers(trace.meta.steps)[best],
      wall: numbers(trace.meta.walls)[best],
    });
  }
  if (!rows.length) return null;
  rows.sort((a, b) => (Number.isNaN(b.value) ? -1 : b.value) - (Number.isNaN(a.value) ? -1 : a.value));
  const body = rows.slice(0, MOST_ROWS).map((row) => {
    const dot = make("i", {});
    dot.style.background = row.meta.color;
    const cells = [
      dot,
      make("bdi", {}, named(row.meta.run)),
      ratio(row.value),
      elements.step(row.step),
      elements.when(row.wall),
    ];
    return make("tr", {}, ...cells.map((cell) => make("td", {}, cell)));
  });
  const head = make(
    "tr",
    {},
    ...["", "Run", layout.yaxis.title.text, "Step", "Time"].map((text) => make("th", {}, text)),
  );
  const more = rows.length > MOST_ROWS
    ? [make("div", { className: "more" }, `and ${rows.length - MOST_ROWS} more runs`)]
    : [];
  return [make("table", {}, make("thead", {}, head), make("tbody", {}, ...body)), ...more];
}

function hover({ card: article, plot, layout, px, py }, event) {
  const card = cards.get(article.dataset.key);
  if (!card) return leave();
  let content = null;
  if (card.meta.view === "steps") content = trackTable(plot, layout, px);
  else {
    const rows = nearestPoints(card, layout, px, py);
    content = rows.length ? table(card, rows) : null;
  }
  if (!content) return leave();
  if (!box) document.body.append(box = make("div", { id: "pr-hover" }));
  box.replaceChildren(...content);
  box.hidden = false;
  charts.placeBeside(box, event, 18);
}

charts.onPointer(".pr_curves-card", hover, leave);
