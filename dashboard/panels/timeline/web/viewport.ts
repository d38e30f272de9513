/** The visible range: zoom, pan, animation and undo. Knows nothing about the screen but its width. */
import { still } from "../../../web/core/motion.ts";

const MIN_SPAN = 20;
const LEAST_REVEALED = 10;
const OVERSHOOT = 0.03;
const ANIMATION_MS = 180;
const GESTURE_GAP_MS = 500;
const MAX_UNDO = 100;

const ease = (x: number) => 1 - (1 - x) ** 3;

export class Viewport {
  low;
  high;
  work;
  start;
  end;
  animation: { from: [number, number]; to: [number, number]; since: number } | null = null;
  history: [number, number][] = [];
  lastGesture = -Infinity;

  /**
   * @param whole start and end, in ns, of everything that can be seen
   * @param work start and end of the relevant part, which "everything" shows
   */
  constructor([low, high]: number[], work: number[]) {
    this.low = low;
    this.high = Math.max(high, low + 1);
    this.work = work;
    this.start = this.low;
    this.end = this.high;
    this.showAll(0, true);
    this.history = [];
  }

  get span() {
    return this.end - this.start;
  }

  get length() {
    return this.high - this.low;
  }

  /** Adapts to added or removed traces; the visible range stays as far as it still exists. */
  reach([low, high]: number[], work: number[]) {
    const all = this.showsAll;
    this.work = work;
    this.low = low;
    this.high = Math.max(high, low + 1);
    if (all) this.showAll(0, true);
    else this.go(this.target[0], this.target[1], 0, true);
  }

  get showsAll() {
    const [start, end] = this.target;
    return start <= this.work[0] && end >= this.work[1];
  }

  /** The range the view is moving to. */
  get target(): [number, number] {
    return this.animation ? this.animation.to : [this.start, this.end];
  }

  clamp(start: number, end: number): [number, number] {
    const slack = this.length * OVERSHOOT;
    const widest = this.length + 2 * slack;
    const span = Math.min(Math.max(end - start, Math.min(MIN_SPAN, widest)), widest);
    const middle = (start + end) / 2;
    let low = span === end - start ? start : middle - span / 2;
    low = Math.min(Math.max(low, this.low - slack), this.high + slack - span);
    return [low, low + span];
  }

  /** Remembers the view for undo, once per gesture. */
  remember(now: number) {
    if (now - this.lastGesture > GESTURE_GAP_MS) {
      this.history.push(this.target);
      if (this.history.length > MAX_UNDO) this.history.shift();
    }
    this.lastGesture = now;
  }

  go(start: number, end: number, now: number, instantly: boolean = false) {
    const to = this.clamp(start, end);
    if (instantly || still()) {
      [this.start, this.end] = to;
      this.animation = null;
    } else {
      this.animation = { from: [this.start, this.end], to, since: now };
    }
  }

  /**
   * @param factor above 1 zooms in
   * @param anchor time in ns that stays in place on the screen
   */
  zoom(factor: number, anchor: number, now: number, instantly: boolean = false) {
    const [start, end] = instantly ? [this.start, this.end] : this.target;
    const span = Math.max((end - start) / factor, MIN_SPAN);
    const share = (anchor - this.start) / this.span;
    this.go(anchor - span * share, anchor + span * (1 - share), now, instantly);
  }

  /** @param share of the visible span; positive moves to later times */
  pan(share: number, now: number, instantly: boolean = false) {
    const [start, end] = instantly ? [this.start, this.end] : this.target;
    const by = (end - start) * share;
    this.go(start + by, end + by, now, instantly);
  }

  showAll(now: number, instantly: boolean = false) {
    const [start, end] = this.work;
    const slack = Math.max(end - start, 1) * 0.01;
    this.go(start - slack, end + slack, now, instantly);
  }

  /** Centers the view on a moment. */
  center(time: number, now: number) {
    this.remember(now);
    this.go(time - this.span / 2, time + this.span / 2, now);
  }

  /** @param share of the width that the slice should fill */
  reveal(slice: { start: number; duration: number }, share: number, now: number) {
    const span = Math.max(slice.duration, LEAST_REVEALED) / share;
    const middle = slice.start + slice.duration / 2;
    this.remember(now);
    this.go(middle - span / 2, middle + span / 2, now);
  }

  undo(now: number) {
    const last = this.history.pop();
    this.lastGesture = -Infinity;
    if (last) this.go(last[0], last[1], now);
  }

  /** Advances the animation; true while it runs. */
  tick(now: number) {
    if (!this.animation) return false;
    const { from, to, since } = this.animation;
    const x = Math.min(Math.max((now - since) / ANIMATION_MS, 0), 1);
    const y = ease(x);
    // A zoom looks smooth if the span changes by equal factors, so the logarithm of the span is eased.
    const spanFrom = from[1] - from[0];
    const spanTo = to[1] - to[0];
    const ratio = spanTo / spanFrom;
    if (Math.abs(ratio - 1) < 1e-6) {
      this.start = from[0] + (to[0] - from[0]) * y;
      this.end = this.start + spanTo;
    } else {
      const span = spanFrom * ratio ** y;
      const progress = (span - spanFrom) / (spanTo - spanFrom);
      this.start = from[0] + (to[0] - from[0]) * progress;
      this.end = this.start + span;
    }
    if (x >= 1) {
      [this.start, this.end] = to;
      this.animation = null;
    }
    return true;
  }
}
