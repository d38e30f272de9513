/** The timeline's data: requests, decoding of windows, and the cache of windows to redraw from. */

const MAX_WINDOWS = 48;
/** While the hand moves, what was asked for is soon superseded; asking more often only loads the server. */
const REQUEST_GAP_MS = 60;
const LANE_BLOCK = 8;

/**
 * Slices of some lanes between two moments. Times are nanoseconds since the trace's start.
 * @typedef {object} Row
 * @property {number} lane
 * @property {number} depth
 * @property {number} from first slice of the row
 * @property {number} to one past its last slice
 *
 * @typedef {object} SliceWindow
 * @property {number} start
 * @property {number} end
 * @property {number} bucket width of a bucket in ns
 * @property {string[]} names
 * @property {string[]} categories
 * @property {Map<string, Row>} rows by `lane/depth`
 * @property {Float64Array} starts
 * @property {Float64Array} durations
 * @property {Uint32Array} index
 * @property {Uint32Array} count
 * @property {Uint16Array} name
 * @property {Uint16Array} category
 * @property {Float32Array | null} value what slices are coloured by, NaN where it is not known
 * @property {Set<number> | null} lanes the lanes it was asked for; null for all
 * @property {number} used
 */

/** @param {ArrayBuffer} buffer @returns {SliceWindow} */
export function decode(buffer) {
  const view = new DataView(buffer);
  if (view.getUint32(0) !== 0x53535731) throw new Error("The server's answer is not a timeline window.");
  const length = view.getUint32(4, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  const n = header.n;
  let offset = 8 + length;
  const column = (/** @type {any} */ type) => {
    const array = new type(buffer, offset, n);
    offset += array.byteLength;
    return array;
  };
  const rows = new Map();
  for (let i = 0; i < header.rows.length; i += 3) {
    const [lane, depth, from] = header.rows.slice(i, i + 3);
    rows.set(`${lane}/${depth}`, { lane, depth, from, to: i + 5 < header.rows.length ? header.rows[i + 5] : n });
  }
  return {
    start: header.start,
    end: header.end,
    bucket: header.bucket,
    names: header.names,
    categories: header.categories,
    rows,
    starts: column(Float64Array),
    durations: column(Float64Array),
    index: column(Uint32Array),
    count: column(Uint32Array),
    name: column(Uint16Array),
    category: column(Uint16Array),
    value: header.value ? column(Float32Array) : null,
    lanes: null,
    used: 0,
  };
}

/** @param {Response} response */
async function sentence(response) {
  try {
    const body = await response.json();
    return typeof body.detail === "string" ? body.detail : `The server answered ${response.status}.`;
  } catch {
    return `The server answered ${response.status} ${response.statusText}.`;
  }
}

/** @param {string} base @param {string} route @param {Record<string, any>} query @param {AbortSignal} [signal] */
export async function request(base, route, query, signal) {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (Array.isArray(value)) for (const each of value) parameters.append(key, each);
    else if (value !== undefined && value !== null) parameters.set(key, String(value));
  }
  const response = await fetch(`${base}/${route}?${parameters}`, { signal });
  if (!response.ok) throw new Error(await sentence(response));
  return response;
}

/**
 * One opened trace as the browser sees it. Its times are nanoseconds since its own start; what is on the screen is at
 * those plus `offset`, so that several traces can be aligned.
 */
export class Source {
  /**
   * @param {string} base URL of the routes
   * @param {any} summary answer of the route `trace`
   * @param {() => void} onLoad called when something new can be drawn
   * @param {(message: string) => void} onError
   */
  constructor(base, summary, onLoad, onError) {
    this.base = base;
    this.summary = summary;
    this.onLoad = onLoad;
    this.onError = onError;
    this.offset = 0;
    /** Its steps on the curves of its run, see curve_profiled.js. @type {Promise<any>} */
    this.joined = Promise.resolve(null);
    /** Place among the traces of the view. */
    this.place = 0;
    /** What windows carry for colours beside names: "" or "occupancy". */
    this.value = "";
    this.takeLanes(summary);
    /** @type {Map<string, SliceWindow>} */
    this.windows = new Map();
    /** @type {{key: string, abort: AbortController} | null} */
    this.pending = null;
    /** @type {Map<number, any>} */
    this.counters = new Map();
    this.stretches = {
      counters: new Stretch(this, "counters"),
      critical: new Stretch(this, "critical_path"),
      idle: new Stretch(this, "idle"),
    };
    this.clock = 0;
    this.requests = 0;
    this.lastRequest = -Infinity;
    this.waiting = 0;
    this.bytes = 0;
  }

