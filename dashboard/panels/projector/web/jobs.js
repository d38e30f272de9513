/** A projection that the server works on: started, followed frame by frame, paused, perturbed, ended. */

const WAIT_S = 10;
const AGAIN_MS = 1500;
const MOST_LOSSES = 400;
const ENDED = new Set(["done", "cancelled", "failed"]);

/**
 * @typedef {object} Frame what is known of a job
 * @property {string} job
 * @property {number} version
 * @property {"queued" | "running" | "paused" | "done" | "cancelled" | "failed"} state
 * @property {string} phase
 * @property {number} iteration
 * @property {number} total
 * @property {number | null} loss
 * @property {number | null} seconds_left
 * @property {number} updates_per_second
 * @property {string} message
 * @property {string[]} notes
 * @property {number} dimensions columns of the coordinates
 * @property {{variances: number[], ratios: number[]} | null} components
 * @property {number | null} seed
 * @property {Record<string, any>} settings
 * @property {number[] | null} frames steps, where there are several pictures
 * @property {number} frames_done how many of them are there
 * @property {string} [column] that a clustering has made
 * @property {Float32Array} [coordinates] where they have changed
 * @property {Uint32Array | null} [rows] which points they are of; null for all
 */

export class Job {
  /** @param {any} api of projector_data.js @param {(frame: Frame) => void} onFrame */
  constructor(api, onFrame) {
    this.api = api;
    this.onFrame = onFrame;
    this.key = "";
    /** @type {Frame | null} */
    this.frame = null;
    /** @type {[number, number][]} */
    this.losses = [];
    this.updates = 0;
    this.abort = new AbortController();
    this.turn = 0;
    /** Which of several pictures is followed; null for the only one. @type {number | null} */
    this.index = null;
  }

  get state() {
    return this.frame?.state ?? "queued";
  }

  get ended() {
    return ENDED.has(this.state);
  }

  /** @param {string} route @param {any} body @returns {Promise<boolean>} whether there is a job: with `only_if_known` there may be none */
  async start(route, body) {
    const { job } = await this.api.ask(route, {}, { body, signal: this.abort.signal });
    if (!job) return false;
    this.key = job;
    void this.follow();
    return true;
  }

  /** Asks for frame after frame until the job has ended. @param {number} [version] that is known */
  async follow(version = -1) {
    const turn = (this.turn += 1);
    this.asking?.abort();
    const asking = (this.asking = new AbortController());
    while (turn === this.turn && !this.abort.signal.aborted) {
      let pack;
      try {
        pack = await this.api.ask("frame", { job: this.key, after: version, wait: WAIT_S, frame: this.index }, { signal: asking.signal, quiet: true });
      } catch (error) {
        if (error.name === "AbortError" || turn !== this.turn) return;
        if (!/does not answer/.test(error.message)) return this.fail(error.message);
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
        continue;
      }
      if (turn !== this.turn) return;
      version = pack.version ?? version;
      this.take(pack);
      if (this.ended) return;
    }
  }

  /** Follows another of several pictures. @param {number} index */
  watch(index) {
    if (index === this.index) return;
    this.index = index;
    if (this.key) void this.follow();
  }

  /** @param {any} pack */
  take(pack) {
    const [coordinates, rows] = pack.arrays ?? [];
    this.frame = { ...pack, coordinates, rows: rows ?? null };
    if (coordinates) this.updates += 1;
    const last = this.losses[this.losses.length - 1];
    if (Number.isFinite(pack.loss) && pack.loss !== null && (!last || pack.iteration > last[0])) {
      this.losses.push([pack.iteration, pack.loss]);
      if (this.losses.length > MOST_LOSSES) this.losses = this.losses.filter((_, at) => at % 2 === 0 || at > MOST_LOSSES - 20);
    } else if (last && pack.iteration < last[0]) this.losses = [];
    this.onFrame(/** @type {Frame} */ (this.frame));
  }

  /** @param {string} message */
  fail(message) {
    this.frame = /** @type {Frame} */ ({ ...(this.frame ?? { job: this.key, version: -1, iteration: 0, total: 0, phase: "", loss: null, seconds_left: null, updates_per_second: 0, notes: [], dimensions: 0, components: null, seed: null, settings: {}, frames: null }), state: "failed", message, coordinates: undefined });
    this.onFrame(this.frame);
  }

  /** @param {"pause" | "resume" | "perturb" | "cancel" | "extend"} action @param {number} [iterations] */
  async act(action, iterations) {
    await this.api.ask("job", {}, { body: { job: this.key, action, ...(iterations ? { iterations } : {}) } });
    if (!this.abort.signal.aborted) void this.follow(this.frame?.version ?? -1);
  }

  /** No longer asks; the server pauses what nobody looks at. */
  leave() {
    this.turn += 1;
    this.abort.abort();
    this.asking?.abort();
  }
}
