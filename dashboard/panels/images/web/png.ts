/**
 * Decodes PNG to the stored integers (W3C PNG specification, third edition).
 * A canvas would round 16 bits to 8, apply color profiles and lose colors under alpha.
 */

const CHANNELS: Record<number, number> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };
/** Bytes to process before yielding to the page. */
const SLICE = 3e6;

type Bytes = Uint8Array<ArrayBuffer>;
export type Values = Bytes | Uint16Array<ArrayBuffer>;

export interface Pixels {
  width: number;
  height: number;
  /** 1 gray, 2 gray and alpha, 3 RGB, 4 RGBA */
  channels: number;
  /** the largest value a channel can have */
  top: number;
  /** rows of pixels with interleaved channels */
  data: Values;
  /** a remark about the values; may be empty */
  note: string;
  /** the same picture at half the size, a quarter, and so on */
  smaller?: Pixels[];
  /** for a signed difference: the largest distance from the middle */
  signed?: number;
}

/** Lets the page draw and respond before more work is done. */
export const pause = (): Promise<void> => globalThis.scheduler?.yield?.() ?? new Promise<void>((go) => setTimeout(go));

interface Chunks {
  header: Bytes | null;
  palette: Bytes | null;
  transparency: Bytes | null;
  data: Bytes[];
}

function chunks(buffer: ArrayBuffer): Chunks {
  const view = new DataView(buffer);
  const found: Chunks = { header: null, palette: null, transparency: null, data: [] };
  let at = 8;
  while (at + 8 <= buffer.byteLength) {
    const length = view.getUint32(at);
    const type = String.fromCharCode(...new Uint8Array(buffer, at + 4, 4));
    const body = new Uint8Array(buffer, at + 8, Math.min(length, buffer.byteLength - at - 8));
    if (type === "IHDR") found.header = body;
    else if (type === "PLTE") found.palette = body;
    else if (type === "tRNS") found.transparency = body;
    else if (type === "IDAT") found.data.push(body);
    else if (type === "IEND") break;
    at += 12 + length;
  }
  return found;
}

/** Inflates into `into`; returns the number of bytes produced. */
async function inflate(parts: Bytes[], into: Bytes): Promise<number> {
  const reader = new Blob(parts).stream().pipeThrough(new DecompressionStream("deflate")).getReader();
  let filled = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const piece = value.subarray(0, into.length - filled);
      into.set(piece, filled);
      filled += piece.length;
    }
  } catch {
    // Extra bytes after a complete picture are harmless.
    if (filled < into.length) {
      const [come, all] = [filled, into.length].map((count) => count.toLocaleString("en-US"));
      throw new Error(`its compressed data is damaged after ${come} of ${all} decompressed bytes`);
    }
  }
  return filled;
}

/** Undoes the filters of the rows in place; each row is preceded by its filter's number. */
async function unfilter(raw: Bytes, height: number, stride: number, bpp: number): Promise<void> {
  let previous = new Uint8Array(stride);
  let since = 0;
  for (let y = 0; y < height; y += 1) {
    const start = y * (stride + 1);
    const filter = raw[start];
    const row = raw.subarray(start + 1, start + 1 + stride);
    if (filter === 1) { for (let i = bpp; i < stride; i += 1) row[i] += row[i - bpp]; }
    else if (filter === 2) { for (let i = 0; i < stride; i += 1) row[i] += previous[i]; }
    else if (filter === 3) {
      for (let i = 0; i < stride; i += 1) row[i] += ((i >= bpp ? row[i - bpp] : 0) + previous[i]) >> 1;
    } else if (filter === 4) paeth(row, previous, stride, bpp);
    else if (filter !== 0) throw new Error(`row ${y} has filter ${filter}, expected 0 to 4`);
    previous = row;
    since += stride;
    if (since > SLICE) {
      since = 0;
      await pause();
    }
  }
}

function paeth(row: Bytes, previous: Bytes, stride: number, bpp: number): void {
  for (let i = 0; i < stride; i += 1) {
    const a = i >= bpp ? row[i - bpp] : 0;
    const b = previous[i];
    const c = i >= bpp ? previous[i - bpp] : 0;
    const p = a + b - c;
    const pa = Math.abs(p - a);
    const pb = Math.abs(p - b);
    const pc = Math.abs(p - c);
    row[i] += pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
  }
}

/** Converts rows of bytes to an array of values. */
async function values(raw: Bytes, height: number, stride: number, perRow: number, depth: number): Promise<Values> {
  const out = depth === 16 ? new Uint16Array(perRow * height) : new Uint8Array(perRow * height);
  for (let y = 0; y < height; y += 1) {
    const start = y * (stride + 1) + 1;
    const at = y * perRow;
    if (depth === 8) out.set(raw.subarray(start, start + stride), at);
    else if (depth === 16) {
      for (let i = 0; i < perRow; i += 1) out[at + i] = (raw[start + 2 * i] << 8) | raw[start + 2 * i + 1];
    } else {
      const mask = (1 << depth) - 1;
      for (let i = 0; i < perRow; i += 1) {
        const bit = i * depth;
        out[at + i] = (raw[start + (bit >> 3)] >> (8 - depth - (bit & 7))) & mask;
      }
    }
    if (y % 512 === 511) await pause();
  }
  return out;
}

function colored(indices: Values, palette: Bytes, transparency: Bytes | null): { data: Bytes; channels: number } {
  const channels = transparency ? 4 : 3;
  const data = new Uint8Array(indices.length * channels);
  for (let i = 0; i < indices.length; i += 1) {
    const color = indices[i];
    for (let c = 0; c < 3; c += 1) data[i * channels + c] = palette[color * 3 + c] || 0;
    if (transparency) data[i * 4 + 3] = color < transparency.length ? transparency[color] : 255;
  }
  return { data, channels };
}

/** Decodes a PNG; null for forms that are left to the browser (interlaced, or with one transparent color). */
export async function decode(buffer: ArrayBuffer): Promise<Pixels | null> {
  const { header, palette, transparency, data } = chunks(buffer);
  if (!header || header.length < 13) throw new Error("its header is missing");
  const view = new DataView(header.buffer, header.byteOffset, 13);
  const [width, height, depth, type] = [view.getUint32(0), view.getUint32(4), header[8], header[9]];
  const channels = CHANNELS[type];
  if (!channels || ![1, 2, 4, 8, 16].includes(depth) || !width || !height) throw new Error("its header is invalid");
  if (header[12] !== 0 || (transparency && type !== 3)) return null;
  const stride = Math.ceil((width * channels * depth) / 8);
  const raw = new Uint8Array((stride + 1) * height);
  const filled = await inflate(data, raw);
  if (filled < raw.length) throw new Error(`it ends after row ${Math.floor(filled / (stride + 1))} of ${height}`);
  await unfilter(raw, height, stride, Math.max(1, (channels * depth) >> 3));
  const flat = await values(raw, height, stride, width * channels, depth);
  if (type === 3) {
    if (!palette) throw new Error("its palette is missing");
    return { width, height, top: 255, note: "colors of a palette", ...colored(flat, palette, transparency) };
  }
  return { width, height, channels, top: (1 << depth) - 1, data: flat, note: depth === 8 ? "" : `${depth} bits` };
}
