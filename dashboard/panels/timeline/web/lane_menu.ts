/** The menu for a lane, a counter or a group. */
import { popover } from "../../../web/core/popover.ts";
import { copyText } from "../../../web/page/layout.ts";
import type { Point } from "./geometry.ts";
import type { Band } from "./layout.ts";
import { onlyLane } from "./lanes.ts";
import type { TimelinePanel } from "./panel.ts";

/** @param at position on the page */
export function laneMenu(panel: TimelinePanel, band: Band, at: Point) {
  const { lanes } = panel;
  const then = (act: () => void) => () => {
    act();
    panel.relayout();
  };
  const siblings = panel.siblingsOf(band);
  const place = siblings.indexOf(band.key);
  const move = (by: number) =>
    then(
      () => (band.pinned ? lanes.movePin(siblings, band.key, place + by) : lanes.move(siblings, band.key, place + by)),
    );
  const single = band.type === "lane" || band.type === "counter";
  const entries: ([string, () => void] | null)[] = [
    single ? [band.pinned ? "Unpin" : "Pin to the top", then(() => lanes.pin(band, !band.pinned))] : null,
    band.foldable ? [band.folded ? "Expand" : "Collapse", then(() => lanes.fold(band, !band.folded))] : null,
    place > 0 ? ["Move up", move(-1)] : null,
    place >= 0 && place < siblings.length - 1 ? ["Move down", move(1)] : null,
    band.type === "trace" && band.source.place > 0
      ? ["Close this trace", () => panel.together.remove(band.source)]
      : null,
    band.type !== "trace" && !band.pinned ? ["Hide", then(() => lanes.hide(band))] : null,
    single ? ["Only this one", () => panel.setFilter(onlyLane(band))] : null,
    ["Collapse all lanes", () => panel.foldLanes(true)],
    ["Expand all lanes", () => panel.foldLanes(false)],
    ["Show all lanes", () => panel.showAllLanes()],
    ["Reset lanes", then(() => lanes.reset())],
    ["Copy name", () => copyText(band.full, "Name copied")],
  ];
  popover.menu(panel.canvas, band.full, entries.filter((entry) => entry !== null), {
    left: at.x,
    top: at.y,
    bottom: at.y,
  });
}
