/** A dot on each curve at the threshold. */
import { type Plot, plotIn } from "../../../web/cards/plotly.ts";
import { make, type Numbers, numbers } from "../../../web/core/dom.ts";
import type { Card } from "./card.ts";
import type { View } from "./curves.ts";
import type { CurveMeta } from "./messages.generated.ts";

const heard = new WeakSet<Plot>();

/** The values of a curve on the axes of a view. */
export const columns = (view: View, { fpr, tpr, recall, precision }: CurveMeta): [Numbers, Numbers] =>
  view === "roc" && fpr && tpr ? [numbers(fpr), numbers(tpr)] : [numbers(recall), numbers(precision)];

/** Puts a dot on each curve at the card's threshold, unless the curve does not reach it or it is zoomed out of view. */
export function placeDots(card: Card): void {
  const article = card.parts?.fill.closest(".card");
  const chart = article?.querySelector(".chart");
  if (!article || !chart?.isConnected) return;
  const plot = plotIn(chart);
  // The area below a chart may receive its data before Plotly has created the chart.
  if (!plot?.on) return void requestAnimationFrame(() => placeDots(card));
  if (!heard.has(plot)) {
    heard.add(plot);
    plot.on("plotly_afterplot", () => placeDots(card));
    plot.on("plotly_relayout", () => noteZoom(article, plot));
  }
  let layer = chart.querySelector(".pr-dots");
  if (!layer) chart.append(layer = make("div", { className: "pr-dots", "aria-hidden": "true" }));
  layer.replaceChildren(...dotsOf(card, plot));
}

function dotsOf({ meta, dots }: Card, { _fullLayout: layout }: Plot): HTMLElement[] {
  if (meta.view === "steps" || !layout?._size || !layout.xaxis || layout.xaxis.visible === false) return [];
  const { l, t, w, h } = layout._size;
  return dots.flatMap(({ run, row }) => {
    if (meta.view === "pr" && !row.predicted) return [];
    const [xs, ys] = columns(meta.view, run);
    const [x, y] = [layout.xaxis.c2p(xs[row.i]), layout.yaxis.c2p(ys[row.i])];
    if (!(x >= -1 && y >= -1 && x <= w + 1 && y <= h + 1)) return [];
    const dot = make("i", { "data-run": run.run });
    dot.style.left = l + x + "px";
    dot.style.top = t + y + "px";
    dot.style.background = run.color;
    return [dot];
  });
}

function noteZoom(article: Element, { _fullLayout: layout }: Plot): void {
  if (layout) article.classList.toggle("zoomed", !layout.xaxis.autorange || !layout.yaxis.autorange);
}
