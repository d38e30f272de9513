// @ts-nocheck
// The audio panel: what is known of a clip, its waveform and its spectrogram. WAV is read by the server
// (dashboard/panels/audio/figures.py); what only browsers decode is decoded and transformed here, by the same formulas.
import * as draw from "./draw.ts";
import { clipUrl, query } from "./steps.ts";
import { elements } from "../../../web/core/dom.ts";

const LARGEST_DECODED = 64e6;
const MOST_KEPT = 3;

/** Sound that was decoded here, by URL. */
const decoded: Map<string, Promise<{ rate: number; channels: Float32Array[] }>> = new Map();

async function decode(url) {
  const answer = await fetch(url);
  const bytes = await answer.arrayBuffer();
  // A context of its own plays nothing; it only gives the rate to decode at.
  const buffer = await new OfflineAudioContext(1, 1, 48000).decodeAudioData(bytes);
  return {
    rate: buffer.sampleRate,
    channels: Array.from({ length: buffer.numberOfChannels }, (_, c) => buffer.getChannelData(c)),
  };
}

function soundOf(url) {
  let sound = decoded.get(url);
  if (!sound) {
    decoded.set(url, sound = decode(url));
    for (const old of decoded.keys()) if (decoded.size > MOST_KEPT) decoded.delete(old);
  }
  return sound;
}

/** What is known of a clip; `here` where it was decoded by the browser, `said` where the error is a whole sentence. */
export async function facts(clip: Clip) {
  const answer = await fetch("/api/audio/point?" + query(clip));
  if (!answer.ok) {
    return { error: "The server does not have this clip any more.", said: true, samples: 0, mime_type: "" };
  }
  const found = await answer.json();
  if (found.error || found.rate) return found;
  if (found.size > LARGEST_DECODED) {
    return { ...found, notice: "Too large to be decoded here: it plays, but has no waveform." };
  }
  try {
    const sound = await soundOf(clipUrl(clip));
    const frames = sound.channels[0].length;
    return {
      ...found,
      here: true,
      rate: sound.rate,
      channels: sound.channels.length,
      frames,
      format: `${found.format}, decoded at ${elements.step(sound.rate)} Hz`,
    };
  } catch {
    return { ...found, said: true, error: `The browser cannot decode this ${found.format}; download it to hear it.` };
  }
}

/** Lowest and highest number of each pixel, as the server gives them. */
export function envelope(sound, start, stop, width) {
  const columns = Math.min(width, stop - start);
  const shown = sound.channels.slice(0, 8);
  const bounds = new Float32Array(shown.length * columns * 2);
  shown.forEach((numbers, channel) => {
    for (let column = 0; column < columns; column += 1) {
      let low = Infinity;
      let high = -Infinity;
      const end = start + Math.floor(((column + 1) * (stop - start)) / columns);
      for (let at = start + Math.floor((column * (stop - start)) / columns); at < end; at += 1) {
        if (numbers[at] < low) low = numbers[at];
        if (numbers[at] > high) high = numbers[at];
      }
      bounds.set([low, high], 2 * (channel * columns + column));
    }
  });
  return { bounds, width: columns };
}

/** Fourier transform in place; the length is a power of two. */
function transform(real, imaginary) {
  const size = real.length;
  for (let i = 1, j = 0; i < size; i += 1) {
    let bit = size >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) [real[i], real[j], imaginary[i], imaginary[j]] = [real[j], real[i], imaginary[j], imaginary[i]];
  }
  for (let span = 2; span <= size; span *= 2) {
    const half = span / 2;
    for (let k = 0; k < half; k += 1) {
      const [cos, sin] = [Math.cos((-2 * Math.PI * k) / span), Math.sin((-2 * Math.PI * k) / span)];
      for (let at = k; at < size; at += span) {
        const [re, im] = [
          real[at + half] * cos - imaginary[at + half] * sin,
          real[at + half] * sin + imaginary[at + half] * cos,
        ];
        real[at + half] = real[at] - re;
        imaginary[at + half] = imaginary[at] - im;
        real[at] += re;
        imaginary[at] += im;
      }
    }
  }
}

