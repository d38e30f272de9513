// @ts-check
/** The selected slice: fetched, described in the drawer, brought into view. */
(() => {
  const root = (window.stepscope = window.stepscope || {});
  const timeline = (root.timeline = root.timeline || {});

  class Selection {
    /** @param {any} panel the panel of timeline_panel.js */
    constructor(panel) {
      this.panel = panel;
      /** Details of the slice, or null. @type {any} */
      this.slice = null;
      this.asked = 0;
    }

    /** Forgets the slice, and what was asked for, as another trace opens. */
    reset() {
      this.asked += 1;
      this.slice = null;
      this.panel.drawer.replaceChildren();
    }

    /**
     * @param {number} index
     * @param {{reveal?: boolean}} [options] reveal: bring it into view
     */
    async select(index, { reveal = false } = {}) {
      const request = ++this.asked;
      const { panel } = this;
      const { source } = panel;
      try {
        const details = await source.json("slice", { index });
        if (request !== this.asked || source !== panel.source) return;
        this.slice = details;
        const actions = {
          close: () => this.clear(),
          select: (/** @type {number} */ i) => this.select(i, { reveal: true }),
          find: (/** @type {string} */ name) => panel.search.set(name),
          zoom: () => panel.fit(),
        };
        panel.drawer.replaceChildren(...timeline.details.drawer(details, source.summary, actions));
        panel.paintSwatches();
        // The drawer takes its room from the lanes, and what is brought into view must be in view of what is left.
        panel.resize();
        if (reveal) this.bringIntoView(details);
        else panel.changed();
      } catch (error) {
        panel.notify(error.message);
      }
    }

    clear() {
      this.asked += 1;
      this.slice = null;
      this.panel.drawer.replaceChildren();
      this.panel.changed();
    }

    /** Scrolls and pans as little as shows the slice. @param {any} slice */
    bringIntoView(slice) {
      const { panel } = this;
      const now = performance.now();
      const lane = panel.source.summary.lanes[slice.lane];
      panel.folded.delete(`p:${lane.process}`);
      panel.relayout();
      panel.draw();
      const at = timeline.geometry.slicePlace(panel.scene, slice);
      if (at) {
        const room = panel.height - panel.scene.top;
        if (at.y < panel.scene.top + 4 || at.y + at.height > panel.height - 4) panel.scrollBy(at.y - panel.scene.top - room / 2);
      }
      const [start, end] = panel.viewport.target;
      const visible = slice.start + slice.duration > start && slice.start < end;
      const pixels = (slice.duration / (end - start)) * (panel.width - panel.left);
      if (pixels < 3 || pixels > panel.width * 3) panel.viewport.reveal(slice, 0.04, now);
      else if (!visible || slice.start < start || slice.start + Math.min(slice.duration, (end - start) / 2) > end) {
        panel.viewport.centre(slice.start + Math.min(slice.duration, end - start) / 2, now);
      }
      panel.changed();
    }

    /** The next or previous slice of the row. @param {number} direction */
    step(direction) {
      const to = direction > 0 ? this.slice?.next : this.slice?.previous;
      if (to != null) this.select(to, { reveal: true });
    }
  }

  timeline.Selection = Selection;
})();
