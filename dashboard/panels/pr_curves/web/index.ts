// @ts-nocheck
// The PR curves panel: what stands below a chart (sliders, table of runs, confusion matrices), reset and download.
import * as dash from "../../../web/core/dash.ts";
import * as pageSteps from "../../../web/core/step_slider.ts";
import { cards as pageCards } from "../../../web/cards/grid.ts";
import { elements } from "../../../web/core/dom.ts";
import { placeDots } from "./pointer.ts";
import { view } from "../../../web/page/view.ts";

const { make, icon, runLabel, numbers } = elements;
const MOST_MATRICES = 12;

export interface Run {
  run: string;
  light: string;
  dark: string;
  color: string;
  said: string;
  index: number | null;
  step: number | null;
  wall: number | null;
  seconds: number | null;
  thresholds?: object;
  tp?: object;
  fp?: object;
  tn?: object;
  fn?: object;
  precision?: object;
  recall?: object;
  f1?: object;
  accuracy?: object;
  mcc?: object;
  fpr?: object;
  tpr?: object;
  shown?: number;
  best?: number | null;
  baseline?: number | null;
  ap?: number | null;
  auc?: number | null;
  slider?: object;
  key?: string;
}
export interface Card {
  key: string;
  meta: { view: string; runs: Run[]; slider: object };
  fill: HTMLElement | null;
  parts: any;
}

/** A run as dashboard/panels/pr_curves/panel.py describes it; the columns are typed arrays, absent where there is no curve. */
export const cards: Map<string, Card> = new Map();

// --- numbers -----------------------------------------------------------------------------------------------

/** A ratio; a dash where there is none. */
export const ratio = (value, digits = 4) =>
  value === null || value === undefined || Number.isNaN(value) ? "–" : value.toFixed(digits).replace("-", "−");

/** Counts are whole unless samples are weighted. */
export function amount(value) {
  if (Number.isInteger(value) && value < 1e15) return value.toLocaleString("en-US");
  return value >= 1e7 || (value && value < 1e-3)
    ? value.toExponential(3)
    : Number(value.toPrecision(5)).toLocaleString("en-US", { maximumFractionDigits: 6 });
}

const share = (value) => (value * 100).toFixed(1) + " %";

/** Place of the threshold nearest to t. */
function nearest(thresholds, t) {
  let low = 0;
  let high = thresholds.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (thresholds[middle] < t) low = middle + 1;
    else high = middle;
  }
  return low > 0 && t - thresholds[low - 1] <= thresholds[low] - t ? low - 1 : low;
}

/** What a run says at one of its thresholds. */
export function at(run, i) {
  const value = (name) => numbers(run[name])[i];
  const row = { i, threshold: value("thresholds"), predicted: i < run.shown };
  for (const name of ["tp", "fp", "tn", "fn", "precision", "recall", "f1", "accuracy", "mcc"]) row[name] = value(name);
  // Nothing is predicted positive: precision is not defined, whatever was written.
  if (!row.predicted) row.precision = NaN;
  return row;
}

const drawn = (card) => card.meta.runs.filter((run) => run.thresholds);
const axis = () => view.values("pr_curves.axis")[0] || "step";
const rank = (card) => (card.meta.view === "roc" ? "auc" : "ap");

/** Runs by the number of the chart, highest first; those without one last. */
function sorted(card) {
  const name = rank(card);
  return [...card.meta.runs].sort((a, b) => (b[name] ?? -1) - (a[name] ?? -1));
}

// --- threshold ---------------------------------------------------------------------------------------------

/** Where the hand is, or else what the URL says. */
function threshold(card) {
  if (card.moving !== null) return card.moving;
  for (const entry of view.values("pr_curves.threshold")) {
    const colon = entry.lastIndexOf(":");
    const value = Number(entry.slice(colon + 1));
    if (colon >= 0 && entry.slice(0, colon) === card.key && value >= 0 && value <= 1) return value;
  }
  return 0.5;
}

