/** Names beside the points of a chart: of those that would overlap at the chart's size, only the first stays. */
import { type Plot, plotIn } from "../../../web/cards/plotly.ts";

/** Charts that already have a listener; Plotly gives a recreated chart another `on`. */
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

/** Keeps names from overlapping in the roofline chart, whatever its size. */
export function followNames(): void {
  let frame = 0;
  new MutationObserver(() => {
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      follow();
    });
  }).observe(document.documentElement, { childList: true, subtree: true });
}
