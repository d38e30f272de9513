/** The visible part of the graph: the point in the middle of the screen and the zoom, animated, with limits. */
import { still } from "../../../web/core/motion.ts";

const MOST = 4;
const LEAST = 0.002;
const ANIMATION_MS = 220;
const MARGIN = 28;
/** Fitting never enlarges a small graph beyond this zoom. */
const FIT_MOST = 1.25;
/** Zoom at which names are easy to read. */
const LEAST_READ = 0.55;

const ease = (x: number) => 1 - (1 - x) ** 3;

/** the center in the graph's own units, and the pixels per unit */
export interface Place {
  x: number;
  y: number;
  zoom: number;
}
export interface Box {
  x: number;
  y: number;
  w: number;
  h: number;
}

export class View {
  x = 0;
  y = 0;
  zoom = 1;
  width = 1;
  height = 1;
  /** Everything that can be seen. */
  world: Box = { x: 0, y: 0, w: 1, h: 1 };
  animation: { from: Place; to: Place; since: number } | null = null;

  /** The place the view is moving to. */
  get target(): Place {
    return this.animation ? this.animation.to : this.place;
  }

  get place(): Place {
    return { x: this.x, y: this.y, zoom: this.zoom };
  }

  /** The visible part of the graph. */
  get visible(): { left: number; top: number; right: number; bottom: number } {
    const [w, h] = [this.width / this.zoom / 2, this.height / this.zoom / 2];
    return { left: this.x - w, top: this.y - h, right: this.x + w, bottom: this.y + h };
  }

  /** @returns the place, limited so that part of the graph stays on the screen */
  limited({ x, y, zoom }: Place): Place {
    const { world } = this;
    const least = Math.max(Math.min(this.fitted(world).zoom / 2, 0.5), LEAST);
    return {
      x: Math.min(Math.max(x, world.x), world.x + world.w),
      y: Math.min(Math.max(y, world.y), world.y + world.h),
      zoom: Math.min(Math.max(zoom, least), MOST),
    };
  }

  go(to: Place, instantly: boolean = false) {
    const limited = this.limited(to);
    if (instantly || still()) {
      Object.assign(this, limited);
      this.animation = null;
    } else this.animation = { from: this.place, to: limited, since: performance.now() };
  }

  /** Follows a shift of the graph, so that it is not visible on the screen. */
  carry(dx: number, dy: number) {
    this.x += dx;
    this.y += dy;
    for (const place of this.animation ? [this.animation.from, this.animation.to] : []) {
      place.x += dx;
      place.y += dy;
    }
  }

  /** @param dx pixels by which the content moves */
  pan(dx: number, dy: number, instantly: boolean = false) {
    const { x, y, zoom } = instantly ? this.place : this.target;
    this.go({ x: x - dx / zoom, y: y - dy / zoom, zoom }, instantly);
  }

  /**
   * @param factor above 1 zooms in
   * @param at point on the screen that stays in place
   */
  zoomAt(factor: number, at: { x: number; y: number }, instantly: boolean = false) {
    const from = instantly ? this.place : this.target;
    const { zoom } = this.limited({ ...from, zoom: from.zoom * factor });
    const [dx, dy] = [at.x - this.width / 2, at.y - this.height / 2];
    this.go({ x: from.x + dx / from.zoom - dx / zoom, y: from.y + dy / from.zoom - dy / zoom, zoom }, instantly);
  }

  /**
   * @param right pixels covered on the right
   * @param below pixels covered at the bottom
   */
  fitted(box: Box, right: number = 0, below: number = 0): Place {
    const width = Math.max(this.width - right, 50);
    const height = Math.max(this.height - below, 50);
    const zoom = Math.max(
      Math.min((width - 2 * MARGIN) / Math.max(box.w, 1), (height - 2 * MARGIN) / Math.max(box.h, 1), FIT_MOST),
      LEAST,
    );
    return { x: box.x + box.w / 2 + right / 2 / zoom, y: box.y + box.h / 2 + below / 2 / zoom, zoom };
  }

  /** The initial view: everything, or the beginning of a tall graph, as far as it can be read. */
  first(box: Box, below: number): Place {
    const all = this.fitted(box, 0, below);
    const wide = this.fitted({ ...box, h: 1 }).zoom;
    if (all.zoom >= LEAST_READ || wide < LEAST_READ) return all;
    const zoom = Math.min(wide, 0.9);
    return { x: all.x, y: box.y + (this.height / 2 - MARGIN) / zoom, zoom };
  }

  /**
   * Moves just far enough to bring a box onto the screen.
   * @param inset pixels covered on the right
   */
  reveal(box: Box, inset: number = 0, instantly: boolean = false) {
    let { x, y, zoom } = this.target;
    const width = this.width - inset;
    if (zoom < 0.6 || box.w * zoom > width * 1.5) {
      zoom = box.w * 0.8 > width ? Math.max(width / box.w, 0.2) : Math.max(zoom, 0.9);
    }
    const pad = 60;
    const reach = (middle: number, low: number, size: number, before: number, after: number) => {
      // A box larger than the available space shows its beginning.
      const [from, to] = [
        low - pad / zoom,
        Math.min(low + size + pad / zoom, low - pad / zoom + (before + after) / zoom),
      ];
      if (from < middle - before / zoom) return from + before / zoom;
      if (to > middle + after / zoom) return to - after / zoom;
      return middle;
    };
    x = reach(x, box.x, box.w, this.width / 2, this.width / 2 - inset);
    y = reach(y, box.y, box.h, this.height / 2, this.height / 2);
    this.go({ x, y, zoom }, instantly);
  }

  toWorld(sx: number, sy: number) {
    return { x: this.x + (sx - this.width / 2) / this.zoom, y: this.y + (sy - this.height / 2) / this.zoom };
  }

  toScreen(x: number, y: number) {
    return { x: (x - this.x) * this.zoom + this.width / 2, y: (y - this.y) * this.zoom + this.height / 2 };
  }

  /** Advances the animation; true while it runs. */
  tick(now: number) {
    if (!this.animation) return false;
    const { from, to, since } = this.animation;
    const at = Math.min(Math.max((now - since) / ANIMATION_MS, 0), 1);
    const y = ease(at);
    const ratio = to.zoom / from.zoom;
    this.zoom = from.zoom * ratio ** y;
    // The center moves so that one point stays in place on the screen, as when the user zooms.
    const progress = Math.abs(ratio - 1) < 1e-6 ? y : (1 / this.zoom - 1 / from.zoom) / (1 / to.zoom - 1 / from.zoom);
    this.x = from.x + (to.x - from.x) * progress;
    this.y = from.y + (to.y - from.y) * progress;
    if (at >= 1) {
      Object.assign(this, to);
      this.animation = null;
    }
    return true;
  }
}
