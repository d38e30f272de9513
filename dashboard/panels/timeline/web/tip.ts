/** The box beside the mouse that describes what is under it. */
import { make } from "../../../web/core/dom.ts";
import * as details from "./details.ts";
import * as geometry from "./geometry.ts";
import type { Point } from "./geometry.ts";
import type { TimelinePanel } from "./panel.ts";

export class Tip {
  readonly panel: TimelinePanel;
  element = make("div", { className: "timeline-tip" });
  /** A key for its content; empty while it is hidden. */
  shown = "";
  size = [0, 0];

  constructor(panel: TimelinePanel) {
    this.panel = panel;
  }

  hide() {
    if (this.shown === "") return;
    this.shown = "";
    this.element.style.display = "none";
  }

  /**
   * Follows the mouse.
   * @param at position in the lanes, or null
   */
  point(at: Point | null) {
    const { hover, colors } = this.panel;
    // The text about a slice stays the same while the mouse moves over it.
    const key = at && hover ? `${hover.source.place} ${hover.index} ${hover.count} ${colors.mode}` : "";
    if (at && key && key === this.shown) return this.place(at);
    const content = at && this.about(at);
    if (!at || !content) return this.hide();
    this.shown = key || "other";
    this.element.replaceChildren(...content);
    this.element.style.display = "block";
    this.size = [this.element.offsetWidth, this.element.offsetHeight];
    this.place(at);
  }

  /** The description of what is under a point. */
  about(at: Point): Node[] | null {
    const { panel } = this;
    if (panel.hover) return details.tooltip(panel.hover, panel.colors);
    if (at.y < panel.scene.pinTop) return null;
    const band = panel.bandAt(at);
    if (!band) return null;
    if (at.x < panel.left) {
      return [
        make("div", { className: "timeline-tip-name" }, band.full),
        make("div", { className: "timeline-tip-lane" }, band.title),
      ];
    }
    const time = panel.timeAt(at.x) - band.source.offset;
    const gap = band.lane >= 0 ? panel.overlays.gapAt(band.source, band.lane, time) : null;
    if (gap) return details.gapTip(gap);
    const reading = band.type === "counter" ? geometry.counterAt(band.source, band.counter, time) : null;
    return reading && details.counterTip(band, reading);
  }

  place(at: Point) {
    const [w, h] = this.size;
    const x = at.x + 16 + w > this.panel.width ? Math.max(at.x - w - 12, 4) : at.x + 16;
    const y = at.y + 18 + h > this.panel.height ? Math.max(at.y - h - 12, 4) : at.y + 18;
    this.element.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px)`;
  }
}
