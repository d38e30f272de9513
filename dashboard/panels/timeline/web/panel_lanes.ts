/** The lanes of the Timeline panel: which are shown, in what order, and which are folded or pinned. */
import * as geometry from "./geometry.ts";
import * as labels from "./labels.ts";
import { layout } from "./layout.ts";
import { messageOf } from "../../../web/core/request.ts";
import type { LaneGroup } from "./messages.generated.ts";
import type { Point } from "./geometry.ts";
import { PanelBase } from "./panel_base.ts";
import type { Source } from "./data.ts";
import type { Band } from "./layout.ts";

export abstract class PanelWithLanes extends PanelBase {
  relayout() {
    this.rows = layout(this.sources, this.lanes);
    this.neededWidth = labels.needed(this.pen, this.theme, [...this.rows.pinned, ...this.rows.bands]);
    this.filter.show(this.rows);
    this.filter.place(this);
    if (this.ready && this.rows.total) {
      this.say(
        this.rows.hidden === this.rows.total
          ? "No lane is visible: all are hidden or filtered out. Click the number above the names to show them all."
          : "",
      );
    }
    this.scrollBy(0);
    this.changed();
  }

  /** @param text a regular expression matched against the lanes' full names */
  setFilter(text: string) {
    this.lanes.setFilter(text);
    this.filter.set(text);
    this.settings.tell({ "timeline.lanes": [text] });
    this.relayout();
    for (const source of this.sources) this.findLanes(source, text);
  }

  /** Lists lanes that are not yet known, for a trace with very many. */
  findLanes(source: Source, text: string, lane?: number) {
    source.findLanes(text, lane).then((found) => found && this.relayout())
      .catch((error) => this.notify(messageOf(error)));
  }

  showAllLanes() {
    this.lanes.showAll();
    this.setFilter("");
  }

  foldLanes(folded: boolean) {
    for (const band of this.rows.bands) if (band.type === "lane" && band.foldable) this.lanes.fold(band, folded);
    this.relayout();
  }

  /** Ensures that a lane is shown. */
  reveal(source: Source, lane: number, group: LaneGroup | undefined) {
    const folded = this.rows.bands.filter((b) =>
      b.source === source && b.folded && (b.type === "trace" || (b.type === "group" && b.title === group?.title))
    );
    for (const band of folded) this.lanes.fold(band, false);
    this.relayout();
    if (this.rows.ofLane.has(`${source.place}/${lane}`)) return;
    this.showAllLanes();
    if (!this.rows.ofLane.has(`${source.place}/${lane}`)) this.findLanes(source, "", lane);
  }

  /** Keys of a band and the neighbors it can swap places with. */
  siblingsOf(band: Band): string[] {
    if (band.pinned) return this.rows.pinned.filter((b) => b.source === band.source).map((b) => b.key);
    return this.rows.bands.filter((b) =>
      b.source === band.source && b.type !== "trace" && b.parent === band.parent &&
      (b.type === "group") === (band.type === "group")
    ).map((b) => b.key);
  }

  /** Where a dragged band would go. */
  dropAt(band: Band, y: number): { place: number; y: number } | null {
    if (band.type === "trace") return null;
    const siblings = this.siblingsOf(band);
    const list = band.pinned ? this.rows.pinned : this.rows.bands;
    const others = siblings.map((key) => list.find((b) => b.key === key && b.source === band.source)).filter((b) =>
      b !== undefined
    );
    let place = 0;
    let line = geometry.bandY(this.scene, others[0]);
    for (const other of others) {
      const top = geometry.bandY(this.scene, other);
      if (y > top + other.height / 2) {
        if (other.key !== band.key) place += 1;
        line = top + other.height;
      }
    }
    return { place, y: line };
  }

  /** @param place among its siblings */
  moveBand(band: Band, place: number) {
    const siblings = this.siblingsOf(band);
    if (band.pinned) this.lanes.movePin(siblings, band.key, place);
    else this.lanes.move(siblings, band.key, place);
    this.relayout();
  }

  pinAt(at: Point | null) {
    const band = at && this.bandAt(at);
    if (!band || (band.type !== "lane" && band.type !== "counter")) return;
    this.lanes.pin(band, !band.pinned);
    this.relayout();
  }
}
