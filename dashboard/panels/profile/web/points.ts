/** Points of the charts: a click on one shows what it stands for on the Timeline; of a finger's taps, the second one does. */
import type { Plot } from "../../../web/cards/plotly.ts";
import { within } from "../../../web/core/dom.ts";
import { byFinger } from "../../../web/core/taps.ts";
import type { Place } from "./places.ts";

/** What Plotly tells of a click: `customdata` is the range and the slice that a point stands for. */
interface Click {
  points: { customdata?: [range?: string, slice?: string] }[];
}

/** Charts that are listened to; Plotly gives a chart that it makes again another `on`. */
const known = new WeakMap<Plot, Plot["on"]>();
/** The point that the last tap showed. */
let tapped = "";

/** Calls `show` for each point that is clicked, as Dash would not tell of a second click on the same. */
export function followPoints(show: (place: Place) => void): void {
  document.addEventListener("pointerdown", (event) => {
    const plot = within<Plot>(event, ".profile-chart .js-plotly-plot");
    if (!plot) tapped = "";
    if (!plot?.on || known.get(plot) === plot.on) return;
    known.set(plot, plot.on);
    const id = plot.closest(".dash-graph")?.id ?? "";
    plot.on("plotly_click", (click) => {
      const [range, slice] = (click as Click).points[0]?.customdata ?? [];
      if (!range || !id.startsWith("{")) return;
      const point = [id, range, slice].join();
      const isFirst = byFinger() && point !== tapped;
      tapped = isFirst ? point : "";
      if (!isFirst) show({ trace: JSON.parse(id).trace, range, slice });
    });
  }, true);
}
