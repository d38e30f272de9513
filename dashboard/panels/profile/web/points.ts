/** Chart points: a click on one shows what it represents on the Timeline; with a finger, the second tap does. */
import type { Plot } from "../../../web/cards/plotly.ts";
import { within } from "../../../web/core/dom.ts";
import { byFinger } from "../../../web/core/taps.ts";
import type { Place } from "./places.ts";
import { type Closer, closerAt, mapPlace } from "./rank_map.ts";

/** What Plotly reports for a click: `customdata` is the range and slice of a point, or a cell of the rank map. */
interface Click {
  points: { customdata?: string[] }[];
}

/** Charts that already have a listener; Plotly gives a recreated chart another `on`. */
const known = new WeakMap<Plot, Plot["on"]>();
/** The point shown by the last tap. */
let tapped = "";

/** Calls `show` for each clicked point, since Dash would not report a second click on the same one, and `look` for
 * each map cell that represents several ranks or steps. */
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
