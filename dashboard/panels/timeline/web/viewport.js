/** The visible range: zoom, pan, animation and undo. Knows nothing of the screen but its width. */

const MIN_SPAN = 20;
const LEAST_REVEALED = 10;
const OVERSHOOT = 0.03;
const ANIMATION_MS = 180;
const GESTURE_GAP_MS = 500;
const MAX_UNDO = 100;

const ease = (/** @type {number} */ x) => 1 - (1 - x) ** 3;

export class Viewport {
  /**
   * @param {number[]} whole ns, where all that can be seen begins and ends
   * @param {number[]} work where what matters begins and ends: what "everything" shows
   */
  constructor([low, high], work) {
    this.low = low;
    this.high = Math.max(high, low + 1);
    this.work = work;
    this.start = this.low;
    this.end = this.high;
    /** @type {{from: [number, number], to: [number, number], since: number} | null} */
    this.animation = null;
    /** @type {[number, number][]} */
    this.history = [];
    this.lastGesture = -Infinity;
    this.showAll(0, true);
    this.history = [];
  }

  get span() {
    return this.end - this.start;
  }

  get length() {
    return this.high - this.low;
  }

  /** Other traces have come or gone; what is visible stays as far as it is still there. @param {number[]} whole @param {number[]} work */
  reach([low, high], work) {
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

  /** Where the view is going. @returns {[number, number]} */
  get target() {
    return this.animation ? this.animation.to : [this.start, this.end];
  }

  /** @param {number} start @param {number} end @returns {[number, number]} */
  clamp(start, end) {
    const slack = this.length * OVERSHOOT;
    const widest = this.length + 2 * slack;
    const span = Math.min(Math.max(end - start, Math.min(MIN_SPAN, widest)), widest);
    const middle = (start + end) / 2;
    let low = span === end - start ? start : middle - span / 2;
    low = Math.min(Math.max(low, this.low - slack), this.high + slack - span);
    return [low, low + span];
  }

  /** Remembers the view for undo, once per gesture. @param {number} now */
  remember(now) {
    if (now - this.lastGesture > GESTURE_GAP_MS) {
      this.history.push(this.target);
      if (this.history.length > MAX_UNDO) this.history.shift();
    }
    this.lastGesture = now;
  }

  /** @param {number} start @param {number} end @param {number} now @param {boolean} [instantly] */
  go(start, end, now, instantly = false) {
    const to = this.clamp(start, end);
    const still = instantly || window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (still) {
      [this.start, this.end] = to;
      this.animation = null;
    } else {
      this.animation = { from: [this.start, this.end], to, since: now };
    }
  }

  /**
   * @param {number} factor above 1 zooms in
   * @param {number} anchor ns that stays where it is on the screen
   * @param {number} now
   * @param {boolean} [instantly]
   */
  zoom(factor, anchor, now, instantly = false) {
    const [start, end] = instantly ? [this.start, this.end] : this.target;
    const span = Math.max((end - start) / factor, MIN_SPAN);
    const share = (anchor - this.start) / this.span;
    this.go(anchor - span * share, anchor + span * (1 - share), now, instantly);
  }

  /** @param {number} share of the visible span, positive to later times @param {number} now @param {boolean} [instantly] */
  pan(share, now, instantly = false) {
    const [start, end] = instantly ? [this.start, this.end] : this.target;
    const by = (end - start) * share;
    this.go(start + by, end + by, now, instantly);
  }

  /** @param {number} now @param {boolean} [instantly] */
  showAll(now, instantly = false) {
    const [start, end] = this.work;
    const slack = Math.max(end - start, 1) * 0.01;
    this.go(start - slack, end + slack, now, instantly);
  }

  /** Brings a moment to the middle. @param {number} time @param {number} now */
  centre(time, now) {
    this.remember(now);
    this.go(time - this.span / 2, time + this.span / 2, now);
  }

  /**
   * @param {{start: number, duration: number}} slice
   * @param {number} share of the width that it shall fill
   * @param {number} now
   */
  reveal(slice, share, now) {
    const span = Math.max(slice.duration, LEAST_REVEALED) / share;
    const middle = slice.start + slice.duration / 2;
    this.remember(now);
    this.go(middle - span / 2, middle + span / 2, now);
  }

  /** @param {number} now */
  undo(now) {
    const last = this.history.pop();
    this.lastGesture = -Infinity;
    if (last) this.go(last[0], last[1], now);
  }

  /** Moves the animation on; true while it runs. @param {number} now */
  tick(now) {
    if (!this.animation) return false;
    const { from, to, since } = this.animation;
    const x = Math.min(Math.max((now - since) / ANIMATION_MS, 0), 1);
    const y = ease(x);
    // A zoom looks even when the span changes by equal factors, so the span is eased in its logarithm.
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
