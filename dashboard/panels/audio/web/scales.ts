/** Layout and labels of clips: lanes, positions of times and frequencies, ticks, colors of levels. */
import { viridis } from "../../../web/core/color.ts";
import type { ValueOf } from "../../../web/core/setting.ts";
import { MOST_CHANNELS } from "./messages.generated.ts";
import type { settings } from "./settings.generated.ts";
import type { Span } from "./span.ts";

export const GUTTER = 48;
export const AXIS = 18;
const RIGHT = 2;
const GAP = 3;

export type Frequencies = ValueOf<typeof settings.frequencies>;

/** How clips are drawn, according to the toolbar. */
export interface Look {
  pictures: ValueOf<typeof settings.pictures>;
  fft: number;
  frequencies: Frequencies;
  spectra: ValueOf<typeof settings.spectra>;
  amplitude: ValueOf<typeof settings.amplitude>;
  floor: number;
  ceiling: number;
  /** Height relative to a card. */
  tall: number;
}

interface Place {
  top: number;
  height: number;
}
export interface WaveLane extends Place {
  kind: "wave";
  channel: number;
}
export interface SpectrumLane extends Place {
  kind: "spectrum";
  /** Null for the mean of all channels. */
  channel: number | null;
}
export type Lane = WaveLane | SpectrumLane;

/** Lanes from top to bottom. */
export function lanes(channels: number, look: Pick<Look, "pictures" | "spectra" | "tall">): Lane[] {
  const shown = Math.min(channels, MOST_CHANNELS);
  const each = Array.from({ length: shown }, (_, channel) => channel);
  const found: Lane[] = [];
  const place = (height: number): Place => {
    const last = found.at(-1);
    return { top: last ? last.top + last.height + GAP : 0, height: Math.round(height * look.tall) };
  };
  if (look.pictures !== "spectrogram") {
    for (const channel of each) {
      found.push({ kind: "wave", channel, ...place(shown === 1 ? 64 : shown === 2 ? 46 : 30) });
    }
  }
  if (look.pictures === "waveform") return found;
  const spectra = look.spectra === "each" && channels > 1 ? each : [null];
  for (const channel of spectra) {
    found.push({ kind: "spectrum", channel, ...place(channel === null ? 132 : shown === 2 ? 92 : 64) });
  }
  return found;
}

export const channelName = (channel: number | null, channels: number): string =>
  channel === null || channels < 2 ? "" : channels === 2 ? "LR"[channel] : String(channel + 1);

/** Converts times to positions on a picture of some width, and back. */
export interface Geometry {
  plot: number;
  x: (seconds: number) => number;
  seconds: (x: number) => number;
}

export function geometry(width: number, { start, stop }: Span): Geometry {
  const plot = Math.max(1, width - GUTTER - RIGHT);
  return {
    plot,
    x: (seconds) => GUTTER + ((seconds - start) / (stop - start)) * plot,
    seconds: (x) => start + ((x - GUTTER) / plot) * (stop - start),
  };
}

/** Colors of the 256 levels of a spectrogram whose level 255 is `top` decibels, as pixels of an image. */
export function palette(top: number, floor: number, ceiling: number): Uint32Array {
  const colors = new Uint32Array(256);
  const bytes = new Uint8ClampedArray(colors.buffer);
  for (let level = 0; level < 256; level += 1) {
    const decibels = top - (255 - level) / 2;
    bytes.set([...viridis((decibels - floor) / Math.max(1, ceiling - floor)), 255], 4 * level);
  }
  return colors;
}

const mel = (hertz: number) => 2595 * Math.log10(1 + hertz / 700);
const unmel = (value: number) => 700 * (10 ** (value / 2595) - 1);

/** Converts a frequency to a position in a lane, from 0 at its bottom to 1 at its top, and back. */
export interface FrequencyScale {
  place: (hertz: number) => number;
  hertz: (place: number) => number;
}

export const frequencyScale = (rate: number, scale: Frequencies): FrequencyScale =>
  scale === "mel"
    ? { place: (hertz) => mel(hertz) / mel(rate / 2), hertz: (place) => unmel(place * mel(rate / 2)) }
    : { place: (hertz) => hertz / (rate / 2), hertz: (place) => (place * rate) / 2 };

/** The frequencies labeled in a lane of some height, as many as fit. */
export function frequencyTicks(rate: number, scale: Frequencies, height: number): number[] {
  const most = rate / 2;
  const candidates: number[] = [];
  if (scale === "linear") candidates.push(...multiples(0, most, roundStep((most * 20) / height)));
  else for (let power = 1; power < most; power *= 10) candidates.push(power, 2 * power, 5 * power);
  const { place } = frequencyScale(rate, scale);
  const found: number[] = [];
  let last = -Infinity;
  for (const hertz of candidates) {
    const at = place(hertz) * height;
    if (hertz <= 0 || at <= 9 || at >= height - 5 || at - last < 15) continue;
    found.push(hertz);
    last = at;
  }
  return found;
}

const MINUTES = [60, 120, 300, 600, 1800, 3600, 7200, 18000, 36000];

/** The smallest step of at least `least` that is 1, 2 or 5 times a power of ten. */
export function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5].map((factor) => factor * power).find((step) => step >= least * (1 - 1e-9)) ?? 10 * power;
}

/** The same for seconds; from a quarter of a minute on, steps are fractions or multiples of a minute. */
export function timeStep(least: number): number {
  if (least > 30) return MINUTES.find((step) => step >= least) ?? 36000 * Math.ceil(least / 36000);
  return least <= 10 ? roundStep(least) : least > 15 ? 30 : 15;
}

/** Multiples of a step, at most 200. */
export function multiples(from: number, to: number, step: number): number[] {
  const first = Math.ceil(from / step - 1e-9);
  const found: number[] = [];
  for (let k = first; k * step <= to * (1 + 1e-12) && found.length < 200; k += 1) found.push(k * step);
  return found;
}

/** Formats a time with as many digits as needed to tell times one step apart. */
export function clock(seconds: number, step: number): string {
  const digits = Math.min(6, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
  if (seconds < 60 && step < 60) return seconds.toFixed(digits) + " s";
  const whole = Math.floor(seconds / 60 + 1e-9);
  const rest = Math.max(0, seconds - 60 * whole).toFixed(digits).padStart(digits ? 3 + digits : 2, "0");
  return whole < 60 ? `${whole}:${rest}` : `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}:${rest}`;
}

export const hertzText = (hertz: number): string =>
  hertz >= 1000 ? `${+(hertz / 1000).toPrecision(3)} kHz` : `${+hertz.toPrecision(3)} Hz`;
