/** A single histogram with its statistics: small beside the pointer, and large in its own window. */
import { bind } from "../../../web/core/commands.ts";
import { iconButton, make, numbers, stepText, when } from "../../../web/core/dom.ts";
import { Api, messageOf } from "../../../web/core/request.ts";
import { closeBeside } from "../../../web/core/taps.ts";
import { formatNumber, linearTicks, logTicks, type Ticks } from "../../../web/lines/ticks.ts";
import { view } from "../../../web/page/view.ts";
import { show } from "./facts.ts";
import type { DamagedHistogram, DescribedHistogram } from "./messages.generated.ts";
import { settings } from "./settings.generated.ts";

const SVG = "http://www.w3.org/2000/svg";
const KEPT = 200;
const KEPT_MS = 10_000;

export interface Source {
  tag: string;
  run: string;
  index: number;
}
/** A histogram, or why there is none; for one that cannot be read, also what is known of it. */
export type Found = DescribedHistogram | DamagedHistogram | { error: string };

const isWhole = (found: Found): found is DescribedHistogram => found.error === "";

const api = new Api("api/histograms");
/** Answers, oldest first. */
const answers: Map<string, Promise<Found>> = new Map();

const requested = (from: Source) => {
  return {
    ...from,
    height: view.read(settings.height),
    log: view.read(settings.log),
    bins: view.read(settings.bins),
    bin_count: view.read(settings.binCount),
  };
};

/** The address from which a histogram is requested. */
export const address = (from: Source): string => api.address("point", requested(from));

export function find(from: Source): Promise<Found> {
  const url = address(from);
  const known = answers.get(url);
  if (known) return known;
  const answer = api.ask<Found>("point", requested(from)).catch((error: unknown) => ({ error: messageOf(error) }));
  answers.set(url, answer);
  // A restarted run has another histogram in its place, so answers are not kept for long.
  window.setTimeout(() => answers.delete(url), KEPT_MS);
  for (const oldest of answers.keys()) if (answers.size > KEPT) answers.delete(oldest);
  return answer;
}

function svg(tag: string, attributes: Record<string, string | number>): SVGElement {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  return element;
}

/** The height ticks, at positions in the units that are drawn, with their labels. */
function heightTicks(top: number, foot: number): Ticks {
  if (!foot) return linearTicks(0, top, 5);
  const { values, labels, context } = logTicks(foot, foot * 10 ** (top - 1), 5);
  return { values: [0, ...values.map((value) => 1 + Math.log10(value / foot))], labels: ["0", ...labels], context };
}

/** The histogram as a picture: either small with three numbers below it, or with axes. */
export function picture(found: Found, width: number, height: number, axes = false): Element[] {
  if (!isWhole(found) || !numbers(found.x).length) return [];
  const { low, high } = found;
  const [xs, ys] = [numbers(found.x), numbers(found.y)];
  const top = Array.from(ys).reduce((most, value) => Math.max(most, value), 0) || 1;
  const reach = high - low || 1;
  const left = axes ? 56 : 1;
  const toX = (value: number) => (((value - low) / reach) * (width - left - 1) + left).toFixed(2);
  const toY = (value: number) => (height - 14 - (value / top) * (height - 20)).toFixed(2);
  const x = (i: number) => toX(xs[i]);
  const y = (i: number) => toY(ys[i]);
  const said = `Histogram at step ${stepText(found.step)}`;
  const frame = { viewBox: `0 0 ${width} ${height}`, width, height, class: "outline", role: "img", "aria-label": said };
  const root = svg("svg", frame);
  const say = (text: string, at: Record<string, string | number>) => {
    const label = svg("text", at);
    label.textContent = text;
    root.append(label);
  };
  const heights = axes ? heightTicks(top, found.foot) : { values: [], labels: [] };
  heights.values.forEach((value, i) => {
    if (value > top) return;
    root.append(svg("line", { x1: left, x2: width, y1: toY(value), y2: toY(value) }));
    say(heights.labels[i], { x: left - 6, y: Number(toY(value)) + 3.5, "text-anchor": "end" });
  });
  root.append(svg("polygon", { points: Array.from(xs, (_, i) => `${x(i)},${y(i)}`).join(" ") }));
  root.append(svg("line", { x1: left - 1, x2: width, y1: height - 13.5, y2: height - 13.5 }));
  if (axes) {
    const { values, labels } = linearTicks(low, high, 8);
    values.forEach((value, i) => {
      const place = Number(toX(value));
      if (place >= left && place < width - 12) say(labels[i], { x: place, y: height - 2, "text-anchor": "middle" });
    });
    return [root];
  }
  const labels: [number, number, string][] = [
    [low, 1, "start"],
    [(low + high) / 2, width / 2, "middle"],
    [high, width - 1, "end"],
  ];
  for (const [value, at, anchor] of labels) say(formatNumber(value), { x: at, y: height - 2, "text-anchor": anchor });
  return [root];
}

