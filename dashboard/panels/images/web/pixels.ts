/** Arithmetic on pixels: adjustments, color maps, smaller copies, histograms, differences. */
import { ofHex, type Rgb, scaleOf, viridis } from "../../../web/core/color.ts";
import type { ValueOf } from "../../../web/core/setting.ts";
import { pause, type Pixels, type Values } from "./png.ts";
import type { settings } from "./settings.generated.ts";

const SLICE = 2e6;
/** The value of a signed difference of zero. */
const MIDDLE = 32768;

/** A scale of a few evenly spaced colors, with linear interpolation between them. */
const scale = (colors: string) => scaleOf(colors.split(" ").map((hex) => ofHex("#" + hex)));
const SCALES = {
  viridis,
  magma: scale("000004 180f3d 440f76 721f81 9e2f7f cd4071 f1605d fd9668 feca8d fcfdbf"),
  turbo: scale(
    "30123b 4145ab 4675ed 39a2fc 1bcfd4 24eca6 61fc6c a4fc3b d1e834 f3c63a fe9b2d f36315 d93806 b11901 7a0402",
  ),
  diverging: scale("053061 2166ac 4393c3 92c5de d1e5f0 f7f7f7 fddbc7 f4a582 d6604d b2182b 67001f"),
};

/** how pixels are drawn */
export interface Look {
  /** factor */
  brightness: number;
  /** factor around the middle */
  contrast: number;
  /** exponent 1 / gamma */
  gamma: number;
  invert: boolean;
  channel: ValueOf<typeof settings.channel>;
  /** color map for single values */
  map: ValueOf<typeof settings.map>;
  /** factor applied to a difference */
  amplify: number;
}

const mapTables = new Map<string, Uint8Array>();
/** The 256 RGB colors of a map. */
function mapTable(name: keyof typeof SCALES): Uint8Array {
  let table = mapTables.get(name);
  if (!table) {
    table = Uint8Array.from(Array.from({ length: 256 }, (_, i): Rgb => SCALES[name](i / 255)).flat());
    mapTables.set(name, table);
  }
  return table;
}

let lastTable = { name: "", table: new Uint8ClampedArray() };
/** Maps stored values to screen values from 0 to 255. */
function table(top: number, look: Look): Uint8ClampedArray {
  const name = [top, look.brightness, look.contrast, look.gamma, look.invert, look.amplify].join();
  if (lastTable.name === name) return lastTable.table;
  const made = new Uint8ClampedArray(top + 1);
  const bound = (x: number) => Math.min(Math.max(x, 0), 1);
  for (let value = 0; value <= top; value += 1) {
    let x = bound((value / top) * look.amplify * look.brightness);
    x = bound((x - 0.5) * look.contrast + 0.5) ** (1 / look.gamma);
    made[value] = Math.round(255 * (look.invert ? 1 - x : x));
  }
  lastTable = { name, table: made };
  return made;
}

/** A single value of a pixel, depending on the channel. */
export function single(pixels: Pixels, at: number, channel: Look["channel"]): number {
  const { data, channels, top } = pixels;
  if (channel === "a") return channels % 2 ? top : data[at + channels - 1];
  if (channels < 3) return data[at];
  if (channel === "luminance") return Math.round(0.2126 * data[at] + 0.7152 * data[at + 1] + 0.0722 * data[at + 2]);
  return data[at + { all: 0, r: 0, g: 1, b: 2 }[channel]];
}

export const isSingle = (pixels: Pixels, look: Look): boolean => look.channel !== "all" || pixels.channels < 3;

/** Paints part of a picture in screen colors. */
export function paint(
  pixels: Pixels,
  look: Look,
  left: number,
  top: number,
  width: number,
  height: number,
): ImageData {
  const image = new ImageData(width, height);
  const out = image.data;
  const { data, channels } = pixels;
  const perRow = pixels.width * channels;
  const alpha = channels % 2 || look.channel !== "all" ? -1 : channels - 1;
  if (pixels.signed) return paintSigned(pixels, pixels.signed, look, image, left, top);
  const lut = table(pixels.top, look);
  const one = isSingle(pixels, look);
  const map = one && look.map !== "gray" ? mapTable(look.map) : null;
  const plain = channels < 3 && look.channel !== "a";
  const toByte = 255 / pixels.top;
  for (let y = 0, o = 0; y < height; y += 1) {
    let at = (top + y) * perRow + left * channels;
    for (let x = 0; x < width; x += 1, o += 4, at += channels) {
      if (one) {
        const value = lut[plain ? data[at] : single(pixels, at, look.channel)];
        if (map) {
          out[o] = map[value * 3];
          out[o + 1] = map[value * 3 + 1];
          out[o + 2] = map[value * 3 + 2];
        } else out[o] = out[o + 1] = out[o + 2] = value;
      } else {
        out[o] = lut[data[at]];
        out[o + 1] = lut[data[at + 1]];
        out[o + 2] = lut[data[at + 2]];
      }
      out[o + 3] = alpha < 0 ? 255 : data[at + alpha] * toByte;
    }
  }
  return image;
}

