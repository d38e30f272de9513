/** Names beside the points of a chart: of those that would lie over each other at the chart's size, the first stays. */
import { type Plot, plotIn } from "../../../web/cards/plotly.ts";

/** Charts that are listened to; Plotly gives a chart that it makes again another `on`. */
const known = new WeakMap<Plot, Plot["on"]>();

const overlap = (a: DOMRect, b: DOMRect) =>
  a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

function thin(plot: Plot): void {
  const shown: DOMRect[] = [];
  for (const name of plot.querySelectorAll<SVGTextElement>(".scatterlayer .textpoint text")) {
    const box = name.getBoundingClientRect();
    const isFree = !shown.some((other) => overlap(box, other));
    name.style.visibility = isFree ? "" : "hidden";
    if (isFree) shown.push(box);
  }
}

function follow(): void {
  const chart = document.getElementById("profile-roofline");
  const plot = chart && plotIn(chart);
  if (!plot?.on || known.get(plot) === plot.on) return;
  known.set(plot, plot.on);
  plot.on("plotly_afterplot", () => thin(plot));
  thin(plot);
}

/** Keeps names from lying over each other in the chart of the roofline, whatever its size becomes. */
export function followNames(): void {
  let frame = 0;
  new MutationObserver(() => {
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      follow();
    });
  }).observe(document.documentElement, { childList: true, subtree: true });
}