  /** Lanes by their number, of which a part is known where a trace has very many. @param {any} answer of the routes `trace` and `lanes` */
  takeLanes(answer) {
    /** @type {any[]} */
    const lanes = [];
    /** @type {string[]} */
    const labels = [];
    answer.lanes.forEach((/** @type {any} */ lane, /** @type {number} */ place) => {
      lanes[lane.lane] = lane;
      labels[lane.lane] = answer.lane_labels[place];
    });
    this.summary = { ...this.summary, lanes, lane_labels: labels, groups: answer.groups };
    this.lanesKnown = answer.lanes.length;
  }

  /** Asks for the lanes that a filter chooses, and for one in any case, where not all are known. @param {string} text @param {number} [lane] @returns {Promise<boolean>} whether there are others now */
  async findLanes(text, lane) {
    if (this.lanesKnown === this.summary.lanes_total) return false;
    const asked = (this.lanesAsked = {});
    const answer = await this.json("lanes", { q: text, lane });
    if (asked !== this.lanesAsked) return false;
    this.takeLanes(answer);
    return true;
  }

  get id() {
    return this.summary.id;
  }

  /** Where the trace lies on the screen's time. */
  get extent() {
    return [this.offset, this.offset + this.summary.end];
  }

  /** Where what the program did lies on the screen's time, without the profiler's own notes. */
  get work() {
    return this.summary.work.map((/** @type {number} */ time) => time + this.offset);
  }

  /** A range of the screen's time in the trace's own. @param {{start: number, end: number}} range */
  own(range) {
    return { start: range.start - this.offset, end: range.end - this.offset };
  }

  /** Windows with or without values to colour by. @param {string} value */
  carry(value) {
    if (value === this.value) return;
    this.value = value;
    this.windows.clear();
    this.pending?.abort.abort();
  }

  get loading() {
    return this.pending !== null || this.waiting !== 0 || Object.values(this.stretches).some((stretch) => stretch.loading);
  }

  close() {
    clearTimeout(this.waiting);
    this.pending?.abort.abort();
    for (const stretch of Object.values(this.stretches)) stretch.close();
  }

  /** @param {string} route @param {Record<string, any>} query @param {AbortSignal} [signal] */
  async json(route, query, signal) {
    return (await request(this.base, route, { id: this.summary.id, ...query }, signal)).json();
  }

  /** An answer about several traces. @param {string} route @param {string[]} ids @param {Record<string, any>} query */
  async many(route, ids, query) {
    return (await request(this.base, route, { ...query, id: ids })).json();
  }

  /**
   * Makes sure that what is visible is on its way: a padded window, quantised so that small moves ask for the
   * same one again.
   * @param {{start: number, end: number}} range in the trace's time
   * @param {number} pixels
   * @param {number[]} lanes visible lanes
   */
  want(range, pixels, lanes) {
    if (lanes.length === 0) return;
    const plan = this.plan(range, pixels, lanes);
    const held = this.windows.get(plan.key);
    if (held) {
      held.used = ++this.clock;
      return;
    }
    if (this.pending?.key === plan.key) return;
    const wait = this.lastRequest + REQUEST_GAP_MS - performance.now();
    if (wait > 0) {
      if (!this.waiting) this.waiting = window.setTimeout(() => { this.waiting = 0; this.onLoad(); }, wait);
      return;
    }
    this.lastRequest = performance.now();
    this.pending?.abort.abort();
    const abort = new AbortController();
    const pending = { key: plan.key, abort };
    this.pending = pending;
    this.load(plan, abort.signal)
      .catch((error) => {
        if (error.name !== "AbortError") this.onError(error.message);
      })
      .finally(() => {
        if (this.pending === pending) this.pending = null;
        this.onLoad();
      });
  }

  /** @param {{start: number, end: number}} range @param {number} pixels @param {number[]} lanes */
  plan(range, pixels, lanes) {
    const span = range.end - range.start;
    const resolution = 2 ** Math.floor(Math.log2(Math.max((span / Math.max(pixels, 1)) * 1.5, 1)));
    const grain = resolution * 512;
    const low = Math.max(Math.floor((range.start - span * 0.6) / grain) * grain, 0);
    const high = Math.min(Math.ceil((range.end + span * 0.6) / grain) * grain, Math.ceil(this.summary.end) + 1);
    const all = this.summary.lanes.length <= 2 * LANE_BLOCK;
    const blocks = [...new Set(lanes.map((lane) => Math.floor(lane / LANE_BLOCK)))].sort((a, b) => a - b);
    const asked = all
      ? null
      : blocks.flatMap((block) =>
          Array.from({ length: LANE_BLOCK }, (_, i) => block * LANE_BLOCK + i).filter(
            (lane) => lane < this.summary.lanes.length,
          ),
        );
    const end = Math.max(high, low + 1);
    const width = Math.min(Math.max(Math.ceil((end - low) / resolution), 1), 8192);
    return { start: low, end, width, lanes: asked, key: `${low}-${end}-${width}-${all ? "all" : blocks}` };
  }

