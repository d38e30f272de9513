/** The area below a chart of the PR curves panel: sliders, the table of runs, confusion matrices. */
import { make, numbers, runLabel } from "../../../web/core/dom.ts";
import { counted } from "../../../web/core/numbers.ts";
import { whenReleased } from "../../../web/core/press.ts";
import { choose, type Keyed, slider as stepSlider, type StepData } from "../../../web/cards/step_slider.ts";
import { view } from "../../../web/page/view.ts";
import { type Card, curvesOf, type Parts } from "./card.ts";
import {
  amount,
  isCurve,
  nearestThreshold,
  ranked,
  rankOf,
  type Rate,
  RATES,
  ratio,
  type Row,
  rowAt,
  type Run,
  share,
  thresholdOf,
  thresholdText,
} from "./curves.ts";
import { placeDots } from "./dots.ts";
import type { CurveMeta } from "./messages.generated.ts";
import { settings } from "./settings.generated.ts";

const MOST_MATRICES = 12;
const SETTLED_MS = 120;

// --- threshold ---------------------------------------------------------------------------------------------

/** The threshold that the user is moving to, or else the one in the URL. */
const threshold = ({ key, moving }: Card) => moving ?? thresholdOf(view.read(settings.threshold), key);

function setThreshold(card: Card, value: number): void {
  card.moving = null;
  choose(settings.threshold, card.key, value === 0.5 ? null : Number(value.toFixed(6)));
  follow(card, value);
}

function build(card: Card, fill: HTMLElement): Parts {
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
  const bar = make(
    "div",
    { className: "pr-threshold" },
    make("span", { className: "dim" }, "Threshold"),
    make("div", { className: "pr-range" }, slider, marks),
    output,
  );
  let writing = 0;
  const write = () => setThreshold(card, Number(slider.value));
  slider.addEventListener("input", () => {
    card.moving = Number(slider.value);
    follow(card, card.moving);
    clearTimeout(writing);
    writing = window.setTimeout(write, SETTLED_MS);
  });
  slider.addEventListener("change", () => {
    clearTimeout(writing);
    write();
  });
  const sliders = make("div", { className: "pr-sliders" });
  const table = make("div", { className: "pr-table" });
  const matrices = make("div", {
    className: "pr-matrices",
    tabIndex: 0,
    role: "group",
    "aria-label": "Confusion matrices",
  });
  fill.replaceChildren(sliders, bar, table, matrices);
  return { fill, sliders, steps: new Map(), bar, slider, output, marks, table, matrices };
}

// --- steps -------------------------------------------------------------------------------------------------

/** Brings the step sliders in line with the data: one for all runs, or one for each run. */
export function placeSliders({ key, meta, parts }: Card): void {
  if (!parts) return;
  const { sliders, steps } = parts;
  const axis = view.read(settings.axis);
  const place = (id: string, run: Run | null, wanted: { setting: Keyed; key: string; data: StepData }) => {
    let known = steps.get(id);
    if (!known) {
      const slider = stepSlider({ ...wanted, label: run ? "Step of " + run.run : "Step" });
      const name = run ? runLabel(run) : make("span", { className: "dim" }, "Step");
      const row = make("div", { className: run ? "pr-slider of-run" : "pr-slider" }, name, slider.element);
      steps.set(id, known = { slider, row });
    }
    known.slider.update(wanted.data, axis);
    return [id, known.row] as const;
  };
  const apart = meta.runs.flatMap((run) =>
    run.slider && run.key !== undefined
      ? [place("run " + run.run, run, { setting: settings.runStep, key: run.key, data: run.slider })]
      : []
  );
  const rows = new Map(
    apart.length ? apart : [place("", null, { setting: settings.step, key, data: meta.slider })],
  );
  for (const id of [...steps.keys()]) if (!rows.has(id)) steps.delete(id);
  const wanted = [...rows.values()];
  if (wanted.length !== sliders.children.length || wanted.some((row, i) => sliders.children[i] !== row)) {
    sliders.replaceChildren(...wanted);
  }
}

// --- table -------------------------------------------------------------------------------------------------

const NAMES: Record<Rate, [head: string, title: string]> = {
  precision: ["Prec.", "TP / (TP + FP) at the threshold"],
  recall: ["Recall", "TP / (TP + FN) at the threshold"],
  f1: ["F1", "2 TP / (2 TP + FP + FN) at the threshold"],
  accuracy: ["Acc.", "Accuracy: (TP + TN) / all at the threshold"],
  mcc: ["MCC", "Matthews correlation coefficient at the threshold"],
};
const RANKS: Record<"ap" | "auc", [head: string, title: string]> = {
  ap: [
    "AP",
    "Average precision: the sum of (recall - previous recall) x precision from the highest threshold down; the baseline is the share of positives",
  ],
  auc: ["AUC", "Area under the ROC curve (trapezoidal rule); random guessing scores 0.5"],
};
const BEST: [head: string, title: string] = [
  "Best F1",
  "The highest F1 of the curve; click to move the threshold there",
];

/** The cells of a run that depend on the threshold. */
type LiveCells = [rate: Rate, cell: HTMLTableCellElement][];
const live: WeakMap<Card, Map<string, LiveCells>> = new WeakMap();