/** The statistics of a histogram as a table, or why there are none. */
export function facts(found: Found): HTMLElement {
  if (!isWhole(found)) return make("p", { className: "wrong" }, found.error);
  const { count, smallest, largest, mean } = found.statistics;
  const rows = [
    ["Values in bins", show(count)],
    ["Min", show(smallest)],
    ["Max", show(largest)],
    ["Mean, estimated", show(mean)],
    ["Bins", stepText(found.bins)],
    ...Object.entries(found.left_out).map(([name, number]) => [name, stepText(number)]),
  ];
  if (found.dropped) rows.push(["Non-finite bins", stepText(found.dropped)]);
  const lines = rows.map(([name, value]) => make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, value)));
  return make("table", { className: "facts" }, make("tbody", {}, ...lines));
}

// --- large -------------------------------------------------------------------------------------------------

class Large {
  readonly #what = make("div", { className: "what" });
  readonly #view = make("div", { className: "view" });
  readonly #where = make("span", { className: "where" });
  readonly #before = iconButton("left", "Previous step", () => this.#turn(-1), 16);
  readonly #after = iconButton("right", "Next step", () => this.#turn(1), 16);
  readonly #dialog: HTMLDialogElement;
  /** The latest request, whose answer may not have arrived yet. */
  #from: Source = { tag: "", run: "", index: 0 };
  /** The last index in its series, as far as known. */
  #last = 0;

  constructor() {
    const close = iconButton("close", "Close", () => this.#dialog.close(), 16);
    this.#dialog = make(
      "dialog",
      { id: "histogram-large", "aria-label": "One histogram" },
      make("header", {}, this.#what, close),
      this.#view,
      make("footer", {}, this.#before, this.#where, this.#after),
    );
    closeBeside(this.#dialog);
    bind(this.#dialog, { ArrowLeft: () => this.#turn(-1), ArrowRight: () => this.#turn(1) });
    document.body.append(this.#dialog);
  }

  open(from: Source): void {
    this.#last = 0;
    void this.#fill(from);
    if (!this.#dialog.open) this.#dialog.showModal();
  }

  #turn(by: number): void {
    const index = this.#from.index + by;
    if (index >= 0 && index <= Math.max(this.#from.index, this.#last)) void this.#fill({ ...this.#from, index });
  }

  async #fill(from: Source): Promise<void> {
    this.#from = from;
    const found = await find(from);
    if (this.#from !== from) return;
    const known = "points" in found ? found : null;
    const last = this.#last = (known?.points ?? from.index + 1) - 1;
    const head = [make("strong", {}, from.tag), make("bdi", { className: "dim" }, from.run)];
    if (known) {
      const moment = make("span", { className: "dim" }, when(Number(known.wall)));
      head.push(make("span", {}, "step " + stepText(known.step)), moment);
    }
    this.#what.replaceChildren(...head);
    this.#where.textContent = `${from.index + 1} of ${last + 1}`;
    this.#before.disabled = from.index <= 0;
    this.#after.disabled = from.index >= last;
    this.#view.replaceChildren(...picture(found, 900, 380, true), facts(found));
  }
}

let large: Large | null = null;

/** Opens the window. */
export const open = (from: Source): void => (large ??= new Large()).open(from);
