// What a page shows, and at what time, for benchmarks/browser.py. The clock is the same for every tool: a message that
// was posted in a frame arrives after the page's work for that frame (scripts, style, layout, paint) is done.
(function () {
  "use strict";
  const MOST_MS = 20000;

  /** Looks after every frame, until `look` returns false. @param {(now: number) => boolean} look */
  function eachFrame(look) {
    const { port1, port2 } = new MessageChannel();
    const next = () => requestAnimationFrame(() => port2.postMessage(null));
    port1.onmessage = () => {
      if (look(performance.now())) next();
      else port1.close();
    };
    next();
  }

  /** @param {() => boolean} condition @returns {Promise<number>} when the first frame that shows it was done */
  function shown(condition, limit = MOST_MS) {
    const begin = performance.now();
    return new Promise((done, fail) =>
      eachFrame((now) => {
        if (condition()) done(now);
        else if (now - begin < limit) return true;
        else fail(new Error(`not shown after ${limit} ms: ${condition}`));
        return false;
      }),
    );
  }

  let fetching = 0;
  let answered = 0;
  const { fetch } = window;
  window.fetch = (...asked) => {
    fetching += 1;
    return fetch.apply(window, asked).finally(() => {
      fetching -= 1;
      answered = performance.now();
    });
  };

  /** Until nothing has been asked of the server for so long: a late answer must not count as what a hand did. */
  function rest(ms) {
    const begin = performance.now();
    return shown(() => fetching === 0 && performance.now() - Math.max(answered, begin) > ms);
  }

  function onScreen(element) {
    const { top, bottom, height } = element.getBoundingClientRect();
    return height > 0 && bottom > 0 && top < innerHeight;
  }

  // --- Stepscope -------------------------------------------------------------------------------------------------

  const STATES = {
    smoothing: () => window.stepscope.curveCards.weight(),
    cursor: (card) => card.plot.cursor,
    toggle: (card) => card.model.lines.length,
  };
  const loop = () => window.stepscope.curves.loop;
  const cards = () => (window.stepscope && window.stepscope.curveCards ? window.stepscope.curveCards.visible() : []);
  const isDrawn = (card) =>
    card.model && card.model.lines.length > 0 && card.plot.rawPixels && !loop().waiting.has(card.plot) && card.element.classList.contains("drawn");

  /** Counts how often a chart was drawn. */
  function countDraws(plot) {
    if (plot.draws !== undefined) return;
    const draw = plot.draw;
    plot.draws = 0;
    plot.draw = () => {
      draw.call(plot);
      plot.draws += 1;
    };
  }

  const stepscope = {
    places: () => cards().length,
    charts: () => cards().filter(isDrawn).length,
    /**
     * Whether all cards on the screen have changed and are drawn again.
     * @param {string} gesture @param {number|null} target about what the smoothing shall be @returns {() => boolean}
     */
    change(gesture, target) {
      const state = STATES[gesture];
      const before = cards().map((card) => {
        countDraws(card.plot);
        return { card, state: state(card), draws: card.plot.draws };
      });
      const there = () => target === null || Math.abs(window.stepscope.curveCards.weight() - target) < 0.05;
      return () => there() && before.every((was) => was.card.plot.draws > was.draws && state(was.card) !== was.state && isDrawn(was.card));
    },
    /** Whether all lines of all cards on the screen have a point at this step, and are drawn. */
    reached: (step) => cards().every((card) => isDrawn(card) && card.model.lines.every((line) => line.x[line.x.length - 1] >= step)),
  };

  // --- TensorBoard -----------------------------------------------------------------------------------------------

  const views = () => [...document.querySelectorAll("line-chart .series-view")].filter(onScreen);
  const paths = (view) => [...view.querySelectorAll(":scope > svg path")].filter((path) => path.hasAttribute("d"));
  const probe = () => document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  let pen = null;
  let looked = 0;

  /** Whether a worker has drawn something on a canvas: a small copy of it has a pixel that is not empty. */
  function hasInk(canvas) {
    pen = pen || probe();
    pen.clearRect(0, 0, 64, 64);
    pen.drawImage(canvas, 0, 0, 64, 64);
    return pen.getImageData(0, 0, 64, 64).data.some((value) => value > 0);
  }

  /** Canvases are looked at every 50 ms, for the copies take time. */
  function inkedCanvases(canvases) {
    if (performance.now() - looked < 50) return 0;
    looked = performance.now();
    return canvases.filter((canvas) => canvas.width > 0 && hasInk(canvas)).length;
  }

  const tooltip = () => [...document.querySelectorAll(".tooltip-container")].map((box) => box.textContent).join();

  const tensorboard = {
    places: () => views().length,
    charts() {
      const canvases = views().flatMap((view) => [...view.querySelectorAll(":scope > canvas")]);
      return canvases.length ? inkedCanvases(canvases) : views().filter((view) => paths(view).length > 0).length;
    },
    /** Whether the elements of all charts on the screen have changed; for the cursor, the words of the tooltip. */
    change(gesture) {
      if (gesture === "cursor") {
        const before = tooltip();
        return () => tooltip() !== "" && tooltip() !== before;
      }
      const waiting = new Set(views());
      const observer = new MutationObserver((records) => {
        for (const { target } of records) waiting.delete(target.closest(".series-view"));
      });
      for (const view of waiting)
        for (const svg of view.querySelectorAll(":scope > svg")) observer.observe(svg, { subtree: true, childList: true, attributes: true });
      return () => {
        if (waiting.size) return false;
        observer.disconnect();
        return true;
      };
    },
  };

  // --- what the benchmark calls ------------------------------------------------------------------------------------

  const tools = { stepscope, tensorboard };
  const bench = (window.bench = {
    rest,
    /** Milliseconds from the navigation until so many charts were drawn, 0 before. */
    first: 0,
    watchFirst(tool, charts) {
      shown(() => tools[tool].charts() >= charts, Infinity).then((now) => (bench.first = now));
    },
    charts: (tool) => tools[tool].charts(),
    /** Until no chart on the screen is without lines. */
    all: (tool) => shown(() => tools[tool].charts() >= Math.max(1, tools[tool].places())),
    /** Milliseconds from the next input event of this type until what it changes is on all charts, Infinity if it never is; see `took`. */
    arm(tool, gesture, type, target) {
      let begin = 0;
      const hasChanged = tools[tool].change(gesture, target);
      window.addEventListener(type, (event) => (begin = event.timeStamp), { capture: true, once: true });
      bench.took = shown(() => begin > 0 && hasChanged()).then((now) => now - begin, () => Infinity);
    },
    /** @type {Promise<number>} */
    took: Promise.resolve(0),
    reached: (step) => shown(() => stepscope.reached(step)),
  });
})();
