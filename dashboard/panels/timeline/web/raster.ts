/**
 * Slices too narrow for their own shape, as pixels: thousands of them cost one copy instead of one call each.
 *
 * Each row of slices is one line of an image, stretched to the row's height when drawn.
 */

import { make } from "../../../web/core/dom.ts";
import { ofHex } from "../../../web/core/color.ts";
import { penOf } from "./widgets.ts";

const MORE_LINES = 64;
const CHANNELS = /\d+(\.\d+)?/g;

export class Raster {
  readonly canvas = make("canvas");
  readonly context = penOf(this.canvas, { willReadFrequently: true });
  width = 0;
  lines = 0;
  used = 0;
  drawn = 0;
  image: ImageData | null = null;
  pixels = new Uint32Array(0);
  /** Colors as pixels. */
  known: Map<string, number> = new Map();

  /**
   * Discards the previous frame.
   * @param width device pixels
   */
  begin(width: number) {
    this.used = 0;
    this.drawn = 0;
    if (width !== this.width) {
      this.width = width;
      this.lines = 0;
    }
  }

  /**
   * Adds a new, empty line; earlier lines stay.
   * @returns its number
   */
  line(): number {
    if (this.used === this.lines) this.grow();
    const line = this.used++;
    this.pixels.fill(0, line * this.width, (line + 1) * this.width);
    return line;
  }

  grow() {
    const before = this.pixels;
    this.lines += MORE_LINES;
    this.canvas.width = this.width;
    this.canvas.height = this.lines;
    this.image = this.context.createImageData(this.width, this.lines);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.pixels.set(before.subarray(0, Math.min(this.used * this.width, before.length)));
    this.drawn = 0;
  }

  /**
   * @param from device pixel
   * @param to one past the last
   */
  fill(line: number, from: number, to: number, pixel: number) {
    const first = line * this.width;
    const last = first + Math.min(to, this.width);
    for (let at = first + Math.max(from, 0); at < last; at += 1) this.pixels[at] = pixel;
  }

  /**
   * A color as a pixel.
   * @param color `rgb(r,g,b)` or `#rrggbb`
   * @param alpha 0..1
   */
  pixel(color: string, alpha: number) {
    const key = alpha === 1 ? color : `${color} ${alpha}`;
    let found = this.known.get(key);
    if (found === undefined) {
      const [r, g, b] = color.startsWith("#") ? ofHex(color) : (color.match(CHANNELS) || ["0", "0", "0"]).map(Number);
      found = ((Math.round(alpha * 255) << 24) | (b << 16) | (g << 8) | r) >>> 0;
      this.known.set(key, found);
    }
    return found;
  }

  /** Makes the lines added so far ready for drawing. */
  end() {
    if (this.image && this.used) this.context.putImageData(this.image, 0, 0, 0, 0, this.width, this.used);
  }

  draw(context: CanvasRenderingContext2D, line: number, x: number, y: number, width: number, height: number) {
    context.drawImage(this.canvas, 0, line, this.width, 1, x, y, width, height);
  }
}
