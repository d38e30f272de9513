// @ts-nocheck
/** A projection that the server works on: started, followed frame by frame, paused, perturbed, ended. */

const WAIT_S = 10;
const AGAIN_MS = 1500;
const MOST_LOSSES = 400;
const ENDED = new Set(["done", "cancelled", "failed"]);

/** what is known of a job */
export interface Frame {
  job: string;
  version: number;
  state: "queued" | "running" | "paused" | "done" | "cancelled" | "failed";
  phase: string;
  iteration: number;
  total: number;
  loss: number | null;
  seconds_left: number | null;
  updates_per_second: number;
  message: string;
  notes: string[];
  /** columns of the coordinates */
  dimensions: number;
  components: { variances: number[]; ratios: number[] } | null;
  seed: number | null;
  settings: Record<string, any>;
  /** steps, where there are several pictures */
  frames: number[] | null;
  /** how many of them are there */
  frames_done: number;
  /** that a clustering has made */
  column?: string;
  /** where they have changed */
  coordinates?: Float32Array;
  /** which points they are of; null for all */
  rows?: Uint32Array | null;
}

export class Job {
  api;
  onFrame;
  key = "";
  frame: Frame | null = null;
  losses: [number, number][] = [];
  updates = 0;
  abort = new AbortController();
  turn = 0;
  /** Which of several pictures is followed; null for the only one. */
  index: number | null = null;
  asking: any;

  /** @param api of projector_data.js */
  constructor(api: any, onFrame: (frame: Frame) => void) {
    this.api = api;
    this.onFrame = onFrame;
  }

  get state() {
    return this.frame?.state ?? "queued";
  }

  get ended() {
    return ENDED.has(this.state);
  }

  /** @returns whether there is a job: with `only_if_known` there may be none */
  async start(route: string, body: any): Promise<boolean> {
    const { job } = await this.api.ask(route, {}, { body, signal: this.abort.signal });
    if (!job) return false;
    this.key = job;
    void this.follow();
    return true;
  }

  /**
   * Asks for frame after frame until the job has ended.
   * @param version that is known
   */
  async follow(version: number = -1) {
    const turn = (this.turn += 1);
    this.asking?.abort();
    const asking = (this.asking = new AbortController());
    while (turn === this.turn && !this.abort.signal.aborted) {
      let pack;
      try {
        pack = await this.api.ask("frame", { job: this.key, after: version, wait: WAIT_S, frame: this.index }, {
          signal: asking.signal,
          quiet: true,
        });
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

  /** Follows another of several pictures. */
  watch(index: number) {
    if (index === this.index) return;
    this.index = index;
    if (this.key) void this.follow();
  }

  take(pack: any) {
    const [coordinates, rows] = pack.arrays ?? [];
    this.frame = { ...pack, coordinates, rows: rows ?? null };
    if (coordinates) this.updates += 1;
    const last = this.losses[this.losses.length - 1];
    if (Number.isFinite(pack.loss) && pack.loss !== null && (!last || pack.iteration > last[0])) {
      this.losses.push([pack.iteration, pack.loss]);
      if (this.losses.length > MOST_LOSSES) {
        this.losses = this.losses.filter((_, at) => at % 2 === 0 || at > MOST_LOSSES - 20);
      }
    } else if (last && pack.iteration < last[0]) this.losses = [];
    this.onFrame(this.frame as Frame);
  }

  fail(message: string) {
    this.frame = {
      ...(this.frame ??
        {
          job: this.key,
          version: -1,
          iteration: 0,
          total: 0,
          phase: "",
          loss: null,
          seconds_left: null,
          updates_per_second: 0,
          notes: [],
          dimensions: 0,
          components: null,
          seed: null,
          settings: {},
          frames: null,
        }),
      state: "failed",
      message,
      coordinates: undefined,
    } as Frame;
    this.onFrame(this.frame);
  }

  async act(action: "pause" | "resume" | "perturb" | "cancel" | "extend", iterations?: number) {
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
