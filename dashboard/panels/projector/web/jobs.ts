/** A projection computed by the server: started, followed frame by frame, paused, perturbed, and ended. */
import { isAbort, messageOf } from "../../../web/core/request.ts";
import type { Api } from "./data.ts";
import type { BegunJob, FrameHeader } from "./messages.generated.ts";

const WAIT_S = 10;
const AGAIN_MS = 1500;
const MOST_LOSSES = 400;
const ENDED = new Set<JobState>(["done", "cancelled", "failed"]);

export type JobState = FrameHeader["state"];
export type Action = "pause" | "resume" | "perturb" | "cancel" | "extend";

/** The known state of a job. */
export interface Frame extends FrameHeader {
  /** Present if the coordinates have changed. */
  coordinates?: Float32Array;
  /** The points that the coordinates belong to; null for all. */
  rows?: Uint32Array | null;
}

/** A frame as sent: its arrays are the coordinates and the points they belong to. */
type FramePack = FrameHeader & { arrays: [Float32Array?, Uint32Array?] };

const UNKNOWN: Omit<Frame, "job" | "state" | "message"> = {
  version: -1,
  phase: "",
  iteration: 0,
  total: 0,
  progress: null,
  loss: null,
  seconds_left: null,
  updates_per_second: null,
  notes: [],
  step: null,
  frame: null,
  frames: null,
  frames_done: 0,
};

export class Job {
  readonly api: Api;
  readonly onFrame: (frame: Frame) => void;
  key = "";
  frame: Frame | null = null;
  /** The points in the projection; null for all. */
  rows: Uint32Array | null = null;
  losses: [iteration: number, loss: number][] = [];
  updates = 0;
  readonly abort = new AbortController();
  turn = 0;
  /** Which of several pictures is being followed; null for the only one. */
  index: number | null = null;
  asking: AbortController | null = null;
  /** Whether there is a job; the server may not have answered yet. */
  started: Promise<boolean> = Promise.resolve(false);

  constructor(api: Api, onFrame: (frame: Frame) => void) {
    this.api = api;
    this.onFrame = onFrame;
  }

  get state(): JobState {
    return this.frame?.state ?? "queued";
  }

  get ended(): boolean {
    return ENDED.has(this.state);
  }

  /** @returns whether there is a job: with `only_if_known` there may be none */
  start(route: string, body: Record<string, unknown>): Promise<boolean> {
    return (this.started = this.begin(route, body));
  }

  private async begin(route: string, body: Record<string, unknown>): Promise<boolean> {
    const { job } = await this.api.ask<BegunJob>(route, {}, { body, signal: this.abort.signal });
    if (!job) return false;
    this.key = job;
    void this.follow();
    return true;
  }

  /**
   * Requests frame after frame until the job has ended.
   * @param version the last known version
   */
  async follow(version = -1): Promise<void> {
    const turn = (this.turn += 1);
    this.asking?.abort();
    const { signal } = (this.asking = new AbortController());
    while (turn === this.turn && !this.abort.signal.aborted) {
      let pack: FramePack;
      try {
        const requested = { job: this.key, after: version, wait: WAIT_S, frame: this.index };
        pack = await this.api.ask<FramePack>("frame", requested, { signal, quiet: true });
      } catch (error) {
        if (isAbort(error) || turn !== this.turn) return;
        const message = messageOf(error);
        if (!/does not respond/.test(message)) return this.fail(message);
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
        continue;
      }
      if (turn !== this.turn) return;
      ({ version } = pack);
      this.take(pack);
      if (this.ended) return;
    }
  }

  /** Switches to another of several pictures. */
  watch(index: number): void {
    if (index === this.index) return;
    this.index = index;
    if (this.key) void this.follow();
  }

  take(pack: FramePack): void {
    const [coordinates, rows] = pack.arrays;
    const frame: Frame = { ...pack, coordinates, rows: rows ?? null };
    this.frame = frame;
    if (coordinates) this.updates += 1;
    this.losses = withLoss(this.losses, pack);
    this.onFrame(frame);
  }

  fail(message: string): void {
    this.frame = { ...UNKNOWN, job: this.key, ...this.frame, state: "failed", message, coordinates: undefined };
    this.onFrame(this.frame);
  }

  async act(action: Action, iterations?: number): Promise<void> {
    // If there is none, whoever started it reports why.
    if (!(await this.started.catch(() => false))) return;
    await this.api.ask("job", {}, { body: { job: this.key, action, ...(iterations ? { iterations } : {}) } });
    if (!this.abort.signal.aborted) void this.follow(this.frame?.version ?? -1);
  }

  /** Stops requesting frames; the server pauses jobs that nobody is watching. */
  leave(): void {
    this.turn += 1;
    this.abort.abort();
    this.asking?.abort();
  }
}

/** Adds a frame's loss, or starts over if the job did. Of many losses, every second older one is dropped. */
export function withLoss(
  losses: [number, number][],
  { iteration, loss }: Pick<Frame, "iteration" | "loss">,
): [number, number][] {
  const last = losses.at(-1);
  if (last && iteration < last[0]) return [];
  if (loss === null || !Number.isFinite(loss) || iteration === last?.[0]) return losses;
  const all: [number, number][] = [...losses, [iteration, loss]];
  return all.length > MOST_LOSSES ? all.filter((_, at) => at % 2 === 0 || at > MOST_LOSSES - 20) : all;
}
