// @ts-check
/** Tells the page what is visible, once the hand rests. */
(() => {
  const root = (window.stepscope = window.stepscope || {});
  const timeline = (root.timeline = root.timeline || {});

  const RETELL_MS = 350;

  class Report {
    /** @param {(start: number | null, end: number | null) => void} onView gets nulls where all is visible */
    constructor(onView) {
      this.onView = onView;
      this.told = "";
      this.seen = "";
      this.restsSince = 0;
    }

    /** What is visible, as text that is empty where that is all. @param {any} viewport */
    key(viewport) {
      const [start, end] = viewport.target;
      return start <= 0 && end >= viewport.length ? "" : `${Math.round(start)}-${Math.round(end)}`;
    }

    /** What the page knows already. @param {any} viewport */
    known(viewport) {
      this.told = this.key(viewport);
    }

    /** @param {any} viewport @param {number} now */
    tick(viewport, now) {
      const key = this.key(viewport);
      if (key !== this.seen) {
        this.seen = key;
        this.restsSince = now;
      }
      if (key === this.told || now - this.restsSince < RETELL_MS) return;
      this.told = key;
      const [start, end] = viewport.target;
      if (key) this.onView(Math.round(start), Math.round(end));
      else this.onView(null, null);
    }
  }

  timeline.Report = Report;
})();
