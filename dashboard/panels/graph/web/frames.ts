/**
 * Frames while the view moves. If a full redraw takes longer than a frame (no graphics card, many nodes), the last
 * picture is shifted or scaled and only newly visible parts are drawn; at rest, everything is redrawn.
 */
import * as draw from "./draw.ts";
import type { GraphPanel } from "./panel.ts";

/** Milliseconds between frames above which the machine counts as slow, and below which it is fast again. */
const SLOW = 22;
const FAST = 12;
const REST_MS = 110;
/** A scaled picture is redrawn at this interval while zooming continues, and when scaled by more than this factor. */
const AGAIN_MS = 160;
const MOST_SCALED = 1.7;

export class Frames {
  panel;
  last;
  /** Where the last picture was taken, and its zoom. */
  place: { x: number; y: number; zoom: number } | null = null;
  /** Whether the picture on the screen is fully drawn. */
  crisp = false;
  drawnAt = -Infinity;
  movedAt = -Infinity;
  /** Time a full picture takes, up to the next frame. */
  cost = 0;
  measuring = -1;
  /** How often the last picture was reused. */
  reused = 0;

  constructor(panel: GraphPanel) {
    this.panel = panel;
    this.last = document.createElement("canvas");
  }

  /** Begins a frame. */
  tick(now: number) {
    if (this.measuring >= 0) {
      const took = now - this.measuring;
      // A frame late for another reason is no reliable measure; two slow ones in a row are.
      if (took < 1000) this.cost = this.cost * 0.5 + took * 0.5;
      this.measuring = -1;
    }
    if (!this.crisp && this.panel.scene && now - this.movedAt > REST_MS) this.panel.changed();
  }

  /** @param content whether anything but the view has changed */
  draw(content: boolean) {
    const { panel } = this;
    const { view } = panel;
    const now = performance.now();
    const moved = this.place !== null &&
      (view.x !== this.place.x || view.y !== this.place.y || view.zoom !== this.place.zoom);
    if (moved) this.movedAt = now;
    const slow = this.cost > SLOW;
    if (!content && moved && slow && !panel.shown.moving && this.again(now)) return;
    const began = performance.now();
    const context = panel.canvas.getContext("2d", { alpha: false });
    if (context) panel.drawn = draw.draw(context, panel.drawing, panel.ratio);
    this.measuring = began;
    this.crisp = true;
    this.drawnAt = now;
    if (slow) this.keep();
    else this.place = view.place;
    if (this.cost < FAST) this.last.width = this.last.height = 0;
  }

  /** Saves what is on the screen. */
  keep() {
    const { canvas, view } = this.panel;
    if (this.last.width !== canvas.width || this.last.height !== canvas.height) {
      this.last.width = canvas.width;
      this.last.height = canvas.height;
    }
    const context = this.last.getContext("2d", { alpha: false }) as CanvasRenderingContext2D;
    context.drawImage(canvas, 0, 0);
    this.place = view.place;
  }

  /** Redraws the last picture at another position; false if it cannot be used. */
  again(now: number) {
    const { panel, place, last } = this;
    const { view, canvas, ratio } = panel;
    if (!place || last.width !== canvas.width || last.height !== canvas.height) return false;
    const scale = view.zoom / place.zoom;
    const context = canvas.getContext("2d", { alpha: false }) as CanvasRenderingContext2D;
    if (Math.abs(scale - 1) > 1e-9) {
      if (now - this.drawnAt > AGAIN_MS || scale > MOST_SCALED || scale < 1 / MOST_SCALED) return false;
      this.scaled(context, scale);
    } else {
      const dx = Math.round((place.x - view.x) * view.zoom * ratio);
      const dy = Math.round((place.y - view.y) * view.zoom * ratio);
      if (Math.abs(dx) > canvas.width * 0.6 || Math.abs(dy) > canvas.height * 0.6) return false;
      this.shifted(context, dx, dy);
    }
    this.crisp = false;
    this.reused += 1;
    return true;
  }

  scaled(context: CanvasRenderingContext2D, scale: number) {
    const { panel, last } = this;
    const place = this.place as { x: number; y: number; zoom: number };
    const { view, canvas, ratio, theme } = panel;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = theme.canvas;
    context.fillRect(0, 0, canvas.width, canvas.height);
    const left = canvas.width / 2 + ((place.x - view.x) * view.zoom * ratio) - (canvas.width * scale) / 2;
    const top = canvas.height / 2 + ((place.y - view.y) * view.zoom * ratio) - (canvas.height * scale) / 2;
    context.imageSmoothingQuality = "low";
    context.drawImage(last, left, top, canvas.width * scale, canvas.height * scale);
  }

  /** @param dx canvas pixels */
  shifted(context: CanvasRenderingContext2D, dx: number, dy: number) {
    const { panel, last } = this;
    const place = this.place as { x: number; y: number; zoom: number };
    const { view, canvas, ratio } = panel;
    const [w, h] = [canvas.width, canvas.height];
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(last, dx, dy);
    // Newly visible parts are drawn to match the shifted picture, which lies on whole pixels.
    const real = view.place;
    view.x = place.x - dx / (view.zoom * ratio);
    view.y = place.y - dy / (view.zoom * ratio);
    const strips = [
      dx > 0 ? [0, 0, dx, h] : dx < 0 ? [w + dx, 0, -dx, h] : null,
      dy > 0 ? [0, 0, w, dy] : dy < 0 ? [0, h + dy, w, -dy] : null,
    ];
    for (const strip of strips) {
      if (strip) {
        draw.draw(
          context,
          panel.drawing,
          ratio,
          strip.map((value) => value / ratio),
        );
      }
    }
    this.keep();
    // The picture stays on whole pixels; the next one catches up with the remaining offset of the view.
    Object.assign(view, real);
  }
}
