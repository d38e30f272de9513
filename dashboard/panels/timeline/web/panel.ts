/** User actions on the Timeline panel: pointing, scrolling, clicking, zooming, marking. */
import * as geometry from "./geometry.ts";
import * as rulers from "./rulers.ts";
import type { Point } from "./geometry.ts";
import { laneMenu } from "./lane_menu.ts";
import { sliceMenu, stepMenu } from "./tools.ts";
import type { Surroundings } from "./panel_base.ts";
import { PanelWithLanes } from "./panel_lanes.ts";
import type { Found } from "./search.ts";

export class TimelinePanel extends PanelWithLanes {
  /** Reports the mouse position; null if it is elsewhere. */
  point(at: Point | null) {
    this.cursor = at;
    if (!this.ready) return;
    const low = at && at.y >= this.scene.pinTop;
    this.hover = low ? geometry.sliceAt(this.scene, at.x, at.y) : null;
    this.drawOverlay();
    this.tip.point(low ? at : null);
  }

  /**
   * @param by pixels
   * @param pinned whether to scroll the pinned lanes, if they have room to scroll
   * @returns whether anything moved
   */
  scrollBy(by: number, pinned: boolean = false): boolean {
    const { scene } = this;
    const most = Math.max(this.contentHeight - (this.height - scene.top), 0);
    const mostPinned = Math.max(this.rows.pinnedHeight - (scene.top - scene.pinTop), 0);
    const before = [this.scroll, this.pinScroll];
    const inside = (value: number, limit: number) => Math.min(Math.max(value, 0), limit);
    const usePins = pinned && mostPinned > 0;
    this.scroll = inside(this.scroll + (usePins ? 0 : by), most);
    this.pinScroll = inside(this.pinScroll + (usePins ? by : 0), mostPinned);
    const moved = before[0] !== this.scroll || before[1] !== this.pinScroll;
    if (moved) this.changed();
    return moved;
  }

  /** Handles a click on a label. */
  labelAt(at: Point, page: Point) {
    const band = this.bandAt(at);
    if (!band) return;
    if (band.foldable) {
      this.lanes.fold(band, !band.folded);
      this.relayout();
    } else laneMenu(this, band, page);
  }

  /** Handles a click on a step in the rulers. */
  rulerAt(at: Point, page: Point) {
    const found = rulers.stepAtPoint(this.scene, at);
    if (found) stepMenu(this, found, page);
  }

  /** @returns whether a menu was opened */
  menuAt(at: Point, page: Point): boolean {
    this.tip.hide();
    const band = this.bandAt(at);
    const found = geometry.sliceAt(this.scene, at.x, at.y);
    if (found && at.y >= this.scene.pinTop) sliceMenu(this, found, page);
    else if (band) laneMenu(this, band, page);
    else if (at.y < this.scene.pinTop) this.rulerAt(at, page);
    return true;
  }

  clickAt(at: Point) {
    const band = this.bandAt(at);
    if (band?.type === "group" || band?.type === "trace") {
      this.lanes.fold(band, !band.folded);
      return this.relayout();
    }
    const found = geometry.sliceAt(this.scene, at.x, at.y);
    if (found) this.selection.select(found.index, { source: found.source });
    else {
      this.selection.clear();
      this.area.clear();
      this.resize();
    }
  }

  zoomToAt(at: Point) {
    const found = geometry.sliceAt(this.scene, at.x, at.y);
    if (found) {
      this.viewport.reveal(
        { start: found.start + found.source.offset, duration: found.duration },
        0.2,
        performance.now(),
      );
    }
  }

  fit() {
    const { slice } = this.selection;
    if (slice) {
      this.viewport.reveal(
        { start: slice.start + slice.source.offset, duration: slice.duration },
        0.8,
        performance.now(),
      );
    } else if (this.area.chosen) {
      const [start, end] = this.area.range;
      this.viewport.reveal({ start, duration: end - start }, 0.96, performance.now());
    } else this.showAll();
  }

  showAll() {
    const now = performance.now();
    this.viewport.remember(now);
    this.viewport.showAll(now);
  }

  undo() {
    this.viewport.undo(performance.now());
  }

  clear() {
    if (this.box) this.box = null;
    else if (this.selection.slice || this.selection.awaiting || this.marked || this.area.chosen) {
      this.marked = null;
      this.area.clear();
      this.selection.clear();
    } else if (this.choosing) this.setChoosing(false);
    else this.search.clear();
  }

  mark() {
    const slice = this.selection.slice ?? this.hover;
    const start = slice ? slice.start + slice.source.offset : 0;
    const chosen: [number, number] | null = this.area.chosen
      ? this.area.range
      : slice && [start, start + slice.duration];
    this.marked = this.marked ? null : chosen;
  }

  setMatches(matches: Found | null) {
    this.matches = matches;
    this.changed();
  }
}

let shown: TimelinePanel | null = null;

/** Mounts the panel in its host, or returns the one already there. */
export const mount = (host: HTMLElement, tools: HTMLElement, settings: Surroundings): TimelinePanel => {
  if (shown && shown.root === host) return shown;
  shown?.destroy();
  shown = new TimelinePanel(host, tools, settings);
  return shown;
};
export const panel = () => shown;
