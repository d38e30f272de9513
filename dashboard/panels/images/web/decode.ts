// @ts-nocheck
// The images panel: bytes to pixels, and the frames of animations.
import * as png from "./png.ts";

const FRAME_BYTES = 128e6;

function contextOf(width, height) {
  return new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
}

/**
 * RGBA of a canvas with the channels that tell something only.
 * @returns Pixels as images_png.js has it
 */
async function packed(rgba, width, height, note): Promise<object> {
  let opaque = true;
  let grey = true;
  for (let i = 0; i < rgba.length && (opaque || grey); i += 4) {
    if (rgba[i + 3] !== 255) opaque = false;
    if (rgba[i] !== rgba[i + 1] || rgba[i] !== rgba[i + 2]) grey = false;
  }
  const channels = (grey ? 1 : 3) + (opaque ? 0 : 1);
  const data = new Uint8Array(width * height * channels);
  await png.pause();
  const alpha = opaque ? -1 : channels - 1;
  for (let i = 0, out = 0; i < rgba.length; i += 4, out += channels) {
    data[out] = rgba[i];
    if (!grey) {
      data[out + 1] = rgba[i + 1];
      data[out + 2] = rgba[i + 2];
    }
    if (alpha > 0) data[out + alpha] = rgba[i + 3];
  }
  return { width, height, channels, top: 255, data, note };
}

/** Pixels of anything that a canvas draws. */
function drawn(source, width, height, note) {
  const context = contextOf(width, height);
  context.drawImage(source, 0, 0);
  return packed(context.getImageData(0, 0, width, height).data, width, height, note);
}

async function byBrowser(blob) {
  const bitmap = await createImageBitmap(blob, { colorSpaceConversion: "none", premultiplyAlpha: "none" });
  try {
    return await drawn(bitmap, bitmap.width, bitmap.height, "");
  } finally {
    bitmap.close();
  }
}

/** Decodes a still picture. */
export async function still(blob: Blob, facts: { mime_type: string }) {
  const found = facts.mime_type === "image/png" ? await png.decode(await blob.arrayBuffer()) : null;
  return found || byBrowser(blob);
}

/** Decodes an animation frame by frame; null where the browser cannot (ImageDecoder is for localhost and HTTPS only). */
export async function frames(
  blob,
  facts,
): Promise<
  { count: number; frame: (at: number) => Promise<{ pixels: object; ms: number }>; close: () => void } | null
> {
  if (!window.ImageDecoder || !(await ImageDecoder.isTypeSupported(facts.mime_type))) return null;
  const decoder = new ImageDecoder({ data: await blob.arrayBuffer(), type: facts.mime_type });
  await decoder.tracks.ready;
  await decoder.completed;
  const count = decoder.tracks.selectedTrack.frameCount;
  const kept: Map<number, { pixels: object; ms: number }> = new Map();
  let bytes = 0;

  async function frame(at) {
    if (kept.has(at)) return kept.get(at);
    const { image } = await decoder.decode({ frameIndex: at });
    const pixels = await drawn(image, image.displayWidth, image.displayHeight, "");
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

  return { count, frame, close: () => decoder.close() };
}
