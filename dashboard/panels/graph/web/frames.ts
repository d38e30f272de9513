/**
 * Frames while the view moves. Where drawing everything again takes longer than a frame (no graphics card, many nodes),
 * a moved picture is the last one, shifted or scaled, with only what came into sight drawn; at rest it is drawn again.
 */
import * as draw from "./draw.ts";
import type { GraphPanel } from "./panel.ts";

/** Milliseconds between frames above which the machine is held to be slow, and below which it is fast again. */
const SLOW = 22;
const FAST = 12;
const REST_MS = 110;
/** A scaled picture is drawn again this often while the zoom goes on, and when it is scaled by more than this. */
const AGAIN_MS = 160;
const MOST_SCALED = 1.7;

export class Frames {
  panel;
  last;
  /** Where the last picture was taken, and how far its pixels are from the page's. */
  place: { x: number; y: number; zoom: number } | null = null;
  /** Whether what is on the screen is drawn as it should be. */
  crisp = false;
  drawnAt = -Infinity;
  movedAt = -Infinity;
  /** Time that a whole picture takes, until the next frame comes. */
  cost = 0;
  measuring = -1;
  /** How often the last picture was used again. */
  reused = 0;

  constructor(panel: GraphPanel) {
    this.panel = panel;
    this.last = document.createElement("canvas");
  }

  /** A frame begins. */
  tick(now: number) {
    if (this.measuring >= 0) {
      const took = now - this.measuring;
      // A frame that comes late for another reason is no measure; two slow ones in a row are.
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

  /** Remembers what is on the screen. */
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

  /** The last picture in another place; false where it is of no use. */
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

  /** @param dx pixels of the canvas */
  shifted(context: CanvasRenderingContext2D, dx: number, dy: number) {
    const { panel, last } = this;
    const place = this.place as { x: number; y: number; zoom: number };
    const { view, canvas, ratio } = panel;
    const [w, h] = [canvas.width, canvas.height];
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(last, dx, dy);
    // What came into sight is drawn where the shifted picture is, which is in whole pixels.
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
    // The picture stays on whole pixels; by what the view is ahead of it, the next one catches up.
    Object.assign(view, real);
  }
}