function setThreshold(card, value) {
  card.moving = null;
  pageSteps.choose("pr_curves.threshold", card.key, value === 0.5 ? null : Number(value.toFixed(6)));
  follow(card, value);
}

// --- what is below the chart -------------------------------------------------------------------------------

function build(card, fill) {
  const sliders = make("div", { className: "pr-sliders" });
  const slider = make("input", {
    type: "range",
    min: "0",
    max: "1",
    step: "0.001",
    className: "slider-input",
    "aria-label": "Threshold",
  });
  const output = make("output", { className: "slider-at" });
  const marks = make("div", { className: "pr-marks", "aria-hidden": "true" });
  const range = make("div", { className: "pr-range" }, slider, marks);
  const bar = make(
    "div",
    { className: "pr-threshold" },
    make("span", { className: "dim" }, "Threshold"),
    range,
    output,
  );
  let writing = 0;
  slider.addEventListener("input", () => {
    card.moving = Number(slider.value);
    follow(card, card.moving);
    clearTimeout(writing);
    writing = setTimeout(() => setThreshold(card, Number(slider.value)), 120);
  });
  slider.addEventListener("change", () => (clearTimeout(writing), setThreshold(card, Number(slider.value))));
  const table = make("div", { className: "pr-table" });
  const matrices = make("div", { className: "pr-matrices" });
  fill.replaceChildren(sliders, bar, table, matrices);
  card.fill = fill;
  card.parts = { sliders, slider, output, marks, bar, table, matrices, steps: new Map() };
}

/** Brings the sliders over steps in line with the data: one, or one for each run. */
function placeSliders(card) {
  const { sliders, steps } = card.parts;
  const apart = card.meta.runs.some((run) => run.slider);
  const wanted = apart
    ? card.meta.runs.map((run) => ({
      id: "run " + run.run,
      run,
      setting: "pr_curves.run_step",
      key: run.key,
      data: run.slider,
    }))
    : [{ id: "all", setting: "pr_curves.step", key: card.key, data: card.meta.slider }];
  const rows = wanted.map(({ id, run, setting, key, data }) => {
    let known = steps.get(id);
    if (!known) {
      const slider = pageSteps.slider({ setting, key, label: run ? "Step of " + run.run : "Step" });
      const before = run ? runLabel(run) : make("span", { className: "dim" }, "Step");
      known = {
        slider,
        row: make("div", { className: run ? "pr-slider of-run" : "pr-slider" }, before, slider.element),
      };
      steps.set(id, known);
    }
    known.slider.update(data, axis());
    return known.row;
  });
  for (const id of [...steps.keys()]) if (!wanted.some((one) => one.id === id)) steps.delete(id);
  if (rows.length !== sliders.children.length || rows.some((row, i) => sliders.children[i] !== row)) {
    sliders.replaceChildren(...rows);
  }
}

const HEADS = [
  ["", "Run", "Run"],
  ["f1best", "Best F1", "The highest F1 of the curve; press to move the threshold there"],
  ["precision", "Prec.", "TP / (TP + FP) at the threshold"],
  ["recall", "Recall", "TP / (TP + FN) at the threshold"],
  ["f1", "F1", "2 TP / (2 TP + FP + FN) at the threshold"],
  ["accuracy", "Acc.", "Accuracy: (TP + TN) / all at the threshold"],
  ["mcc", "MCC", "Matthews correlation coefficient at the threshold"],
];
const RANKS = {
  ap: [
    "AP",
    "Average precision: the sum of (recall - recall before) x precision from the highest threshold down; above it the share of positives is what a guess gets",
  ],
  auc: ["AUC", "Area below the ROC curve, by trapezoids; a guess gets 0.5"],
};

