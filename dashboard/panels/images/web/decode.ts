/** Decodes bytes to pixels, and animations to frames. */
import * as png from "./png.ts";
import type { Pixels } from "./png.ts";

const FRAME_BYTES = 128e6;

/** Reduces a canvas's RGBA to the channels that carry information. */
export async function packed(rgba: Uint8ClampedArray, width: number, height: number): Promise<Pixels> {
  let opaque = true;
  let gray = true;
  for (let i = 0; i < rgba.length && (opaque || gray); i += 4) {
    if (rgba[i + 3] !== 255) opaque = false;
    if (rgba[i] !== rgba[i + 1] || rgba[i] !== rgba[i + 2]) gray = false;
  }
  const channels = (gray ? 1 : 3) + (opaque ? 0 : 1);
  const data = new Uint8Array(width * height * channels);
  await png.pause();
  const alpha = opaque ? -1 : channels - 1;
  for (let i = 0, out = 0; i < rgba.length; i += 4, out += channels) {
    data[out] = rgba[i];
    if (!gray) {
      data[out + 1] = rgba[i + 1];
      data[out + 2] = rgba[i + 2];
    }
    if (alpha > 0) data[out + alpha] = rgba[i + 3];
  }
  return { width, height, channels, top: 255, data, note: "" };
}

/** Pixels of anything that can be drawn on a canvas. */
function drawn(source: CanvasImageSource, width: number, height: number): Promise<Pixels> {
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext("2d", { willReadFrequently: true }) as OffscreenCanvasRenderingContext2D;
  context.drawImage(source, 0, 0);
  return packed(context.getImageData(0, 0, width, height).data, width, height);
}

async function byBrowser(blob: Blob): Promise<Pixels> {
  const bitmap = await createImageBitmap(blob, { colorSpaceConversion: "none", premultiplyAlpha: "none" });
  try {
    return await drawn(bitmap, bitmap.width, bitmap.height);
  } finally {
    bitmap.close();
  }
}

/** Decodes a still picture. */
export async function still(blob: Blob, mimeType: string): Promise<Pixels> {
  const found = mimeType === "image/png" ? await png.decode(await blob.arrayBuffer()) : null;
  return found ?? await byBrowser(blob);
}

interface Frame {
  pixels: Pixels;
  ms: number;
}
/** An animation whose frames can be accessed individually. */
export interface Film {
  count: number;
  frame: (at: number) => Promise<Frame>;
  close: () => void;
}

/** Decodes an animation frame by frame; null if the browser cannot (ImageDecoder needs localhost or HTTPS). */
export async function frames(blob: Blob, mimeType: string): Promise<Film | null> {
  if (!globalThis.ImageDecoder || !(await ImageDecoder.isTypeSupported(mimeType))) return null;
  const decoder = new ImageDecoder({ data: await blob.arrayBuffer(), type: mimeType });
  await decoder.tracks.ready;
  await decoder.completed;
  const kept: Map<number, Frame> = new Map();
  let bytes = 0;

  async function frame(at: number): Promise<Frame> {
    const known = kept.get(at);
    if (known) return known;
    const { image } = await decoder.decode({ frameIndex: at });
    const pixels = await drawn(image, image.displayWidth, image.displayHeight);
    const made = { pixels, ms: Math.max((image.duration || 100_000) / 1000, 20) };
    image.close();
    kept.set(at, made);
    bytes += pixels.data.length;
    for (const [oldest, entry] of kept) {
      if (bytes <= FRAME_BYTES || oldest === at) break;
      kept.delete(oldest);
      bytes -= entry.pixels.data.length;
    }
    return made;
  }

  return { count: decoder.tracks.selectedTrack?.frameCount ?? 1, frame, close: () => decoder.close() };
}
