/** Points of the charts: a click on one shows what it stands for on the Timeline; of a finger's taps, the second one does. */
import type { Plot } from "../../../web/cards/plotly.ts";
import { within } from "../../../web/core/dom.ts";
import { byFinger } from "../../../web/core/taps.ts";
import type { Place } from "./places.ts";
import { type Closer, closerAt, mapPlace } from "./rank_map.ts";

/** What Plotly tells of a click: `customdata` is the range and the slice of a point, or a cell of the map of ranks. */
interface Click {
  points: { customdata?: string[] }[];
}

/** Charts that are listened to; Plotly gives a chart that it makes again another `on`. */
const known = new WeakMap<Plot, Plot["on"]>();
/** The point that the last tap showed. */
let tapped = "";

/** Calls `show` for each point that is clicked, as Dash would not tell of a second click on the same, and `look` for
 * each cell of the map that stands for several ranks or steps. */
export function followPoints(show: (place: Place) => void, look: (closer: Closer) => void): void {
  document.addEventListener("pointerdown", (event) => {
    const plot = within<Plot>(event, ".profile-chart .js-plotly-plot");
    if (!plot) tapped = "";
    if (!plot?.on || known.get(plot) === plot.on) return;
    known.set(plot, plot.on);
    const id = plot.closest(".dash-graph")?.id ?? "";
    plot.on("plotly_click", (click) => {
      const given = (click as Click).points[0]?.customdata ?? [];
      if (!id.startsWith("{")) return;
      const { chart, trace } = JSON.parse(id);
      const isMap = chart === "rank-map";
      const closer = isMap ? closerAt(given) : null;
      const [range, slice] = given;
      const place = isMap ? mapPlace(given) : range ? { trace, range, slice } : null;
      if (!closer && !place) return;
      const point = [id, ...given].join();
      const isFirst = byFinger() && point !== tapped;
      tapped = isFirst ? point : "";
      if (isFirst) return;
      if (closer) look(closer);
      else if (place) show(place);
    });
  }, true);
}