function buildTable(card) {
  const name = rank(card);
  const heads = [HEADS[0], [name, ...RANKS[name]], ...HEADS.slice(1)];
  const head = make("tr", {}, ...heads.map(([, text, title]) => make("th", { title, scope: "col" }, text)));
  const rows = sorted(card).map((run) => {
    const who = make("th", { scope: "row" }, runLabel(run));
    if (run.said) {
      who.append(make("span", { className: run.thresholds ? "said" : "said wrong", title: run.said }, run.said));
    }
    if (!run.thresholds) return make("tr", {}, who, make("td", { colSpan: heads.length - 1, className: "wrong" }, ""));
    const baseline = run.baseline === null ? "no samples" : `baseline (share of positives) ${ratio(run.baseline)}`;
    const main = make("td", { title: baseline, className: "main" }, ratio(run[name]));
    const best = make("td", {}, bestButton(card, run));
    const live = ["precision", "recall", "f1", "accuracy", "mcc"].map((column) =>
      make("td", { className: "live", "data-column": column })
    );
    return make("tr", { "data-run": run.run }, who, main, best, ...live);
  });
  card.parts.table.replaceChildren(make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)));
}

function bestButton(card, run) {
  if (run.best === null || run.best === undefined) return "–";
  const best = at(run, run.best);
  const title = `F1 is highest, ${ratio(best.f1)}, at threshold ${best.threshold.toFixed(3)}; go there`;
  const button = make("button", { className: "quiet pr-best", title, type: "button" }, ratio(best.f1, 3));
  button.append(make("span", { className: "dim" }, ` at ${Number(best.threshold.toFixed(3))}`));
  button.addEventListener("click", () => setThreshold(card, best.threshold));
  return button;
}

function buildMarks(card) {
  const marks = drawn(card)
    .filter((run) => run.best !== null && run.best !== undefined && numbers(run.thresholds).length > 1)
    .map((run) => {
      const mark = make("i", {});
      mark.style.setProperty("--at", String(numbers(run.thresholds)[run.best]));
      mark.style.setProperty("--light", run.light);
      mark.style.setProperty("--dark", run.dark);
      return mark;
    });
  card.parts.marks.replaceChildren(...marks);
}

function matrix(run, row) {
  const all = row.tp + row.fp + row.tn + row.fn;
  const cell = (name, value, right) => {
    const element = make("td", {
      className: right ? "right" : "wrong",
      title: `${name}: ${amount(value)} of ${amount(all)}`,
    });
    element.style.setProperty("--share", all > 0 ? String(value / all) : "0");
    element.append(make("b", {}, amount(value)), make("span", {}, all > 0 ? share(value / all) : "–"));
    return element;
  };
  const head = make(
    "tr",
    {},
    make("td", {}),
    make("th", { scope: "col" }, "predicted +"),
    make("th", { scope: "col" }, "predicted −"),
  );
  const positive = make(
    "tr",
    {},
    make("th", { scope: "row" }, "is +"),
    cell("True positives", row.tp, true),
    cell("False negatives", row.fn, false),
  );
  const negative = make(
    "tr",
    {},
    make("th", { scope: "row" }, "is −"),
    cell("False positives", row.fp, false),
    cell("True negatives", row.tn, true),
  );
  const caption = make(
    "figcaption",
    {},
    runLabel(run),
    make("span", { className: "dim" }, "≥ " + Number(row.threshold.toFixed(3))),
  );
  return make(
    "figure",
    { className: "pr-matrix" },
    caption,
    make("table", {}, make("tbody", {}, head, positive, negative)),
  );
}

