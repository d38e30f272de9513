/** Which rows are where: traces, groups of lanes, lanes and counters, from top to bottom; pinned ones apart. Pure. */
import { stable } from "./lanes.js";

const TRACE_HEIGHT = 28;
const GROUP_HEIGHT = 26;
const SLICE_HEIGHT = 18;
const FOLDED_SLICE_HEIGHT = 5;
const LANE_GAP = 6;
const MIN_LANE_HEIGHT = 24;
const COUNTER_HEIGHT = 44;

/**
 * @typedef {object} Band
 * @property {"trace" | "group" | "lane" | "counter"} type
 * @property {string} key what its folding, pinning and place are remembered by; equal for the like lane of another trace
 * @property {string} id as `key`, but of this trace alone
 * @property {string} parent key of what it lies in
 * @property {string} label
 * @property {string} full the label that also makes sense alone: "GPU 0 · stream 7 · compute"
 * @property {string} title the label as the file has it
 * @property {number} y
 * @property {number} height
 * @property {boolean} foldable
 * @property {boolean} folded
 * @property {boolean} pinned
 * @property {any} source
 * @property {number} lane index of the lane, -1 for other bands
 * @property {number} counter index of the counter, -1 for other bands
 * @property {number} depths
 * @property {number} sliceHeight
 * @property {string} kind
 *
 * @typedef {object} Rows
 * @property {Band[]} pinned
 * @property {number} pinnedHeight
 * @property {Band[]} bands
 * @property {number} height
 * @property {number} hidden how many lanes and counters are not shown
 * @property {number} total how many there are
 * @property {Map<string, Band>} ofLane the band of each lane, by `place of the source/lane`
 */

/** Entries of each group, as bands without a place. @param {any} source @returns {{band: any, entries: any[]}[]} */
function groupsOf(source) {
  const { summary } = source;
  return summary.groups.map((/** @type {any} */ group) => {
    /** @type {Map<string, number>} */
    const seen = new Map();
    const parent = `g:${stable(group.title)}`;
    const keyed = (/** @type {string} */ key) => {
      const times = seen.get(key) || 0;
      seen.set(key, times + 1);
      return times ? `${key}~${times}` : key;
    };
    const entries = [
      ...group.lanes.map((/** @type {number} */ index) => {
        const lane = summary.lanes[index];
        const label = summary.lane_labels[index];
        return { type: "lane", key: keyed(`${parent}/l:${stable(label)}`), parent, label, full: `${group.short} · ${label}`, kind: lane.kind,
          title: `${lane.process} › ${lane.name} (process ${lane.pid}, thread ${lane.tid})`, lane: index, counter: -1, depths: lane.depths, foldable: lane.depths > 1 };
      }),
      ...group.counters.map((/** @type {number} */ index) => {
        const counter = summary.counters[index];
        const label = summary.counter_labels[index];
        return { type: "counter", key: keyed(`${parent}/c:${stable(label)}`), parent, label, full: label, kind: "counter",
          title: `${counter.process} › ${counter.name} › ${counter.series}`, lane: -1, counter: index, depths: 0, foldable: false };
      }),
    ];
    const band = { type: "group", key: parent, parent: "", label: group.title, full: group.title, title: group.title, kind: group.kind, lane: -1, counter: -1, depths: 0, foldable: true };
    return { band, entries };
  });
}

/**
 * @param {any[]} sources
 * @param {any} choices what the user made of the lanes, see timeline_lanes.js
 * @returns {Rows}
 */
export function layout(sources, choices) {
  /** @type {Rows} */
  const rows = { pinned: [], pinnedHeight: 0, bands: [], height: 0, hidden: 0, total: 0, ofLane: new Map() };
  const place = (/** @type {any} */ band, /** @type {any} */ source, /** @type {boolean} */ pinned) => {
    const folded = choices.isFolded(band);
    const flat = folded && band.depths > 1;
    const sliceHeight = flat ? FOLDED_SLICE_HEIGHT : SLICE_HEIGHT;
    const height = band.type === "trace" ? TRACE_HEIGHT
      : band.type === "group" ? GROUP_HEIGHT
      : band.type === "counter" ? COUNTER_HEIGHT
      : Math.max(band.depths * sliceHeight + LANE_GAP, MIN_LANE_HEIGHT);
    const full = { ...band, id: `${source.place}|${band.key}`, source, folded, pinned, sliceHeight, height, y: pinned ? rows.pinnedHeight : rows.height };
    (pinned ? rows.pinned : rows.bands).push(full);
    if (pinned) rows.pinnedHeight += height;
    else rows.height += height;
    const at = `${source.place}/${band.lane}`;
    if (band.type === "lane" && !rows.ofLane.has(at)) rows.ofLane.set(at, full);
    return full;
  };
  const all = sources.map((source) => ({ source, groups: choices.ordered(groupsOf(source), (/** @type {any} */ g) => g.band.key) }));
  const pins = all.flatMap(({ source, groups }) => groups.flatMap((/** @type {any} */ g) => g.entries)
    .filter((/** @type {any} */ entry) => choices.isPinned(entry)).map((/** @type {any} */ entry) => ({ entry, source })));
  for (const { entry, source } of choices.orderedPins(pins)) place(entry, source, true);
  for (const { source, groups } of all) {
    if (sources.length > 1) {
      const label = `${source.place + 1} · ${source.summary.run} · ${source.summary.label}`;
      const trace = { type: "trace", key: `t:${source.place}`, parent: "", label, full: label, title: `Run ${source.summary.run}`, kind: "trace", lane: -1, counter: -1, depths: 0, foldable: true };
      if (place(trace, source, false).folded) continue;
    }
    for (const { band, entries } of groups) {
      rows.total += entries.length;
      const shown = choices.ordered(entries, (/** @type {any} */ e) => e.key).filter((/** @type {any} */ e) => choices.isShown(e));
      rows.hidden += entries.length - shown.length;
      const rest = shown.filter((/** @type {any} */ e) => !choices.isPinned(e));
      if (!rest.length) continue;
      if (place(band, source, false).folded) continue;
      for (const entry of rest) place(entry, source, false);
    }
  }
  return rows;
}

/** @param {Band[]} bands @param {number} y @returns {Band | null} */
export function bandAt(bands, y) {
  let low = 0;
  let high = bands.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (bands[middle].y + bands[middle].height <= y) low = middle + 1;
    else high = middle;
  }
  const band = bands[low];
  return band && y >= band.y ? band : null;
}
