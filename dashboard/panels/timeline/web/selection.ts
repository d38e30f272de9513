/** The selected slice: fetches it, describes it in the drawer, and brings it into view. */
import { messageOf } from "../../../web/core/request.ts";
import { view } from "../../../web/page/view.ts";
import type { Source } from "./data.ts";
import * as details from "./details.ts";
import * as geometry from "./geometry.ts";
import type { OccurrencesAnswer, Relations, SliceDetails } from "./messages.generated.ts";
import type { TimelinePanel } from "./panel.ts";

/** A slice as the route `slice` describes it, and what the routes `relations` and `occurrences` add later. */
export type SelectedSlice = SliceDetails & {
  source: Source;
  /** Null if they failed to load or were not requested. */
  relations?: Relations | null;
  spread?: OccurrencesAnswer | null;
};

export class Selection {
  readonly panel: TimelinePanel;
  slice: SelectedSlice | null = null;
  requested = 0;
  /** The request that has no answer yet. */
  awaited = -1;
  /** Key actions that wait for an answer, in order. */
  keys: (() => void)[] = [];

  constructor(panel: TimelinePanel) {
    this.panel = panel;
  }

  /** Whether a slice is loading. */
  get awaiting() {
    return this.awaited === this.requested;
  }

  /** Discards a slice that is loading. */
  cancel() {
    this.requested += 1;
    this.keys = [];
  }

  /** Clears the slice and pending requests. */
  forget() {
    this.cancel();
    this.slice = null;
    this.panel.tellSlice(null);
  }

  /** Resets the selection when another trace opens. */
  reset() {
    this.cancel();
    this.slice = null;
    this.panel.drawer.replaceChildren();
  }

  /**
   * @param options reveal: bring it into view, or only if it is
   * outside; source: its trace, by default the same as before
   */
  async select(
    index: number,
    { reveal = false, source = this.slice?.source ?? this.panel.sources[0] }: {
      reveal?: boolean | "always" | "outside";
      source?: Source;
    } = {},
  ) {
    this.cancel();
    const request = (this.awaited = this.requested);
    const { panel } = this;
    panel.area.requested += 1;
    const { chosen } = panel.area;
    try {
      const found = await source.ask<SliceDetails>("slice", { index }).finally(() => {
        if (this.awaited === request) this.awaited = -1;
      });
      if (request !== this.requested) return;
      if (!panel.sources.includes(source)) return this.cancel();
      // An area that the user has started drawing since then stays.
      if (panel.area.chosen === chosen) panel.area.clear();
      const slice: SelectedSlice = (this.slice = { ...found, source });
      panel.tellSlice(source.place === 0 ? index : null);
      // The buttons of another slice are equal nodes but go elsewhere.
      panel.drawer.replaceChildren();
      this.show();
      // The drawer takes space from the lanes, so the slice must be brought into view in the remaining part.
      panel.resize();
      panel.tip.hide();
      if (reveal) this.bringIntoView(slice, reveal === "outside");
      else panel.changed();
      this.catchUp();
      // What launched a slice is not requested if the selection is only passing it.
      if (this.awaiting) return void (slice.relations = null);
      const more = await Promise.allSettled([
        source.ask<Relations>("relations", { index }),
        source.ask<OccurrencesAnswer>("occurrences", { index }),
      ]);
      if (this.slice !== slice) return;
      const [relations, occurrences] = more;
      slice.relations = relations.status === "fulfilled" ? relations.value : null;
      slice.spread = occurrences.status === "fulfilled" ? occurrences.value : null;
      this.show();
      panel.changed();
      this.catchUp();
      for (const each of more) if (each.status === "rejected") panel.notify(messageOf(each.reason));
    } catch (error) {
      if (request !== this.requested) return;
      this.keys = [];
      panel.notify(messageOf(error));
    }
  }

  /** Runs the waiting key actions; those that still need an answer wait for the next one. */
  catchUp() {
    const { keys } = this;
    this.keys = [];
    for (const key of keys) key();
  }

  show() {
    const { panel, slice } = this;
    if (!slice) return;
    details.refill(
      panel.drawer,
      details.drawer(slice, {
        close: () => this.clear(),
        select: (i) => this.select(i, { reveal: true }),
        again: () => this.select(slice.index),
        find: (name) => panel.search.set(name, "name"),
        zoom: () => panel.fit(),
        table: (table) =>
          view.open("profile", {
            "profile.trace": [slice.source.id],
            "profile.view": [table.page],
            "profile.row": [table.row],
          }),
      }),
    );
    panel.paintSwatches();
  }

  clear() {
    this.forget();
    this.panel.drawer.replaceChildren();
    this.panel.resize();
  }

  /**
   * Scrolls and pans as little as needed to show the slice.
   * @param stay whether a slice too small to see may remain so
   */
  bringIntoView(slice: SelectedSlice, stay: boolean = false) {
    const { panel } = this;
    const now = performance.now();
    const group = slice.source.summary.groups.find((g) => g.lanes.includes(slice.lane));
    panel.reveal(slice.source, slice.lane, group);
    panel.draw();
    const at = geometry.slicePlace(panel.scene, slice, slice.source);
    if (at && !at.band.pinned) {
      const room = panel.height - panel.scene.top;
      if (at.y < panel.scene.top + 4 || at.y + at.height > panel.height - 4) {
        panel.scrollBy(at.y - panel.scene.top - room / 2);
      }
    }
    const [start, end] = panel.viewport.target;
    const from = slice.start + slice.source.offset;
    const visible = from + slice.duration > start && from < end;
    const pixels = (slice.duration / (end - start)) * (panel.width - panel.left);
    if (visible && stay) panel.changed();
    else if (pixels < 3) panel.viewport.reveal({ start: from, duration: slice.duration }, 0.04, now);
    else if (pixels > panel.width * 3) panel.viewport.reveal({ start: from, duration: slice.duration }, 0.9, now);
    else if (!visible || from < start || from + Math.min(slice.duration, (end - start) / 2) > end) {
      panel.viewport.center(from + Math.min(slice.duration, end - start) / 2, now);
    }
    panel.changed();
  }

  /**
   * Selects the next or previous slice in the row.
   * @param held whether the key is held down: stepping must not continue after it is released
   */
  step(direction: number, held: boolean = false) {
    if (this.awaiting || this.keys.length) {
      if (!held || !this.keys.length) this.keys.push(() => this.step(direction));
      return;
    }
    const to = direction > 0 ? this.slice?.next : this.slice?.previous;
    if (to != null) this.select(to, { reveal: true });
  }

  /**
   * Follows an arrow to what launched the slice or to what it launched.
   * @returns whether a slice is selected or loading
   */
  follow(way: "incoming" | "outgoing"): boolean {
    const { slice } = this;
    if (!slice && !this.awaiting) return false;
    if (!slice || this.awaiting || this.keys.length || (slice.relations === undefined && !slice[way].slices.length)) {
      this.keys.push(() => this.follow(way));
      return true;
    }
    const launched = way === "incoming" ? slice.relations?.launch : slice.relations?.launched.slices[0];
    const to = slice[way].slices[0] ?? launched;
    if (to) this.select(to.index, { reveal: true });
    else {
      const words = way === "incoming" ? "No arrow leads to this slice." : "No arrow leaves this slice.";
      this.panel.notify(words, "info");
    }
    return true;
  }
}
