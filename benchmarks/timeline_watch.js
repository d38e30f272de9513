// When the Timeline has drawn, and how long its drawings take, for benchmarks/timeline.py.
(function () {
  "use strict";
  const state = () => window.stepscope?.timeline?.debug?.() ?? null;

  /** Calls `look` in every frame until it returns false. @param {() => boolean} look */
  function eachFrame(look) {
    const next = () => requestAnimationFrame(() => look() && next());
    next();
  }

  const bench = (window.bench = {
    /** Milliseconds from the navigation until slices were drawn, 0 before. */
    first: 0,
    watchFirst() {
      const { port1, port2 } = new MessageChannel();
      // A message that was posted in a frame arrives after the page's work for it (scripts, style, layout, paint) is done.
      port1.onmessage = () => {
        bench.first = performance.now();
        port1.close();
      };
      eachFrame(() => {
        const drawn = state()?.slices > 0;
        if (drawn) port2.postMessage(null);
        return !drawn;
      });
    },
    /** Notes how long every drawing took, until `stop`. */
    record() {
      /** @type {number[]} */
      const seen = [];
      let frames = state().frames;
      let running = true;
      bench.stop = () => {
        running = false;
        return seen;
      };
      eachFrame(() => {
        const now = state();
        if (now.frames !== frames) seen.push(now.drawMs);
        frames = now.frames;
        return running;
      });
    },
    /** @returns {number[]} milliseconds */
    stop: () => [],
    /** Two frames on, so that what was done before is drawn. */
    drawn: () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
    /** Turns the wheel over the canvas so many notches, at a share of its lanes' width. @param {number} share @param {number} notches */
    zoom(share, notches) {
      const canvas = document.querySelector(".timeline-canvas");
      const box = canvas.getBoundingClientRect();
      const { left, width, top } = state();
      const place = { clientX: box.left + left + share * (width - left), clientY: box.top + top + 20 };
      for (let i = 0; i < notches; i += 1) {
        canvas.dispatchEvent(new WheelEvent("wheel", { ...place, ctrlKey: true, deltaY: -150, bubbles: true, cancelable: true }));
      }
    },
  });
})();