function paintSigned(
  pixels: Pixels,
  most: number,
  look: Look,
  image: ImageData,
  left: number,
  top: number,
): ImageData {
  const out = image.data;
  const map = mapTable("diverging");
  const factor = (127.5 * look.amplify) / most;
  for (let y = 0, o = 0; y < image.height; y += 1) {
    let at = (top + y) * pixels.width + left;
    for (let x = 0; x < image.width; x += 1, o += 4, at += 1) {
      const value = Math.round(Math.min(Math.max(127.5 + (pixels.data[at] - MIDDLE) * factor, 0), 255));
      out[o] = map[value * 3];
      out[o + 1] = map[value * 3 + 1];
      out[o + 2] = map[value * 3 + 2];
      out[o + 3] = 255;
    }
  }
  return image;
}

// --- smaller copies ----------------------------------------------------------------------------------------

type Merge = (a: number, b: number, c: number, d: number) => number;
const MERGE: Record<"mean" | "max" | "extreme", Merge> = {
  mean: (a, b, c, d) => (a + b + c + d + 2) >> 2,
  max: (a, b, c, d) => Math.max(a, b, c, d),
  /** The value farthest from zero difference, so that a single differing pixel stays visible. */
  extreme: (a, b, c, d) => [a, b, c, d].reduce((far, x) => (Math.abs(x - MIDDLE) > Math.abs(far - MIDDLE) ? x : far)),
};

const alike = (data: Values, length: number): Values =>
  data instanceof Uint16Array ? new Uint16Array(length) : new Uint8Array(length);

async function half(pixels: Pixels, merge: Merge): Promise<Pixels> {
  const { channels } = pixels;
  const width = Math.max(pixels.width >> 1, 1);
  const height = Math.max(pixels.height >> 1, 1);
  const data = alike(pixels.data, width * height * channels);
  const source = pixels.data;
  const right = pixels.width > 1 ? channels : 0;
  const below = pixels.height > 1 ? pixels.width * channels : 0;
  let since = 0;
  for (let y = 0, o = 0; y < height; y += 1) {
    let at = 2 * y * pixels.width * channels;
    for (let x = 0; x < width; x += 1, at += channels) {
      for (let c = 0; c < channels; c += 1, at += 1, o += 1) {
        data[o] = merge(source[at], source[at + right], source[at + below], source[at + below + right]);
      }
    }
    since += width * channels;
    if (since > SLICE) {
      since = 0;
      await pause();
    }
  }
  return { ...pixels, width, height, data, smaller: [] };
}

/** Adds smaller copies of a picture, so that the cost of drawing depends on the screen, not on the picture's size. */
export async function shrink(pixels: Pixels, way: keyof typeof MERGE = "mean"): Promise<Pixels> {
  const smaller: Pixels[] = pixels.smaller = [];
  let last = pixels;
  while (Math.max(last.width, last.height) > 1024 && Math.min(last.width, last.height) > 1) {
    last = await half(last, MERGE[way]);
    smaller.push(last);
  }
  return pixels;
}

/** Resizes a picture by bilinear interpolation. */
export async function resize(pixels: Pixels, width: number, height: number): Promise<Pixels> {
  const { channels, data } = pixels;
  const out = alike(data, width * height * channels);
  const fx = pixels.width / width;
  const fy = pixels.height / height;
  for (let y = 0, o = 0; y < height; y += 1) {
    const sy = Math.min(Math.max((y + 0.5) * fy - 0.5, 0), pixels.height - 1);
    const y0 = Math.floor(sy);
    const y1 = Math.min(y0 + 1, pixels.height - 1);
    for (let x = 0; x < width; x += 1) {
      const sx = Math.min(Math.max((x + 0.5) * fx - 0.5, 0), pixels.width - 1);
      const x0 = Math.floor(sx);
      const x1 = Math.min(x0 + 1, pixels.width - 1);
      for (let c = 0; c < channels; c += 1, o += 1) {
        const value = (row: number, column: number) => data[(row * pixels.width + column) * channels + c];
        const above = value(y0, x0) + (value(y0, x1) - value(y0, x0)) * (sx - x0);
        const below = value(y1, x0) + (value(y1, x1) - value(y1, x0)) * (sx - x0);
        out[o] = Math.round(above + (below - above) * (sy - y0));
      }
    }
    if (y % 128 === 127) await pause();
  }
  return shrink({ ...pixels, width, height, data: out });
}