/** First and last bin of every row, the lowest frequency first. */
function rowBins(height, fft, rate, scale) {
  const { hertz } = draw.frequencyScale(rate, scale);
  return Array.from({ length: height }, (_, row) => {
    const [low, high] = [(hertz(row / height) * fft) / rate, (hertz((row + 1) / height) * fft) / rate];
    const first = Math.ceil(low - 1e-9);
    const stop = row === height - 1 ? fft / 2 + 1 : Math.ceil(high - 1e-9);
    const nearest = Math.min(fft / 2, Math.max(0, Math.round((low + high) / 2)));
    return stop > first ? [first, stop] : [nearest, nearest + 1];
  });
}

/** Levels as the server gives them (`figures.spectrogram`), one window a pixel. */
export function spectrogram(sound, start, stop, width, height, fft, scale, channel) {
  const frames = stop - start;
  const columns = Math.min(width, Math.ceil((8 * frames) / fft));
  const rows = rowBins(Math.min(height, fft / 2 + 1), fft, sound.rate, scale);
  const used = channel === null ? sound.channels : [sound.channels[channel]];
  const decibels = new Float32Array(columns * rows.length);
  let loudest = 0;
  for (let column = 0; column < columns; column += 1) {
    const first = Math.round(start + ((column + 0.5) * frames) / columns - fft / 2);
    const real = new Float64Array(fft);
    for (let at = 0; at < fft; at += 1) {
      if (first + at < 0 || first + at >= used[0].length) continue;
      let sum = 0;
      for (const numbers of used) sum += numbers[first + at];
      real[at] = (sum / used.length) * (0.5 - 0.5 * Math.cos((2 * Math.PI * at) / fft));
    }
    const imaginary = new Float64Array(fft);
    transform(real, imaginary);
    rows.forEach(([from, to], row) => {
      let most = 0;
      for (let bin = from; bin < to; bin += 1) {
        most = Math.max(most, Math.hypot(real[bin], imaginary[bin]) * (bin === 0 || bin === fft / 2 ? 1 : 2));
      }
      const level = 20 * Math.log10(most / (fft / 2));
      decibels[(rows.length - 1 - row) * columns + column] = level;
      loudest = Math.max(loudest, level - 0.25);
    });
  }
  const top = Math.ceil(loudest);
  return {
    levels: Uint8Array.from(decibels, (level) => Math.max(0, Math.min(255, Math.round(255 + 2 * (level - top))))),
    top,
    width: columns,
    height: rows.length,
    whole: columns >= (2 * frames) / fft,
  };
}

async function fetchArray(path, clip, more, signal) {
  const answer = await fetch(`/api/audio/${path}?` + query(clip, more), { signal });
  if (!answer.ok) throw new Error((await answer.json().catch(() => ({}))).detail || "No answer from the server.");
  return { answer, bytes: await answer.arrayBuffer(), shape: answer.headers.get("X-Shape").split(",").map(Number) };
}

/** The waveform of the frames from `start` to before `stop`. */
export async function waveform(clip, known, start, stop, width, signal) {
  if (known.here) return { ...envelope(await soundOf(clipUrl(clip)), start, stop, width), notFinite: 0 };
  const { answer, bytes, shape } = await fetchArray("waveform", clip, { start, stop, width }, signal);
  return { bounds: new Float32Array(bytes), width: shape[1], notFinite: Number(answer.headers.get("X-Not-Finite")) };
}

/** The spectrogram of the frames from `start` to before `stop`, of one channel or (null) the mean of all. */
export async function spectrum(clip, known, start, stop, width, height, look, channel, signal) {
  const fft = Number(look.fft);
  if (known.here) {
    return spectrogram(await soundOf(clipUrl(clip)), start, stop, width, height, fft, look.frequencies, channel);
  }
  const more = { start, stop, width, height, fft, scale: look.frequencies };
  if (channel !== null) more.channel = channel;
  const { answer, bytes, shape } = await fetchArray("spectrogram", clip, more, signal);
  return {
    levels: new Uint8Array(bytes),
    top: Number(answer.headers.get("X-Top")),
    whole: answer.headers.get("X-Whole") === "true",
    height: shape[0],
    width: shape[1],
  };
}