function buildTable(card: Card, { table }: Parts): void {
  const rank = rankOf(card.meta.view);
  const heads = [["Run", "Run"], RANKS[rank], BEST, ...RATES.map((name) => NAMES[name])];
  const head = make("tr", {}, ...heads.map(([text, title]) => make("th", { title, scope: "col" }, text)));
  const cells = new Map<string, LiveCells>();
  const rows = ranked(card.meta.runs, card.meta.view).map((run) => {
    const who = make("th", { scope: "row" }, runLabel(run));
    if (run.said) {
      who.append(make("span", { className: isCurve(run) ? "said" : "said wrong", title: run.said }, run.said));
    }
    if (!isCurve(run)) return make("tr", {}, who, make("td", { colSpan: heads.length - 1, className: "wrong" }, ""));
    const baseline = run.baseline === null ? "no samples" : `baseline (share of positives) ${ratio(run.baseline)}`;
    const main = make("td", { title: baseline, className: "main" }, ratio(run[rank]));
    const own: LiveCells = RATES.map((name) => [name, make("td", { className: "live", "data-column": name })]);
    cells.set(run.run, own);
    const best = make("td", {}, bestButton(card, run));
    return make("tr", { "data-run": run.run }, who, main, best, ...own.map(([, cell]) => cell));
  });
  live.set(card, cells);
  const made = make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows));
  whenReleased(table, () => table.replaceChildren(made));
}

function bestButton(card: Card, run: CurveMeta): HTMLElement | string {
  if (run.best === null) return "–";
  const best = rowAt(run, run.best);
  const title = `F1 is highest, ${ratio(best.f1)}, at threshold ${best.threshold.toFixed(3)}; go there`;
  const where = make("span", { className: "dim" }, ` at ${thresholdText(best.threshold)}`);
  const button = make("button", { className: "quiet pr-best", title, type: "button" }, ratio(best.f1, 3), where);
  button.addEventListener("click", () => setThreshold(card, best.threshold));
  return button;
}

/** Marks below the threshold slider, where F1 is highest. */
function buildMarks(card: Card, { marks }: Parts): void {
  const found = curvesOf(card).flatMap((run) => {
    const thresholds = numbers(run.thresholds);
    if (run.best === null || thresholds.length < 2) return [];
    const mark = make("i", {});
    mark.style.setProperty("--at", String(thresholds[run.best]));
    mark.style.setProperty("--light", run.light);
    mark.style.setProperty("--dark", run.dark);
    return [mark];
  });
  marks.replaceChildren(...found);
}

// --- confusion matrices ------------------------------------------------------------------------------------

function matrix(run: CurveMeta, row: Row): HTMLElement {
  const all = row.tp + row.fp + row.tn + row.fn;
  const cell = (name: string, value: number, right: boolean) => {
    const title = `${name}: ${amount(value)} of ${amount(all)}`;
    const content = [make("b", {}, amount(value)), make("span", {}, share(value, all))];
    const element = make("td", { className: right ? "right" : "wrong", title }, ...content);
    element.style.setProperty("--share", all > 0 ? String(value / all) : "0");
    return element;
  };
  const head = (scope: "col" | "row", text: string) => make("th", { scope }, text);
  const rows = [
    [make("td", {}), head("col", "predicted +"), head("col", "predicted −")],
    [head("row", "actual +"), cell("True positives", row.tp, true), cell("False negatives", row.fn, false)],
    [head("row", "actual −"), cell("False positives", row.fp, false), cell("True negatives", row.tn, true)],
  ];
  const at = make("span", { className: "dim" }, "≥ " + thresholdText(row.threshold));
  return make(
    "figure",
    { className: "pr-matrix" },
    make("figcaption", {}, runLabel(run), at),
    make("table", {}, make("tbody", {}, ...rows.map((cells) => make("tr", {}, ...cells)))),
  );
}

/** Updates everything that depends on the threshold. */
function follow(card: Card, value: number): void {
  if (!card.parts) return;
  const { slider, output, matrices, bar } = card.parts;
  if (document.activeElement !== slider || Number(slider.value) !== value) slider.value = String(value);
  output.textContent = thresholdText(value);
  slider.setAttribute("aria-valuetext", output.textContent);
  card.dots = ranked(curvesOf(card), card.meta.view).map((run) => ({
    run,
    row: rowAt(run, nearestThreshold(numbers(run.thresholds), value)),
  }));
  bar.hidden = card.dots.length === 0;
  for (const { run, row } of card.dots) {
    for (const [name, cell] of live.get(card)?.get(run.run) ?? []) {
      cell.textContent = ratio(row[name], 3);
      cell.title = `${ratio(row[name], 6)} at threshold ${Number(row.threshold.toFixed(4))}`;
    }
  }
  const shown = card.dots.slice(0, MOST_MATRICES).map(({ run, row }) => matrix(run, row));
  const more = card.dots.length - MOST_MATRICES;
  if (more > 0) shown.push(make("p", { className: "dim" }, `and ${counted(more, "more run")} in the table`));
  matrices.replaceChildren(...shown);
  placeDots(card);
}

/** Brings everything below a chart in line with its data. */
export function refresh(card: Card, fill: HTMLElement): void {
  if (card.parts?.fill !== fill || !fill.firstChild) card.parts = build(card, fill);
  fill.hidden = card.meta.view === "steps";
  placeSliders(card);
  buildTable(card, card.parts);
  buildMarks(card, card.parts);
  follow(card, threshold(card));
}