/** Everything that depends on the threshold. */
function follow(card, value) {
  const { slider, output, table, matrices, bar } = card.parts;
  if (document.activeElement !== slider || Number(slider.value) !== value) slider.value = String(value);
  output.textContent = Number(value.toFixed(3)).toString();
  slider.setAttribute("aria-valuetext", output.textContent);
  const rows = new Map(drawn(card).map((run) => [run.run, at(run, nearest(numbers(run.thresholds), value))]));
  bar.hidden = rows.size === 0;
  for (const line of table.querySelectorAll("tr[data-run]")) {
    const row = rows.get(line.dataset.run);
    for (const cell of line.querySelectorAll(".live")) {
      const value = row[cell.dataset.column];
      cell.textContent = ratio(value, 3);
      cell.title = `${ratio(value, 6)} at threshold ${Number(row.threshold.toFixed(4))}`;
    }
  }
  const runs = sorted(card).filter((run) => run.thresholds);
  const shown = runs.slice(0, MOST_MATRICES).map((run) => matrix(run, rows.get(run.run)));
  if (runs.length > MOST_MATRICES) {
    shown.push(make("p", { className: "dim" }, `and ${runs.length - MOST_MATRICES} more runs, which are in the table`));
  }
  matrices.replaceChildren(...shown);
  card.dots = runs.map((run) => ({ run, row: rows.get(run.run) }));
  placeDots(card);
}

function refresh(card, article) {
  const fill = article.querySelector(".fill");
  if (card.fill !== fill || !fill.firstChild) build(card, fill);
  fill.hidden = card.meta.view === "steps";
  placeSliders(card);
  buildTable(card);
  buildMarks(card);
  follow(card, threshold(card));
}

// --- buttons -----------------------------------------------------------------------------------------------

function closeMenu() {
  document.querySelectorAll(".menu.of-pr").forEach((menu) => menu.remove());
}

function openMenu(card, button) {
  closeMenu();
  const runs = drawn(card);
  const query = [["tag", card.key], ...runs.flatMap((run) => [["run", run.run], ["index", String(run.index)]])];
  const links = ["csv", "json"].map((format) =>
    make(
      "a",
      { href: "/api/pr_curves/download?" + new URLSearchParams([...query, ["format", format]]), download: "" },
      `Shown curves as ${format.toUpperCase()}`,
    )
  );
  const menu = make(
    "div",
    { className: "menu of-pr" },
    ...(runs.length ? links : [make("span", { className: "dim" }, "No curve is shown")]),
  );
  document.body.append(menu);
  const place = button.getBoundingClientRect();
  menu.style.top = place.bottom + 4 + "px";
  menu.style.left = place.right - menu.offsetWidth + "px";
  menu.querySelector("a, span").focus();
}

document.addEventListener("click", (event) => {
  const button = event.target.closest && event.target.closest(".pr_curves-card button");
  if (!button || !button.classList.contains("act-download")) closeMenu();
  if (!button) return;
  const article = button.closest(".card");
  const card = cards.get(article.dataset.key);
  if (button.classList.contains("act-download") && card) openMenu(card, button);
  if (button.classList.contains("act-reset")) {
    const plot = article.querySelector(".js-plotly-plot");
    window.Plotly.relayout(plot, { "xaxis.autorange": true, "yaxis.autorange": true });
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") closeMenu();
});

const clientside = {
  /** Figures of the cards -> what stands below them. */
  drawPrCurves(figures) {
    const inputs = window.dash_clientside.callback_context.inputs_list[0];
    figures.forEach((figure, i) => {
      const { key } = inputs[i].id;
      const meta = figure && figure.layout && figure.layout.meta;
      const article = pageCards.find("pr_curves", key);
      if (!meta || !meta.view || !article) return;
      let card = cards.get(key);
      if (!card) cards.set(key, card = { key, meta, fill: null, parts: null, dots: [], moving: null });
      if (card.meta === meta && card.fill && card.fill.isConnected) return;
      card.meta = meta;
      refresh(card, article);
    });
    return window.dash_clientside.no_update;
  },
  /** What the toolbar says that needs no drawing. */
  adjustPrCurves() {
    const root = document.getElementById("pr_curves-panel");
    root.dataset.view = view.values("pr_curves.view")[0] || "pr";
    root.dataset.matrix = view.values("pr_curves.matrix")[0] || "on";
    for (const card of cards.values()) {
      if (!card.fill || !card.fill.isConnected || card.meta.view === "steps") continue;
      placeSliders(card);
      placeDots(card);
    }
    return window.dash_clientside.no_update;
  },
};
dash.callbacks("stepscope", clientside);
