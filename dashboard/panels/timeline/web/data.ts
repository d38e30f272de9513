/** The timeline's data: requests, decoding of windows, and the window cache used for redrawing. */
import { type Api, isAbort, messageOf, type Parameters } from "../../../web/core/request.ts";
import { firstWhere } from "../../../web/core/steps.ts";
import type { StepsOfTrace as ProfiledTrace } from "../../../curves/web/messages.generated.ts";
import type {
  CounterWindow,
  IdleAnswer,
  LaneRow,
  LanesAnswer,
  PathAnswer,
  SliceDetails,
  TraceSummary,
  WindowHeader,
} from "./messages.generated.ts";

const MAX_WINDOWS = 48;
/** During movement, requests are soon superseded; more frequent ones would only load the server. */
const REQUEST_GAP_MS = 60;
const RETRY_MS = 2000;
const LANE_BLOCK = 8;
/** Number of characters of a name that windows carry. */
const WINDOW_NAME = 160;

/** A name as windows carry it. */
export const windowName = (name: string): string =>
  name.length > WINDOW_NAME ? [...name].slice(0, WINDOW_NAME).join("") : name;

export interface Range {
  start: number;
  end: number;
}
/** The parameters of a request for a window of slices. */
interface Plan extends Range {
  width: number;
  lanes: number[] | null;
  key: string;
}
export interface Row {
  lane: number;
  depth: number;
  /** first slice of the row */
  from: number;
  /** one past its last slice */
  to: number;
}
/** Slices of some lanes between two moments. Times are nanoseconds since the trace's start. */
export interface SliceWindow {
  start: number;
  end: number;
  /** width of a bucket in ns */
  bucket: number;
  names: string[];
  categories: string[];
  /** by `lane/depth` */
  rows: Map<string, Row>;
  starts: Float64Array;
  durations: Float64Array;
  index: Uint32Array;
  count: Uint32Array;
  name: Uint16Array;
  category: Uint16Array;
  /** the values slices are colored by, NaN if unknown */
  value: Float32Array | null;
  /** the lanes it was requested for; null for all */
  lanes: Set<number> | null;
  used: number;
}

