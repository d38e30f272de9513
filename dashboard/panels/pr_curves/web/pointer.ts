/** The values under the pointer in a chart of the PR curves panel. */
import { shortLabel } from "../../../runs/web/labels.ts";
import {
  onPointer,
  placeBeside,
  type PlotlyLayout,
  type PlotlyTrace,
  type Pointed,
} from "../../../web/cards/plotly.ts";
import { type Child, make, numbers, stepText, when } from "../../../web/core/dom.ts";
import { counted } from "../../../web/core/numbers.ts";
import { type Card, cards, curvesOf } from "./card.ts";
import { amount, COUNTS, rankOf, ratio, type Row, rowAt } from "./curves.ts";
import { columns } from "./dots.ts";
import type { CurveMeta, TrackMeta } from "./messages.generated.ts";

const MOST_ROWS = 16;
const box = make("div", { id: "pr-hover", hidden: true });

const leave = (): void => void (box.hidden = true);

/** Index and distance in pixels of the nearest of `count` points; null if there are none. */
function nearest(count: number, far: (i: number) => number): [number, number] | null {
  let best: [number, number] | null = null;
  for (let i = 0; i < count; i += 1) {
    const distance = far(i);
    if (distance < (best?.[1] ?? Infinity)) best = [i, distance];
  }
  return best;
}

interface Near {
  run: CurveMeta;
  row: Row;
  distance: number;
}

/** For each run, the point nearest to the pointer and its distance in pixels. */
function nearestPoints(card: Card, { layout, px, py }: Pointed): Near[] {
  const { view } = card.meta;
  return curvesOf(card).flatMap((run) => {
    const [xs, ys] = columns(view, run);
    const last = view === "pr" ? run.shown : xs.length;
    const found = nearest(last, (i) => Math.hypot(layout.xaxis.c2p(xs[i]) - px, layout.yaxis.c2p(ys[i]) - py));
    return found ? [{ run, row: rowAt(run, found[0]), distance: found[1] }] : [];
  });
}

/** A table row that starts with a run's color and name. */
function line(run: string, color: string, cells: string[], className = ""): HTMLElement {
  const dot = make("i", {});
  dot.style.background = color;
  const content: Child[] = [
    dot,
    make("bdi", {}, shortLabel(run, Math.min(300, innerWidth * 0.26), "550 12px")),
    ...cells,
  ];
  return make("tr", { className }, ...content.map((cell) => make("td", {}, cell)));
}

function table(heads: string[], lines: HTMLElement[], of: number): HTMLElement[] {
  const head = make("tr", {}, ...["", "Run", ...heads].map((text) => make("th", {}, text)));
  const content: HTMLElement[] = [make("table", {}, make("thead", {}, head), make("tbody", {}, ...lines))];
  if (of > MOST_ROWS) content.push(make("div", { className: "more" }, `and ${counted(of - MOST_ROWS, "more run")}`));
  return content;
}

function curveTable(card: Card, found: Near[]): HTMLElement[] {
  const name = rankOf(card.meta.view);
  const closest = found.reduce((best, one) => (one.distance < best.distance ? one : best));
  found.sort((a, b) => (b.run[name] ?? -1) - (a.run[name] ?? -1));
  const from = Math.max(0, Math.min(found.indexOf(closest) - (MOST_ROWS >> 1), found.length - MOST_ROWS));
  const lines = found.slice(from, from + MOST_ROWS).map((one) => {
    const { run, row } = one;
    const counts = COUNTS.map((count) => amount(row[count]));
    const cells = [row.threshold.toFixed(3), ratio(row.precision), ratio(row.recall), ...counts, stepText(run.step)];
    return line(run.run, run.color, cells, one === closest ? "nearest" : "");
  });
  return table(["Threshold", "Precision", "Recall", "TP", "FP", "TN", "FN", "Step"], lines, found.length);
}

const isTrack = (meta: unknown): meta is TrackMeta =>
  typeof meta === "object" && meta !== null && "role" in meta && meta.role === "track";

/** A table of one number of each run over steps, at the point nearest to the pointer along the axis. */
function trackTable(traces: PlotlyTrace[], layout: PlotlyLayout, px: number): HTMLElement[] {
  const found = traces.flatMap(({ meta, x = [], y = [] }) => {
    const near = isTrack(meta) ? nearest(x.length, (i) => Math.abs(layout.xaxis.d2p(x[i]) - px)) : null;
    if (!isTrack(meta) || !near) return [];
    const [at] = near;
    return [{ meta, value: y[at], step: numbers(meta.steps)[at], wall: numbers(meta.walls)[at] }];
  });
  if (!found.length) return [];
  const rank = (value: number) => (Number.isNaN(value) ? -1 : value);
  found.sort((a, b) => rank(b.value) - rank(a.value));
  const lines = found.slice(0, MOST_ROWS).map(({ meta, value, step, wall }) =>
    line(meta.run, meta.color, [ratio(value), stepText(step), when(wall)])
  );
  return table([layout.yaxis.title.text, "Step", "Time"], lines, found.length);
}

function contentOf(at: Pointed): HTMLElement[] {
  const card = cards.get(at.card.dataset.key ?? "");
  if (!card) return [];
  if (card.meta.view === "steps") return trackTable(at.plot._fullData ?? [], at.layout, at.px);
  const found = nearestPoints(card, at);
  return found.length ? curveTable(card, found) : [];
}

function enter(at: Pointed, event: PointerEvent): void {
  const content = contentOf(at);
  if (!content.length) return leave();
  if (!box.isConnected) document.body.append(box);
  box.replaceChildren(...content);
  box.hidden = false;
  placeBeside(box, event, 18);
}

onPointer(".pr_curves-card", enter, leave);
