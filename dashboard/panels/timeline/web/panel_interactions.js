/** What the hand does on the Timeline panel: points, scrolls, clicks, zooms, marks. Methods of TimelinePanel in timeline_panel.js. */
import * as geometry from "./geometry.js";
import * as rulers from "./rulers.js";
import { help } from "./help.js";
import { laneMenu } from "./lanes.js";
import { sliceMenu, stepMenu } from "./tools.js";

export const hand = {
  /** The mouse is here, or nowhere. @this {any} @param {{x: number, y: number} | null} at */
  point(at) {
    this.cursor = at;
    if (!this.ready) return;
    const low = at && at.y >= this.scene.pinTop;
    this.hover = low ? geometry.sliceAt(this.scene, at.x, at.y) : null;
    this.drawOverlay();
    this.tip.point(low ? at : null);
  },

  /** @this {any} @param {number} by pixels @param {boolean} [pinned] the pinned lanes, where they have something to scroll @returns {boolean} whether anything moved */
  scrollBy(by, pinned = false) {
    const { scene } = this;
    const most = Math.max(this.contentHeight - (this.height - scene.top), 0);
    const mostPinned = Math.max(this.rows.pinnedHeight - (scene.top - scene.pinTop), 0);
    const before = [this.scroll, this.pinScroll];
    const inside = (/** @type {number} */ value, /** @type {number} */ limit) => Math.min(Math.max(value, 0), limit);
    const usePins = pinned && mostPinned > 0;
    this.scroll = inside(this.scroll + (usePins ? 0 : by), most);
    this.pinScroll = inside(this.pinScroll + (usePins ? by : 0), mostPinned);
    const moved = before[0] !== this.scroll || before[1] !== this.pinScroll;
    if (moved) this.changed();
    return moved;
  },

  /** A label was clicked. @this {any} @param {{x: number, y: number}} at @param {MouseEvent} event */
  labelAt(at, event) {
    const band = this.bandAt(at);
    if (!band) return;
    if (band.foldable) {
      this.lanes.fold(band, !band.folded);
      this.relayout();
    } else laneMenu(this, band, { x: event.clientX, y: event.clientY });
  },

  /** A step in the rulers was clicked. @this {any} @param {{x: number, y: number}} at @param {MouseEvent} event */
  rulerAt(at, event) {
    const found = rulers.stepAtPoint(this.scene, at.x, at.y);
    if (found) stepMenu(this, found, { x: event.clientX, y: event.clientY });
  },

  /** @this {any} @param {{x: number, y: number}} at @param {{x: number, y: number}} page @returns {boolean} whether a menu was opened */
  menuAt(at, page) {
    this.tip.hide();
    const band = this.bandAt(at);
    const found = geometry.sliceAt(this.scene, at.x, at.y);
    if (found && at.y >= this.scene.pinTop) sliceMenu(this, found, page);
    else if (band) laneMenu(this, band, page);
    else if (at.y < this.scene.pinTop) this.rulerAt(at, /** @type {any} */ ({ clientX: page.x, clientY: page.y }));
    return true;
  },

  /** @this {any} @param {{x: number, y: number}} at */
  clickAt(at) {
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
  },

  /** @this {any} @param {{x: number, y: number}} at */
  zoomToAt(at) {
    const found = geometry.sliceAt(this.scene, at.x, at.y);
    if (found) this.viewport.reveal({ start: found.start + found.source.offset, duration: found.duration }, 0.2, performance.now());
  },

  /** @this {any} */
  fit() {
    const { slice } = this.selection;
    if (slice) this.viewport.reveal({ start: slice.start + slice.source.offset, duration: slice.duration }, 0.8, performance.now());
    else if (this.area.chosen) {
      const [start, end] = this.area.range;
      this.viewport.reveal({ start, duration: end - start }, 0.96, performance.now());
    } else this.showAll();
  },

  /** @this {any} */
  showAll() {
    const now = performance.now();
    this.viewport.remember(now);
    this.viewport.showAll(now);
  },

  /** @this {any} */
  undo() {
    this.viewport.undo(performance.now());
  },

  /** @this {any} */
  clear() {
    if (this.helpSheet) this.toggleHelp();
    else if (this.box) this.box = null;
    else if (this.selection.slice || this.selection.awaiting || this.marked || this.area.chosen) {
      this.marked = null;
      this.area.clear();
      this.selection.clear();
    } else if (this.choosing) this.setChoosing(false);
    else this.search.clear();
  },

  /** @this {any} */
  mark() {
    const slice = this.selection.slice ?? this.hover;
    const chosen = this.area.chosen ? this.area.range : slice && [slice.start + slice.source.offset, slice.start + slice.source.offset + slice.duration];
    this.marked = chosen && !this.marked ? chosen : null;
  },

  /** @this {any} @param {any} matches */
  setMatches(matches) {
    this.matches = matches;
    this.changed();
  },

  /** @this {any} */
  toggleHelp() {
    if (this.helpSheet) {
      this.helpSheet.remove();
      this.helpSheet = null;
      this.canvas.focus();
    } else {
      this.helpSheet = help(() => this.toggleHelp());
      this.root.append(this.helpSheet);
    }
  },
};