export function decode(buffer: ArrayBuffer): SliceWindow {
  const view = new DataView(buffer);
  if (view.getUint32(0) !== 0x53535731) throw new Error("Unexpected response from the server: not a timeline window.");
  const length = view.getUint32(4, true);
  const header: WindowHeader = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  const n = header.n;
  let offset = 8 + length;
  const column = <A extends { byteLength: number }>(
    type: new (buffer: ArrayBuffer, offset: number, n: number) => A,
  ): A => {
    const array = new type(buffer, offset, n);
    offset += array.byteLength;
    return array;
  };
  const rows = new Map<string, Row>();
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

/** The first slice of a row that begins after a moment; one past its last if none does. */
export const firstAfter = ({ starts }: SliceWindow, { from, to }: Row, time: number): number =>
  from + firstWhere(to - from, (at) => starts[from + at] > time);

/**
 * One opened trace as the browser sees it. Its times are nanoseconds since its own start; screen time is that plus
 * `offset`, so that several traces can be aligned.
 */
export class Source {
  readonly api: Api;
  summary: TraceSummary;
  readonly onLoad: () => void;
  readonly onError: (message: string) => void;
  offset = 0;
  /** Its steps on the curves of its run. */
  joined: Promise<ProfiledTrace | null> = Promise.resolve(null);
  /** Position among the traces in the view. */
  place = 0;
  /** What windows carry for coloring besides names: "", "occupancy" or "step". */
  value = "";
  windows: Map<string, SliceWindow> = new Map();
  pending: { key: string; abort: AbortController } | null = null;
  counters: Map<number, CounterWindow> = new Map();
  readonly stretches: {
    counters: Stretch<CounterWindow[]>;
    critical: Stretch<PathAnswer>;
    idle: Stretch<IdleAnswer>;
  };
  clock = 0;
  requests = 0;
  lastRequest = -Infinity;
  /** The window that recently failed to load. */
  failed = "";
  waiting = 0;
  bytes = 0;
  lanesKnown = 0;
  #lanesAsked = {};

  /**
   * @param api the routes
   * @param summary answer of the route `trace`
   * @param onLoad called when something new can be drawn
   */
  constructor(api: Api, summary: TraceSummary, onLoad: () => void, onError: (message: string) => void) {
    this.api = api;
    this.summary = summary;
    this.onLoad = onLoad;
    this.onError = onError;
    this.takeLanes(summary);
    this.stretches = {
      counters: new Stretch(this, "counters"),
      critical: new Stretch(this, "critical_path"),
      idle: new Stretch(this, "idle"),
    };
  }

  /** Stores lanes by number; if a trace has very many, only some are known. */
  takeLanes(answer: LanesAnswer) {
    const lanes: LaneRow[] = [];
    const labels: string[] = [];
    answer.lanes.forEach((lane, place) => {
      lanes[lane.lane] = lane;
      labels[lane.lane] = answer.lane_labels[place];
    });
    this.summary = { ...this.summary, lanes, lane_labels: labels, groups: answer.groups };
    this.lanesKnown = answer.lanes.length;
  }

  /**
   * If not all lanes are known, requests those that match a filter, plus one specific lane in any case.
   * @returns whether the known lanes have changed
   */
  async findLanes(text: string, lane?: number): Promise<boolean> {
    if (this.lanesKnown === this.summary.lanes_total) return false;
    const requested = (this.#lanesAsked = {});
    const answer = await this.ask<LanesAnswer>("lanes", { q: text, lane });
    if (requested !== this.#lanesAsked) return false;
    this.takeLanes(answer);
    return true;
  }

  get id() {
    return this.summary.id;
  }

  /** Where the trace lies in screen time. */
  get extent(): [number, number] {
    return [this.offset, this.offset + this.summary.end];
  }

  /** Where the program's own work lies in screen time, without the profiler's own entries. */
  get work(): [number, number] {
    const [start, end] = this.summary.work;
    return [start + this.offset, end + this.offset];
  }

  /** Converts a range from screen time to the trace's own time. */
  own(range: Range) {
    return { start: range.start - this.offset, end: range.end - this.offset };
  }

  /** Sets which values to color by windows carry, if any. */
  carry(value: string) {
    if (value === this.value) return;
    this.value = value;
    this.windows.clear();
    this.pending?.abort.abort();
  }

  get loading() {
    return this.pending !== null || this.waiting !== 0 ||
      Object.values(this.stretches).some((stretch) => stretch.loading);
  }

  close() {
    clearTimeout(this.waiting);
    this.pending?.abort.abort();
    for (const stretch of Object.values(this.stretches)) stretch.close();
  }

  /** The answer of a route for this trace. */
  ask<T>(route: string, query: Parameters, signal?: AbortSignal): Promise<T> {
    return this.api.ask<T>(route, { id: this.id, ...query }, { signal });
  }

  /** The whole name of a slice of a window, which may carry only its beginning. */
  async fullName({ index, name }: { index: number; name: string }): Promise<string> {
    return name.length < WINDOW_NAME ? name : (await this.ask<SliceDetails>("slice", { index })).name;
  }

  /**
   * Ensures that the visible part is loaded or loading: a padded window, quantized so that small moves request the
   * same one again.
   * @param range in the trace's time
   * @param lanes visible lanes
   */
  want(range: Range, pixels: number, lanes: number[]) {
    if (lanes.length === 0) return;
    const plan = this.plan(range, pixels, lanes);
    const held = this.windows.get(plan.key);
    if (held) {
      held.used = ++this.clock;
      return;
    }
    if (this.pending?.key === plan.key || this.failed === plan.key) return;
    const wait = this.lastRequest + REQUEST_GAP_MS - performance.now();
    if (wait > 0) {
      if (!this.waiting) {
        this.waiting = window.setTimeout(() => {
          this.waiting = 0;
          this.onLoad();
        }, wait);
      }
      return;
    }
    this.lastRequest = performance.now();
    this.pending?.abort.abort();
    const abort = new AbortController();
    const pending = { key: plan.key, abort };
    this.pending = pending;
    this.load(plan, abort.signal)
      .catch((error) => {
        if (isAbort(error)) return;
        this.onError(messageOf(error));
        this.failed = plan.key;
        window.setTimeout(() => {
          if (this.failed !== plan.key) return;
          this.failed = "";
          this.onLoad();
        }, RETRY_MS);
      })
      .finally(() => {
        if (this.pending === pending) this.pending = null;
        this.onLoad();
      });
  }

  plan(range: Range, pixels: number, lanes: number[]): Plan {
    const span = range.end - range.start;
    const resolution = 2 ** Math.floor(Math.log2(Math.max((span / Math.max(pixels, 1)) * 1.5, 1)));
    const grain = resolution * 512;
    const low = Math.max(Math.floor((range.start - span * 0.6) / grain) * grain, 0);
    const high = Math.min(Math.ceil((range.end + span * 0.6) / grain) * grain, Math.ceil(this.summary.end) + 1);
    const all = this.summary.lanes.length <= 2 * LANE_BLOCK;
    const blocks = [...new Set(lanes.map((lane) => Math.floor(lane / LANE_BLOCK)))].sort((a, b) => a - b);
    const requested = all
      ? null
      : blocks.flatMap((block) =>
        Array.from({ length: LANE_BLOCK }, (_, i) => block * LANE_BLOCK + i).filter(
          (lane) => lane < this.summary.lanes.length,
        )
      );
    const end = Math.max(high, low + 1);
    const width = Math.min(Math.max(Math.ceil((end - low) / resolution), 1), 8192);
    return { start: low, end, width, lanes: requested, key: `${low}-${end}-${width}-${all ? "all" : blocks}` };
  }

  async load(
    plan: Plan,
    signal: AbortSignal,
  ) {
    const { start, end, width, lanes } = plan;
    const query = { id: this.id, start, end, width, lanes: lanes?.join(","), value: this.value };
    this.requests += 1;
    const buffer = await (await this.api.response("window", query, { signal })).arrayBuffer();
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

  /** The loaded window that shows a lane best: it covers the range, or most of it, in as much detail as is useful. */
  best(lane: number, range: Range, nsPerPixel: number): SliceWindow | null {
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

  /** @param range in the trace's time */
  wantCounters(range: Range, pixels: number, counters: number[]) {
    if (counters.length === 0) return;
    this.stretches.counters.want(range, pixels, { counters: counters.join(",") }, (loaded) => {
      for (const counter of loaded) this.counters.set(counter.counter, counter);
    });
  }
}

/** A route's latest answer for the visible range, requested with a margin so that small moves need no new one. */
export class Stretch<Answer> {
  readonly source: Source;
  readonly route: string;
  key = "";
  /** The latest answer. */
  answer: Answer | null = null;
  abort: AbortController | null = null;

  constructor(source: Source, route: string) {
    this.source = source;
    this.route = route;
  }

  get loading() {
    return this.abort !== null;
  }

  close() {
    this.abort?.abort();
    this.abort = null;
  }

  /** Discards the answer, so that nothing is drawn and the next one is requested. */
  drop() {
    this.close();
    this.answer = null;
    this.key = "";
  }

  /**
   * @param range in the trace's time
   * @param more further query parameters
   */
  want(range: Range, pixels: number, more: Parameters, use?: (answer: Answer) => void) {
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
      .ask<Answer>(this.route, query, abort.signal)
      .then((answer) => {
        this.answer = answer;
        use?.(answer);
      })
      .catch((error) => {
        if (!isAbort(error)) this.source.onError(messageOf(error));
      })
      .finally(() => {
        if (this.abort === abort) this.abort = null;
        this.source.onLoad();
      });
  }
}
