// @ts-check
/** Which rows are where: processes, their lanes and counters, from top to bottom. Pure. */
(() => {
  const root = (window.stepscope = window.stepscope || {});
  const timeline = (root.timeline = root.timeline || {});

  const PROCESS_HEIGHT = 26;
  const SLICE_HEIGHT = 18;
  const FOLDED_SLICE_HEIGHT = 5;
  const LANE_GAP = 6;
  const MIN_LANE_HEIGHT = 24;
  const COUNTER_HEIGHT = 44;

  /**
   * @typedef {object} Band
   * @property {"process" | "lane" | "counter"} type
   * @property {string} key what its folding is remembered by
   * @property {string} label
   * @property {string} title the label in full
   * @property {number} y
   * @property {number} height
   * @property {boolean} foldable
   * @property {boolean} folded
   * @property {number} lane index of the lane, -1 for other bands
   * @property {number} counter index of the counter, -1 for other bands
   * @property {number} depths
   * @property {number} sliceHeight
   * @property {string} kind
   */

  /** @param {any} lane */
  const laneTitle = (lane) => `${lane.process} › ${lane.name} (process ${lane.pid}, thread ${lane.tid})`;

  /**
   * @param {any} summary
   * @param {Set<string>} folded keys of folded processes and lanes
   * @returns {{bands: Band[], height: number}}
   */
  function layout(summary, folded) {
    /** @type {Map<string, {name: string, pid: any, lanes: number[], counters: number[]}>} */
    const processes = new Map();
    const groupOf = (/** @type {string} */ key, /** @type {string} */ name, /** @type {any} */ pid) => {
      let group = processes.get(key);
      if (!group) processes.set(key, (group = { name, pid, lanes: [], counters: [] }));
      return group;
    };
    summary.lanes.forEach((/** @type {any} */ lane, /** @type {number} */ i) => {
      if (lane.depths > 0) groupOf(lane.process, lane.process, lane.pid).lanes.push(i);
    });
    summary.counters.forEach((/** @type {any} */ counter, /** @type {number} */ i) => {
      groupOf(counter.process, counter.process, "").counters.push(i);
    });

    /** @type {Band[]} */
    const bands = [];
    let y = 0;
    const push = (/** @type {Partial<Band>} */ band) => {
      const full = /** @type {Band} */ ({
        foldable: false, folded: false, lane: -1, counter: -1, depths: 0, sliceHeight: 0, kind: "other", y, ...band,
      });
      bands.push(full);
      y += full.height;
    };
    for (const [key, group] of processes) {
      const processKey = `p:${key}`;
      const closed = folded.has(processKey);
      const kind = group.lanes.length ? summary.lanes[group.lanes[0]].kind : "other";
      push({ type: "process", key: processKey, label: group.name || "(unnamed process)", kind,
        title: group.pid === "" ? group.name : `${group.name} (process ${group.pid})`,
        height: PROCESS_HEIGHT, foldable: true, folded: closed });
      if (closed) continue;
      for (const index of group.lanes) {
        const lane = summary.lanes[index];
        const laneKey = `l:${key}/${lane.tid}/${lane.name}`;
        const flat = folded.has(laneKey);
        const sliceHeight = flat && lane.depths > 1 ? FOLDED_SLICE_HEIGHT : SLICE_HEIGHT;
        push({ type: "lane", key: laneKey, label: lane.name || String(lane.tid), title: laneTitle(lane), kind: lane.kind,
          height: Math.max(lane.depths * sliceHeight + LANE_GAP, MIN_LANE_HEIGHT), lane: index,
          depths: lane.depths, sliceHeight, foldable: lane.depths > 1, folded: flat });
      }
      for (const index of group.counters) {
        const counter = summary.counters[index];
        const label = counter.series && counter.series !== counter.name ? `${counter.name} · ${counter.series}` : counter.name;
        push({ type: "counter", key: `c:${index}`, label, title: `${counter.process} › ${label}`,
          height: COUNTER_HEIGHT, counter: index });
      }
    }
    return { bands, height: y };
  }

  /** @param {Band[]} bands @param {number} y @returns {Band | null} */
  function bandAt(bands, y) {
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

  timeline.layout = { layout, bandAt };
})();