  /** @param {{start: number, end: number, width: number, lanes: number[] | null, key: string}} plan @param {AbortSignal} signal */
  async load(plan, signal) {
    const { start, end, width, lanes } = plan;
    const query = { id: this.summary.id, start, end, width, lanes: lanes?.join(","), value: this.value || null };
    this.requests += 1;
    const response = await request(this.base, "window", query, signal);
    const buffer = await response.arrayBuffer();
    if (signal.aborted) return;
    this.bytes = buffer.byteLength;
    const loaded = decode(buffer);
    loaded.lanes = lanes && new Set(lanes);
    loaded.used = ++this.clock;
    this.windows.set(plan.key, loaded);
    this.evict();
  }

  evict() {
    if (this.windows.size <= MAX_WINDOWS) return;
    const widest = [...this.windows.values()].reduce((a, b) => (b.end - b.start > a.end - a.start ? b : a));
    const old = [...this.windows].filter(([, w]) => w !== widest).sort(([, a], [, b]) => a.used - b.used);
    for (const [key] of old.slice(0, this.windows.size - MAX_WINDOWS)) this.windows.delete(key);
  }

  /**
   * The loaded window that shows a lane best: it covers the range, or most of it, as finely as is useful.
   * @param {number} lane
   * @param {{start: number, end: number}} range
   * @param {number} nsPerPixel
   * @returns {SliceWindow | null}
   */
  best(lane, range, nsPerPixel) {
    let best = null;
    let bestScore = -Infinity;
    const low = Math.max(range.start, 0);
    const high = Math.min(range.end, this.summary.end);
    const span = Math.max(high - low, 1);
    for (const candidate of this.windows.values()) {
      if (candidate.lanes && !candidate.lanes.has(lane)) continue;
      const covered = Math.max(Math.min(candidate.end, high) - Math.max(candidate.start, low), 0) / span;
      if (covered <= 0) continue;
      const coarse = Math.log2(Math.max(candidate.bucket / nsPerPixel, 0.25));
      const score = covered * 40 - Math.max(coarse, -2) - (coarse < -3 ? 4 : 0);
      if (score > bestScore) {
        bestScore = score;
        best = candidate;
      }
    }
    return best;
  }

  /** @param {{start: number, end: number}} range in the trace's time @param {number} pixels @param {number[]} counters */
  wantCounters(range, pixels, counters) {
    if (counters.length === 0) return;
    this.stretches.counters.want(range, pixels, { counters: counters.join(",") }, (/** @type {any[]} */ loaded) => {
      for (const counter of loaded) this.counters.set(counter.counter, counter);
    });
  }
}

/** The latest answer of a route about what is visible, asked for with room around it so that small moves need no other. */
export class Stretch {
  /** @param {any} source @param {string} route */
  constructor(source, route) {
    this.source = source;
    this.route = route;
    this.key = "";
    /** The latest answer. @type {any} */
    this.answer = null;
    /** @type {AbortController | null} */
    this.abort = null;
  }

  get loading() {
    return this.abort !== null;
  }

  close() {
    this.abort?.abort();
    this.abort = null;
  }

  /** Forgets the answer, so that nothing is drawn and the next one is asked for. */
  drop() {
    this.close();
    this.answer = null;
    this.key = "";
  }

  /**
   * @param {{start: number, end: number}} range in the trace's time
   * @param {number} pixels
   * @param {Record<string, any>} more of the query
   * @param {(answer: any) => void} [use]
   */
  want(range, pixels, more, use) {
    const span = range.end - range.start;
    const grain = 2 ** Math.floor(Math.log2(Math.max(span / 2, 1)));
    const length = this.source.summary.end;
    const start = Math.max(Math.floor((range.start - span / 2) / grain) * grain, 0);
    const end = Math.max(Math.min(Math.ceil((range.end + span / 2) / grain) * grain, length + 1), start + 1);
    const key = JSON.stringify([start, end, more]);
    if (key === this.key) return;
    this.key = key;
    this.close();
    const abort = (this.abort = new AbortController());
    const query = { start: Math.floor(start), end: Math.ceil(end), width: Math.min(Math.ceil(pixels), 1500), ...more };
    this.source
      .json(this.route, query, abort.signal)
      .then((/** @type {any} */ answer) => {
        this.answer = answer;
        use?.(answer);
      })
      .catch((/** @type {any} */ error) => {
        if (error.name !== "AbortError") this.source.onError(error.message);
      })
      .finally(() => {
        if (this.abort === abort) this.abort = null;
        this.source.onLoad();
      });
  }
}

/** First position in [from, to) whose value is greater than `limit`; the values never decrease. */
export function upperBound(/** @type {Float64Array} */ values, /** @type {number} */ from, /** @type {number} */ to, /** @type {number} */ limit) {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
