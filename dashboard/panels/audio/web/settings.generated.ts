// Made from the settings in Python by `python -m tools.generate_page`; change them there.
import { choice, flag, names, number } from "../../../web/core/setting.ts";

export const settings = {
  pictures: choice("audio.pictures", "both", ["both", "waveform", "spectrogram"]),
  fft: choice("audio.fft", "1024", ["512", "1024", "2048", "4096"]),
  frequencies: choice("audio.frequencies", "mel", ["mel", "linear"]),
  spectra: choice("audio.spectra", "mix", ["mix", "each"]),
  amplitude: choice("audio.amplitude", "full", ["full", "fit"]),
  speed: choice("audio.speed", "1", ["0.25", "0.5", "0.75", "1", "1.25", "1.5", "2"]),
  volume: number("audio.volume", 1, 0, 1),
  floor: number("audio.floor", -100, -130, -10),
  ceiling: number("audio.ceiling", 0, -120, 20),
  loop: flag("audio.loop", false),
  link: flag("audio.link", false),
  step: names("audio.step"),
  sample: names("audio.sample"),
  zoom: names("audio.zoom"),
  compare: names("audio.compare"),
  open: names("audio.open"),
  closed: names("audio.closed"),
  page: names("audio.page"),
  wide: names("audio.wide"),
  fold: choice("audio.fold", "auto", ["auto", "open", "closed"]),
  sections: names("audio.sections"),
  columns: choice("audio.columns", "auto", ["auto", "1", "2", "3", "4", "5", "6"]),
};
