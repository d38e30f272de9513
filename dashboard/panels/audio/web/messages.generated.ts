// Made from stepscope.dashboard.panels.audio.messages by `python -m tools.generate_page`; change them there.

export const MOST_CHANNELS = 8;
export const MOST_WIDTH = 4096;

/** The runs of a card. */
export interface CardData {
  tag: string;
  runs: RunClips[];
}

/** What is known of the clip at one step; zeros and empty texts where it is not. */
export interface Facts {
  samples: number;
  size: number;
  mime_type: string;
  format: string;
  rate: number;
  channels: number;
  frames: number;
  seconds: number;
  label: string;
  notice: string;
  error: string;
}

/** The minimum and maximum value of each pixel of a time range. */
export interface WaveformHeader {
  channels: number;
  width: number;
  not_finite: number;
  bounds: number;
}

/** Levels in steps of half a decibel over frequency, highest first, and time. */
export interface SpectrogramHeader {
  height: number;
  width: number;
  top: number;
  is_whole: boolean;
  levels: number;
}

/** A run with clips, and when each was logged. */
export interface RunClips {
  run: string;
  light: string;
  dark: string;
  steps: TypedArray;
  walls: TypedArray;
}

/** Numbers as Plotly takes them: their type and, in base64, their bytes. */
export interface TypedArray {
  dtype: "i1" | "i2" | "i4" | "u1" | "u2" | "u4" | "f4" | "f8";
  bdata: string;
}
