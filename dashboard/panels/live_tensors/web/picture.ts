/** Colors for the pixels of live tensors: 0 is not finite, 1 a line between tiles, and 2 to 255 are the scale. */
import { type Rgb, viridis } from "../../../web/core/color.ts";
import type { LiveTensor } from "../../../web/page/messages.generated.ts";

export const LOWEST = 2;
export const HIGHEST = 255;
const NOT_FINITE: Rgb = [255, 0, 160];
const BAR_HEIGHT = 48;
/** Approximate length in pixels of the longer side of a small picture. */
const SIDE = 128;

/** The colors of all pixel values, at four bytes each; lines between tiles are transparent. */
const COLORS = new Uint32Array(256).map((_, pixel) => {
  const [r, g, b] = pixel >= LOWEST ? viridis((pixel - LOWEST) / (HIGHEST - LOWEST)) : NOT_FINITE;
  const alpha = pixel === 1 ? 0 : 255;
  return (alpha << 24) | (Math.round(b) << 16) | (Math.round(g) << 8) | Math.round(r);
});

export const decoded = (base64: string): Uint8Array => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));

/** A picture to be drawn: four bytes per pixel, little-endian, rows from the top. */
export interface Drawn {
  width: number;
  height: number;
  colors: Uint32Array<ArrayBuffer>;
}

/** The picture of an array; a row of numbers becomes bars that start at 0, or at the end of the scale nearest to it. */
export function drawn(tensor: LiveTensor, pixels: Uint8Array): Drawn {
  const { width, height, layout } = tensor;
  if (layout === "bars") return bars(tensor, pixels);
  const colors = new Uint32Array(width * height);
  for (let at = 0; at < colors.length; at++) {
    colors[at] = layout === "colors"
      ? (255 << 24) | (pixels[3 * at + 2] << 16) | (pixels[3 * at + 1] << 8) | pixels[3 * at]
      : COLORS[pixels[at]];
  }
  return { width, height, colors };
}

function bars({ width, lowest, highest }: LiveTensor, pixels: Uint8Array): Drawn {
  const colors = new Uint32Array(width * BAR_HEIGHT);
  const rowOf = (share: number) => Math.round((1 - share) * (BAR_HEIGHT - 1));
  const zero = highest > lowest ? Math.min(1, Math.max(0, -lowest / (highest - lowest))) : 0.5;
  for (let x = 0; x < width; x++) {
    const pixel = pixels[x];
    const share = (pixel - LOWEST) / (HIGHEST - LOWEST);
    const [from, to] = pixel < LOWEST ? [0, BAR_HEIGHT - 1] : [rowOf(share), rowOf(zero)].sort((a, b) => a - b);
    for (let y = from; y <= to; y++) colors[y * width + x] = COLORS[pixel];
  }
  return { width, height: BAR_HEIGHT, colors };
}

/** The scale value that a pixel stands for, at the middle of its color; null if it stands for none. */
export function valueOf({ lowest, highest }: LiveTensor, pixel: number): number | null {
  return pixel < LOWEST ? null : lowest + ((pixel - LOWEST) / (HIGHEST - LOWEST)) * (highest - lowest);
}

/** The index in the array of the element at a pixel, which must not be of a line between tiles. */
export function indexOf({ shape, axes, layout, width }: LiveTensor, x: number, y: number): number[] {
  const extents = axes.map(([axis, step]) => Math.ceil(shape[axis] / step));
  let place = y * width + x;
  if (layout === "tiles") {
    const [rows, columns] = extents.filter((extent) => extent > 1).slice(-2);
    const across = (width + 1) / (columns + 1);
    const tile = Math.floor(y / (rows + 1)) * across + Math.floor(x / (columns + 1));
    place = (tile * rows + (y % (rows + 1))) * columns + (x % (columns + 1));
  }
  const index = shape.map(() => 0);
  for (let at = axes.length - 1; at >= 0; at -= 1) {
    const [axis, step] = axes[at];
    index[axis] = (place % extents[at]) * step;
    place = Math.floor(place / extents[at]);
  }
  return index;
}

/** The whole factor by which a picture is enlarged so that it is visible and fits. */
export function enlargement(width: number, height: number, room: number): number {
  const wanted = Math.ceil(SIDE / Math.max(width, height, 1));
  return Math.max(1, Math.min(wanted, Math.floor(room / Math.max(width, 1))));
}
