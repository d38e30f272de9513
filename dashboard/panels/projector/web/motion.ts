/** Motion on its own: between two cameras or sets of places, the end of a throw, a slow turn; and how smoothly. */
import { between, type Camera, type Dimensions, panned, type Projection, turned } from "./camera.ts";

/** degrees per pixel of a drag */
export const TURN = 0.4;
const DECAY_MS = 90; // time in which a throw loses two thirds of its speed
const SLOWEST = 0.02; // pixels per millisecond
const SPIN = 0.012; // degrees per millisecond
const KEPT = 240; // frames
const LONGEST = 250; // ms between frames of one movement
/**
 * How much is painted while the picture moves. 0: everything; 1: without smooth edges, at one device pixel per CSS
 * pixel; then also only every 2nd, 4th, 8th, and 16th point.
 */
const WORST = 5;
const SLOW_MS = 26; // painting time from which the next level is tried
const FAST_MS = 7; // painting time below which the previous level is tried
const SETTLE = 10; // frames between two such decisions

const eased = (share: number) => (share < 0.5 ? 2 * share * share : 1 - (2 - 2 * share) ** 2 / 2);

/** How smoothly movements were painted: frames, ms between them, and ms of painting. */
export interface Stats {
  count: number;
  p50: number;
  p95: number;
  paint50: number;
  paint95: number;
  level: number;
}

/** Frame times of movements. */
export class Pace {
  level = 0;
  gaps: number[] = [];
  costs: number[] = [];
  count = 0;
  last = -Infinity;
  since = 0;

  forget() {
    this.gaps = [];
    this.costs = [];
    this.count = 0;
    this.last = -Infinity;
    this.since = 0;
  }

  /**
   * @param now time of the frame, ms
   * @param cost time to paint it, ms
   */
  add(now: number, cost: number) {
    const gap = now - this.last;
    this.last = now;
    this.count += 1;
    this.costs.push(cost);
    if (gap < LONGEST) this.gaps.push(gap);
    if (this.costs.length > KEPT) this.costs.shift();
    if (this.gaps.length > KEPT) this.gaps.shift();
    this.since += 1;
    if (this.since < SETTLE) return;
    const usual = this.costs.slice(-SETTLE).sort((a, b) => a - b)[SETTLE >> 1];
    const change = usual > SLOW_MS && this.level < WORST ? 1 : usual < FAST_MS && this.level > 0 ? -1 : 0;
    this.level += change;
    if (change) this.since = 0;
  }

  /** The movement has ended: the next one is not measured from here. */
  rest() {
    this.last = -Infinity;
  }

  stats(): Stats {
    const at = (values: number[], share: number) =>
      [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0;
    return {
      count: this.count,
      p50: at(this.gaps, 0.5),
      p95: at(this.gaps, 0.95),
      paint50: at(this.costs, 0.5),
      paint95: at(this.costs, 0.95),
      level: this.level,
    };
  }
}

export class Motion {
  way: { from: Camera; to: Camera; began: number; ms: number } | null = null;
  mix: { began: number; ms: number } | null = null;
  /** pixels per millisecond */
  thrown: { x: number; y: number; at: number; pan: boolean } | null = null;
  spin = false;
  spunAt = 0;
  /** Whether the user is holding the cloud. */
  held = false;

  mixed(now: number) {
    if (!this.mix) return 1;
    const share = (now - this.mix.began) / this.mix.ms;
    if (share >= 1) this.mix = null;
    return share >= 1 ? 1 : eased(Math.max(0, share));
  }

  /**
   * Moves a camera forward in time.
   * @param p its projection, in CSS pixels
   */
  moved(camera: Camera, now: number, p: Projection): Camera {
    if (this.way) {
      const { from, to, began, ms } = this.way;
      const share = Math.min(1, Math.max(0, (now - began) / ms));
      if (share >= 1) this.way = null;
      return share >= 1 ? to : between(from, to, eased(share));
    }
    if (this.thrown) {
      const gone = Math.min(64, Math.max(0, now - this.thrown.at));
      const { x, y, pan } = this.thrown;
      camera = pan ? panned(camera, x * gone, y * gone, p) : turned(camera, x * gone * TURN, y * gone * TURN);
      const left = Math.exp(-gone / DECAY_MS);
      this.thrown = Math.hypot(x, y) * left > SLOWEST ? { x: x * left, y: y * left, at: now, pan } : null;
    } else if (this.spin && !this.held && p.dimensions === 3) {
      camera = turned(camera, -Math.min(100, now - this.spunAt) * SPIN, 0);
    }
    this.spunAt = now;
    return camera;
  }

  /** Stops, because a movement by hand takes over. */
  stop() {
    this.way = null;
    this.thrown = null;
  }

  busy(dimensions: Dimensions) {
    return Boolean(this.way || this.mix || this.thrown || (this.spin && dimensions === 3));
  }
}
