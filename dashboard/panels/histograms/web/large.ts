// @ts-nocheck
// The histograms panel: one histogram with its statistics, small beside the pointer and large in a window of its own.
import { elements } from "../../../web/core/dom.ts";
import { view } from "../../../web/page/view.ts";

const { make, icon, numbers } = elements;
const SVG = "http://www.w3.org/2000/svg";
const KEPT = 200;

export interface Source {
  tag: string;
  run: string;
  index: number;
}
/** as dashboard/panels/histograms/routes.py describes a point */
export interface Found {
  error: string;
  index: number;
  points: number;
  step: number;
  wall: number;
  x?: object;
  y?: object;
  counts?: object;
  low?: number;
  high?: number;
  bins?: number;
  dropped?: number;
  statistics?: object;
  left_out?: Record<string, number>;
}
/** Answers, oldest first. */
const answers: Map<string, Promise<Found>> = new Map();

/** Where a histogram is asked for. */
export function address(from: Source) {
  const [height, log] = ["height", "log"].map((name) => view.values("histograms." + name)[0]);
  return "/api/histograms/point?" +
    new URLSearchParams({ ...from, height: height || "count", log: log === "on" ? "true" : "false" });
}

function fetchPoint(from: Source): Promise<Found> {
  const url = address(from);
  if (!answers.has(url)) {
    const answer = fetch(url)
      .then((response) => response.json())
      .then((body) => (body.detail ? { error: String(body.detail) } : body))
      .catch((error) => ({ error: "No answer from the server: " + error.message }));
    answers.set(url, answer);
    // A run that is started again has another histogram in its place: what was asked is not kept for long.
    setTimeout(() => answers.delete(url), 10_000);
    if (answers.size > KEPT) answers.delete(answers.keys().next().value);
  }
  return answers.get(url);
}

function svg(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  return element;
}

/** The histogram as a picture. */
export function picture(found: Found, width, height): Element[] {
  if (found.error || !found.x || !numbers(found.x).length) return [];
  const [xs, ys] = [numbers(found.x), numbers(found.y)];
  const top = ys.reduce((most, value) => Math.max(most, value), 0) || 1;
  const reach = found.high - found.low || 1;
  const place = (i) =>
    `${(((xs[i] - found.low) / reach) * (width - 2) + 1).toFixed(2)},${
      (height - 14 - (ys[i] / top) * (height - 20)).toFixed(2)
    }`;
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "outline", role: "img" });
  root.append(svg("polygon", { points: Array.from(xs, (_, i) => place(i)).join(" ") }));
  root.append(svg("line", { x1: 0, x2: width, y1: height - 13.5, y2: height - 13.5 }));
  for (
    const [value, x, anchor] of [[found.low, 1, "start"], [(found.low + found.high) / 2, width / 2, "middle"], [
      found.high,
      width - 1,
      "end",
    ]]
  ) {
    const text = svg("text", { x, y: height - 2, "text-anchor": anchor });
    text.textContent = Number(value.toPrecision(4)).toString().replace("-", "−");
    root.append(text);
  }
  return [root];
}

/** Its statistics as a table, or why there are none. */
export function facts(found: Found, show) {
  if (found.error) return make("p", { className: "wrong" }, found.error);
  const { count, smallest, largest, mean } = found.statistics;
  const rows = [
    ["Values in bins", show(count)],
    ["Min", show(smallest)],
    ["Max", show(largest)],
    ["Mean, estimated", show(mean)],
    ["Bins", elements.step(found.bins)],
    ...Object.entries(found.left_out).map(([name, number]) => [name, elements.step(number)]),
  ];
  if (found.dropped) rows.push(["Bins not finite", elements.step(found.dropped)]);
  return make(
    "table",
    { className: "facts" },
    make(
      "tbody",
      {},
      ...rows.map(([name, value]) => make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, value))),
    ),
  );
}

// --- large -------------------------------------------------------------------------------------------------

let dialog = null;

async function fill(from, show) {
  const key = address(from);
  dialog.dataset.at = key;
  turnFrom(from, show);
  const found = await fetchPoint(from);
  if (!dialog || dialog.dataset.at !== key) return;
  const last = (found.points ?? from.index + 1) - 1;
  dialog.stepscopeLast = last;
  const head = [make("strong", {}, from.tag), make("bdi", { className: "dim" }, from.run)];
  if (!found.error || found.step !== undefined) {
    head.push(
      make("span", {}, "step " + elements.step(found.step)),
      make("span", { className: "dim" }, elements.when(found.wall)),
    );
  }
  dialog.querySelector(".what").replaceChildren(...head);
  dialog.querySelector(".where").textContent = `${from.index + 1} of ${last + 1}`;
  dialog.querySelector(".before").disabled = from.index <= 0;
  dialog.querySelector(".after").disabled = from.index >= last;
  dialog.querySelector(".view").replaceChildren(...picture(found, 900, 380), facts(found, show));
}

/** Keys and buttons go on from the histogram that was asked for last, which need not be there yet. */
function turnFrom(from, show) {
  dialog.stepscopeTurn = (by) => {
    const index = from.index + by;
    if (index >= 0 && index <= Math.max(from.index, dialog.stepscopeLast)) fill({ ...from, index }, show);
  };
}

/** Opens the window. */
export function open(from: Source, show: (value: unknown) => string) {
  if (!dialog) {
    const button = (name, title, className) =>
      make("button", { className: "icon-button " + className, title, type: "button" }, icon(name, 16));
    const [before, after, close] = [
      button("left", "Step before", "before"),
      button("right", "Step after", "after"),
      button("close", "Close", "close"),
    ];
    dialog = make(
      "dialog",
      { id: "histogram-large", "aria-label": "One histogram" },
      make("header", {}, make("div", { className: "what" }), close),
      make("div", { className: "view" }),
      make("footer", {}, before, make("span", { className: "where" }), after),
    );
    before.addEventListener("click", () => dialog.stepscopeTurn(-1));
    after.addEventListener("click", () => dialog.stepscopeTurn(1));
    close.addEventListener("click", () => dialog.close());
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
    dialog.addEventListener("keydown", (event) => {
      if (event.key === "ArrowLeft") dialog.stepscopeTurn(-1);
      if (event.key === "ArrowRight") dialog.stepscopeTurn(1);
    });
    document.body.append(dialog);
  }
  dialog.stepscopeLast = 0;
  fill(from, show);
  if (!dialog.open) dialog.showModal();
}

export { fetchPoint as fetch };
