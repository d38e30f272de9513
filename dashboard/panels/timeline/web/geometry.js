/** Where things are on the canvas, and what is at a point of it. */

/**
 * What drawing needs to know; the panel owns it.
 * @typedef {object} Scene
 * @property {CanvasRenderingContext2D} context
 * @property {any} theme
 * @property {any} raster for narrow slices, see timeline_raster.js; null where every slice is a shape
 * @property {any} strips the minimap's picture; null where it is drawn each time
 * @property {number} ratio device pixels per pixel
 * @property {number} width
 * @property {number} height
 * @property {number} left where the lanes begin, right of the labels
 * @property {number} pinTop where the pinned lanes begin, below the rulers
 * @property {number} top where the other lanes begin, below the pinned ones
 * @property {number} scroll
 * @property {number} pinScroll
 * @property {any} viewport
 * @property {any[]} sources
 * @property {any} rows see timeline_layout.js
 * @property {any} selection details of the selected slice with its `source`, or null
 * @property {{names: Set<string>} | null} matches
 * @property {any} colours see timeline_colours.js
 */
import * as data from "./data.js";
import * as layout from "./layout.js";

export const LANE_PAD = 3;

export const xOf = (/** @type {Scene} */ scene, /** @type {number} */ time) =>
  scene.left + ((time - scene.viewport.start) / scene.viewport.span) * (scene.width - scene.left);

/** Bands on the screen, of the pinned ones or the others. @param {Scene} scene @param {boolean} pinned */
export function visibleBands(scene, pinned) {
  const { bands, pinned: pins } = scene.rows;
  const [from, to] = pinned ? [scene.pinScroll, scene.pinScroll + scene.top - scene.pinTop] : [scene.scroll, scene.scroll + scene.height - scene.top];
  return (pinned ? pins : bands).filter((/** @type {any} */ b) => b.y + b.height > from && b.y < to);
}

/** Where a band begins on the canvas. @param {Scene} scene @param {any} band @returns {number} */
export const bandY = (scene, band) => (band.pinned ? scene.pinTop + band.y - scene.pinScroll : scene.top + band.y - scene.scroll);

/** The band at a height of the canvas. @param {Scene} scene @param {number} y */
export function bandAtY(scene, y) {
  if (y < scene.pinTop) return null;
  return y < scene.top
    ? layout.bandAt(scene.rows.pinned, y - scene.pinTop + scene.pinScroll)
    : layout.bandAt(scene.rows.bands, y - scene.top + scene.scroll);
}

/**
 * Where a slice is on the screen, whether or not it is inside; null where its lane is not shown.
 * @param {Scene} scene @param {{lane: number, depth: number, start: number, duration: number}} slice @param {any} source
 */
export function slicePlace(scene, slice, source) {
  const x0 = xOf(scene, slice.start + source.offset);
  const x1 = xOf(scene, slice.start + slice.duration + source.offset);
  const band = scene.rows.ofLane.get(`${source.place}/${slice.lane}`);
  if (!band) {
    const group = source.summary.groups.find((/** @type {any} */ g) => g.lanes.includes(slice.lane));
    const folded = group && scene.rows.bands.find((/** @type {any} */ b) => b.type === "group" && b.source === source && b.title === group.title);
    return folded ? { x0, x1, y: bandY(scene, folded) + 4, height: folded.height - 8, band: folded } : null;
  }
  // Of a lane with very many rows not all are drawn.
  const y = bandY(scene, band) + LANE_PAD + Math.min(slice.depth, band.depths - 1) * band.sliceHeight;
  return { x0, x1: Math.max(x1, x0 + 1.5), y, height: Math.max(band.sliceHeight - 1.5, 2), band };
}

/**
 * The slice under a point, with how many it stands for.
 * @param {Scene} scene @param {number} x @param {number} y
 */
export function sliceAt(scene, x, y) {
  const band = bandAtY(scene, y);
  if (!band || band.type !== "lane" || x < scene.left) return null;
  const { source } = band;
  const depth = Math.floor((y - bandY(scene, band) - LANE_PAD) / band.sliceHeight);
  const nsPerPixel = scene.viewport.span / (scene.width - scene.left);
  const window = source.best(band.lane, source.own(scene.viewport), nsPerPixel);
  const row = window?.rows.get(`${band.lane}/${depth}`);
  if (!row) return null;
  const time = scene.viewport.start - source.offset + (x - scene.left) * nsPerPixel;
  const near = 2 * nsPerPixel;
  const after = data.upperBound(window.starts, row.from, row.to, time + near);
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
    value: window.value ? window.value[best] : null,
    source,
  };
}

/** The value of a counter at a moment of its trace. @param {any} source @param {number} counter @param {number} time */
export function counterAt(source, counter, time) {
  const loaded = source.counters.get(counter);
  if (!loaded) return null;
  const at = data.upperBound(loaded.time, 0, loaded.time.length, time) - 1;
  return at < 0 ? null : { time: loaded.time[at], value: loaded.value[at] };
}
