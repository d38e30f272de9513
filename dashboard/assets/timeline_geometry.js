// @ts-check
/** Where things are on the canvas, and what is at a point of it. */

/**
 * What drawing needs to know; the panel owns it.
 * @typedef {object} Scene
 * @property {CanvasRenderingContext2D} context
 * @property {any} theme
 * @property {number} width
 * @property {number} height
 * @property {number} left where the lanes begin, right of the labels
 * @property {number} top where the lanes begin, below the rulers
 * @property {number} scroll
 * @property {any} viewport
 * @property {any} source
 * @property {any[]} bands
 * @property {any} selection details of the selected slice, or null
 * @property {{names: Set<string>} | null} matches
 * @property {"name" | "category"} colourBy
 */
(() => {
  const root = (window.stepscope = window.stepscope || {});
  const timeline = (root.timeline = root.timeline || {});

  const LANE_PAD = 3;

  const xOf = (/** @type {Scene} */ scene, /** @type {number} */ time) =>
    scene.left + ((time - scene.viewport.start) / scene.viewport.span) * (scene.width - scene.left);

  /** Bands on the screen. @param {Scene} scene */
  const visibleBands = (scene) =>
    scene.bands.filter((b) => b.y + b.height > scene.scroll && b.y < scene.scroll + scene.height - scene.top);

  /** Where a slice is on the screen, whether or not it is inside. @param {Scene} scene @param {{lane: number, depth: number, start: number, duration: number}} slice */
  function slicePlace(scene, slice) {
    const lane = scene.source.summary.lanes[slice.lane];
    let band = scene.bands.find((b) => b.lane === slice.lane);
    if (!band) {
      band = scene.bands.find((b) => b.type === "process" && b.key === `p:${lane.process}`);
      if (!band) return null;
      const y = scene.top + band.y - scene.scroll + 4;
      return { x0: xOf(scene, slice.start), x1: xOf(scene, slice.start + slice.duration), y, height: band.height - 8, band };
    }
    const y = scene.top + band.y - scene.scroll + LANE_PAD + slice.depth * band.sliceHeight;
    return {
      x0: xOf(scene, slice.start),
      x1: Math.max(xOf(scene, slice.start + slice.duration), xOf(scene, slice.start) + 1.5),
      y,
      height: Math.max(band.sliceHeight - 1.5, 2),
      band,
    };
  }

  /**
   * The slice under a point, with how many it stands for.
   * @param {Scene} scene @param {number} x @param {number} y
   */
  function sliceAt(scene, x, y) {
    const band = timeline.layout.bandAt(scene.bands, y - scene.top + scene.scroll);
    if (!band || band.type !== "lane" || x < scene.left) return null;
    const depth = Math.floor((y - scene.top + scene.scroll - band.y - LANE_PAD) / band.sliceHeight);
    const nsPerPixel = scene.viewport.span / (scene.width - scene.left);
    const window = scene.source.best(band.lane, scene.viewport, nsPerPixel);
    const row = window?.rows.get(`${band.lane}/${depth}`);
    if (!row) return null;
    const time = scene.viewport.start + (x - scene.left) * nsPerPixel;
    const near = 2 * nsPerPixel;
    const after = timeline.data.upperBound(window.starts, row.from, row.to, time + near);
    let best = -1;
    let bestGap = near;
    for (let i = after - 1; i >= Math.max(row.from, after - 3); i -= 1) {
      const span = window.count[i] > 1 ? Math.max(window.durations[i], window.bucket) : window.durations[i];
      const gap = Math.max(window.starts[i] - time, time - window.starts[i] - span, 0);
      if (gap < bestGap || (gap === 0 && best < 0)) {
        best = i;
        bestGap = gap;
        if (gap === 0) break;
      }
    }
    if (best < 0) return null;
    return {
      index: window.index[best],
      name: window.names[window.name[best]],
      category: window.categories[window.category[best]],
      lane: band.lane,
      depth,
      start: window.starts[best],
      duration: window.durations[best],
      count: window.count[best],
    };
  }

  /** The value of a counter at a moment. @param {any} source @param {number} counter @param {number} time */
  function counterAt(source, counter, time) {
    const loaded = source.counters.get(counter);
    if (!loaded) return null;
    const at = timeline.data.upperBound(loaded.time, 0, loaded.time.length, time) - 1;
    return at < 0 ? null : { time: loaded.time[at], value: loaded.value[at] };
  }

  timeline.geometry = { LANE_PAD, xOf, visibleBands, slicePlace, sliceAt, counterAt };
})();
