/** The server's data on a clip (dashboard/panels/audio/routes.py): its facts, waveform and spectrogram. */
import type { Column } from "../../../web/core/binary.ts";
import { fileSize } from "../../../web/core/numbers.ts";
import { reasonOf } from "../../../web/core/request.ts";
import { stepText } from "../../../web/core/dom.ts";
import { api, type Clip, named } from "./clip.ts";
import type { Facts as Known, SpectrogramHeader, WaveformHeader } from "./messages.generated.ts";
import { clock, type Look } from "./scales.ts";

export interface Facts extends Known {
  /** Whether the error is a complete sentence. */
  said?: boolean;
}

const NOTHING: Known = {
  samples: 0,
  size: 0,
  mime_type: "",
  format: "",
  rate: 0,
  channels: 0,
  frames: 0,
  seconds: 0,
  label: "",
  notice: "",
  error: "",
};

export async function facts(clip: Clip): Promise<Facts> {
  try {
    const answer = await fetch(api.address("point", named(clip)));
    if (answer.ok) return await answer.json();
    const gone = "The server no longer has this clip.";
    return { ...NOTHING, said: true, error: answer.status === 404 ? gone : await reasonOf(answer) };
  } catch {
    return { ...NOTHING, said: true, error: "The server does not respond. Is it still running?" };
  }
}

/** Duration, rate, channels, format and size. */
export function factsText({ rate, channels, seconds, mime_type, format, size }: Facts): string {
  const named = ["", "mono", "stereo"][channels] ?? `${channels} channels`;
  const sound = rate ? [clock(seconds, 0.001), `${stepText(rate)} Hz`, named] : [];
  return [...sound, ...(mime_type ? [format, fileSize(size)] : [])].join(" · ");
}

/** The lowest and highest value of each pixel, ordered by channel, then by pixel. */
export interface Wave {
  bounds: Float32Array;
  width: number;
  /** How many values are NaN or infinite. */
  notFinite: number;
}

/** Levels in half decibels, ordered by frequency from the highest down, then by pixel; 255 is `top` decibels. */
export interface Spectrum {
  levels: Uint8Array;
  top: number;
  isWhole: boolean;
  width: number;
  height: number;
}

/** The frames from `start` up to but excluding `stop`, as `width` pixels. */
export interface Stretch {
  start: number;
  stop: number;
  width: number;
}

function column<C extends Column>(found: Column, type: new () => C): C {
  if (found instanceof type) return found;
  throw new Error("Unexpected response from the server.");
}

export async function waveform(clip: Clip, stretch: Stretch, signal: AbortSignal): Promise<Wave> {
  const answer = await api.ask<WaveformHeader & { arrays: Column[] }>(
    "waveform",
    { ...named(clip), ...stretch },
    { signal },
  );
  const bounds = column(answer.arrays[answer.bounds], Float32Array);
  return { bounds, width: answer.width, notFinite: answer.not_finite };
}

/** The spectrogram of one channel or, if null, of the mean of all. */
export async function spectrogram(
  clip: Clip,
  stretch: Stretch,
  height: number,
  { fft, frequencies }: Look,
  channel: number | null,
  signal: AbortSignal,
): Promise<Spectrum> {
  const answer = await api.ask<SpectrogramHeader & { arrays: Column[] }>(
    "spectrogram",
    { ...named(clip), ...stretch, height, fft, scale: frequencies, channel },
    { signal },
  );
  const levels = column(answer.arrays[answer.levels], Uint8Array);
  return { levels, top: answer.top, isWhole: answer.is_whole, width: answer.width, height: answer.height };
}