// --- numbers -----------------------------------------------------------------------------------------------

/** Counts of a channel in 256 bins, with its smallest and largest value and its mean. */
export interface Histogram {
  counts: Float64Array;
  low: number;
  high: number;
  mean: number;
}

/** Computes a histogram of each channel. */
export async function histogram(pixels: Pixels): Promise<Histogram[]> {
  const { data, channels, top } = pixels;
  const bins = Array.from({ length: channels }, () => new Float64Array(256));
  const low = new Array<number>(channels).fill(Infinity);
  const high = new Array<number>(channels).fill(-Infinity);
  const sums = new Array<number>(channels).fill(0);
  const bin = Uint8Array.from({ length: top + 1 }, (_, value) => (value * 256) / (top + 1));
  for (let at = 0; at < data.length; at += channels) {
    for (let c = 0; c < channels; c += 1) {
      const value = data[at + c];
      bins[c][bin[value]] += 1;
      if (value < low[c]) low[c] = value;
      if (value > high[c]) high[c] = value;
      sums[c] += value;
    }
    if (at % (channels << 20) === 0) await pause();
  }
  const count = data.length / channels;
  return bins.map((counts, c) => ({ counts, low: low[c], high: high[c], mean: sums[c] / count }));
}

/** The difference of two pictures in numbers. */
export interface DifferenceFacts {
  mean: number;
  max: number;
  psnr: number;
  /** Number of differing pixels, out of `count`. */
  differing: number;
  count: number;
  top: number;
}

export interface Difference {
  absolute: Pixels;
  signed: Pixels;
  stats: DifferenceFacts;
}

/**
 * Computes the difference of two pictures over their common top left part.
 *
 * Gray counts as equal colors when compared with color, a missing alpha as opaque; 8 and 16 bits are compared in 16.
 * Mean and PSNR = 10 log10(top² / mean square) are over all values of all channels.
 */
export async function difference(a: Pixels, b: Pixels): Promise<Difference> {
  const width = Math.min(a.width, b.width);
  const height = Math.min(a.height, b.height);
  const top = Math.max(a.top, b.top);
  const colors = a.channels < 3 && b.channels < 3 ? 1 : 3;
  const alpha = a.channels % 2 === 0 || b.channels % 2 === 0;
  const compared = colors + (alpha ? 1 : 0);
  const absolute = new Uint16Array(width * height * colors);
  const signed = new Uint16Array(width * height);
  const value = (pixels: Pixels, at: number, c: number) => {
    if (c >= colors) return pixels.channels % 2 ? top : pixels.data[at + pixels.channels - 1] * (top / pixels.top);
    return pixels.data[at + (pixels.channels < 3 ? 0 : c)] * (top / pixels.top);
  };
  // A signed mean over channels may be a fraction, for which 8-bit values get 6 more bits.
  const unit = top > 255 ? 0.5 : 64;
  let sum = 0;
  let squares = 0;
  let max = 0;
  let differing = 0;
  for (let y = 0, pixel = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1, pixel += 1) {
      const inA = (y * a.width + x) * a.channels;
      const inB = (y * b.width + x) * b.channels;
      let differs = false;
      let mean = 0;
      for (let c = 0; c < compared; c += 1) {
        const d = value(a, inA, c) - value(b, inB, c);
        const size = Math.abs(d);
        sum += size;
        squares += d * d;
        if (size > max) max = size;
        if (d !== 0) differs = true;
        if (c < colors) {
          absolute[pixel * colors + c] = size;
          mean += d / colors;
        } else {
          for (let k = 0; k < colors; k += 1) {
            absolute[pixel * colors + k] = Math.max(absolute[pixel * colors + k], size);
          }
        }
      }
      if (differs) differing += 1;
      signed[pixel] = Math.round(MIDDLE + mean * unit);
    }
    if (y % 128 === 127) await pause();
  }
  const count = width * height;
  const values = count * compared;
  const stats = {
    mean: sum / values,
    max,
    psnr: 10 * Math.log10((top * top) / (squares / values)),
    differing,
    count,
    top,
  };
  const shape = { width, height, note: "" };
  return {
    absolute: await shrink({ ...shape, channels: colors, top, data: absolute }, "max"),
    signed: await shrink({ ...shape, channels: 1, top, data: signed, signed: top * unit }, "extreme"),
    stats,
  };
}

/** The stored values of a pixel; empty outside the picture. */
export function valuesAt(pixels: Pixels, x: number, y: number): number[] {
  if (x < 0 || y < 0 || x >= pixels.width || y >= pixels.height) return [];
  const at = (y * pixels.width + x) * pixels.channels;
  return Array.from(pixels.data.subarray(at, at + pixels.channels));
}
