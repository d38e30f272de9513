// @ts-nocheck
// The audio panel: scales, ticks, colours, and one picture of a clip on a canvas.

export const GUTTER = 48;
export const AXIS = 18;
const RIGHT = 2;
export const GAP = 3;
// Viridis, by Stéfan van der Walt and Nathaniel Smith (CC0), at 33 places.
const VIRIDIS =
  "440154470d6048186a482374472d7b4537814240863e49893b528b375b8d33638d2f6b8e2c728e297a8e26828e23898e21918c1f988b1fa08822a78528ae8032b67a3fbc734ec36b5ec96270cf5784d44b98d83eaddc30c2df23d8e219ece51bfde725";

const hexByte = (at) => parseInt(VIRIDIS.slice(at, at + 2), 16);

/** Red, green and blue of a place between 0 and 1. */
export function viridis(place) {
  const at = Math.min(1, Math.max(0, place)) * 32;
  const first = Math.min(31, Math.floor(at));
  return [0, 1, 2].map((part) => {
    const low = hexByte(6 * first + 2 * part);
    return low + (at - first) * (hexByte(6 * first + 6 + 2 * part) - low);
  });
}

/** Colours of the 256 levels of a spectrogram whose level 255 is `top` decibels. */
export function palette(top, floor, ceiling) {
  const colors = new Uint32Array(256);
  const bytes = new Uint8ClampedArray(colors.buffer);
  for (let level = 0; level < 256; level += 1) {
    const decibels = top - (255 - level) / 2;
    bytes.set([...viridis((decibels - floor) / Math.max(1, ceiling - floor)), 255], 4 * level);
  }
  return colors;
}

const mel = (hertz) => 2595 * Math.log10(1 + hertz / 700);
const unmel = (value) => 700 * (10 ** (value / 2595) - 1);

/** Place of a frequency in a lane, 0 at its bottom, 1 at its top; and back. */
export const frequencyScale = (rate, scale) =>
  scale === "mel"
    ? { place: (hertz) => mel(hertz) / mel(rate / 2), hertz: (place) => unmel(place * mel(rate / 2)) }
    : { place: (hertz) => hertz / (rate / 2), hertz: (place) => (place * rate) / 2 };

const MINUTES = [60, 120, 300, 600, 1800, 3600, 7200, 18000, 36000];

/** The smallest of 1, 2 and 5 times a power of ten, or of a minute, that is not less. */
export function niceStep(least) {
  if (least > 30) return MINUTES.find((step) => step >= least) || 36000 * Math.ceil(least / 36000);
  if (least > 10) return least > 15 ? 30 : 15;
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least * (1 - 1e-9));
}

export function ticks(from, to, least) {
  const step = niceStep(least);
  const found = [];
  for (
    let number = Math.ceil(from / step - 1e-9);
    number * step <= to * (1 + 1e-12) && found.length < 200;
    number += 1
  ) found.push(number * step);
  return { step, at: found };
}

/** A time with as many digits as a step between two times needs. */
export function clock(seconds, step) {
  const digits = Math.min(6, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
  if (seconds < 60 && step < 60) return seconds.toFixed(digits) + " s";
  const whole = Math.floor(seconds / 60 + 1e-9);
  const rest = Math.max(0, seconds - 60 * whole).toFixed(digits).padStart(digits ? 3 + digits : 2, "0");
  return whole < 60 ? `${whole}:${rest}` : `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}:${rest}`;
}

export const hertzText = (
  hertz,
) => (hertz >= 1000 ? `${+(hertz / 1000).toPrecision(3)} kHz` : `${+hertz.toPrecision(3)} Hz`);

/** Frequencies that are labelled in a lane of some height: as many as have room. */
export function frequencyTicks(rate, scale, height) {
  const most = rate / 2;
  const candidates = [];
  if (scale === "mel") { for (let power = 1; power < most; power *= 10) candidates.push(power, 2 * power, 5 * power); }
  else candidates.push(...ticks(0, most, (most * 20) / height).at);
  const { place } = frequencyScale(rate, scale);
  const found = [];
  for (const hertz of candidates) {
    const at = place(hertz) * height;
    if (hertz > 0 && at > 9 && at < height - 5 && (!found.length || at - place(found.at(-1)) * height >= 15)) {
      found.push(hertz);
    }
  }
  return found;
}

/** Lanes from top to bottom. */
export function lanes(
  channels,
  look,
): { kind: "wave" | "spectrum"; channel: number | null; top: number; height: number }[] {
  const shown = Math.min(channels, 8);
  const found = [];
  let top = 0;
  const add = (kind, channel, height) => {
    found.push({ kind, channel, top, height });
    top += height + GAP;
  };
  const tall = look.tall || 1;
  if (look.pictures !== "spectrogram") {
    for (let c = 0; c < shown; c += 1) add("wave", c, Math.round((shown === 1 ? 64 : shown === 2 ? 46 : 30) * tall));
  }
  if (look.pictures !== "waveform") {
    if (look.spectra === "each" && channels > 1) {
      for (let c = 0; c < shown; c += 1) add("spectrum", c, Math.round((shown === 2 ? 92 : 64) * tall));
    } else add("spectrum", null, Math.round(132 * tall));
  }
  return found;
}

export const channelName = (
  channel,
  channels,
) => (channels < 2 ? "" : channels === 2 ? "LR"[channel] : String(channel + 1));

export function drawWave(context, lane, picture, view) {
  const { bounds, width, start, stop } = picture;
  const middle = lane.top + lane.height / 2;
  const most = view.amplitude;
  const y = (value) => middle - (Math.max(-1, Math.min(1, value / most)) * (lane.height - 2)) / 2;
  const at = (column) => view.x(start + ((stop - start) * column) / width);
  context.fillStyle = view.line;
  context.fillRect(GUTTER, Math.round(middle), view.plot, 1);
  context.fillStyle = context.strokeStyle = view.ink;
  const wide = at(1) - at(0) > 2;
  let before = null;
  context.beginPath();
  for (let column = 0; column < width; column += 1) {
    const place = 2 * (lane.channel * width + column);
    const [low, high] = [bounds[place], bounds[place + 1]];
    if (Number.isNaN(low)) {
      before = null;
      continue;
    }
    const left = at(column);
    const right = at(column + 1);
    if (right < GUTTER || left > GUTTER + view.plot) continue;
    if (wide) {
      const centre = (left + right) / 2;
      if (before === null) context.moveTo(centre, y(low));
      else context.lineTo(centre, y(low));
      if (right - left > 6) context.fillRect(centre - 1.5, y(low) - 1.5, 3, 3);
      before = low;
    } else context.fillRect(left, y(high), Math.max(1, right - left), Math.max(1, y(low) - y(high)));
    if (high > most || low < -most) {
      context.fillStyle = view.bad;
      if (high > most) context.fillRect(left, lane.top, Math.max(1.5, right - left), 3);
      if (low < -most) context.fillRect(left, lane.top + lane.height - 3, Math.max(1.5, right - left), 3);
      context.fillStyle = view.ink;
    }
  }
  context.stroke();
}

/** The levels as an image of their own size, made once for a range of decibels. */
function levelsImage(picture, look) {
  const key = `${look.floor}:${look.ceiling}`;
  if (picture.image && picture.imageKey === key) return picture.image;
  const canvas = picture.image || document.createElement("canvas");
  canvas.width = picture.width;
  canvas.height = picture.height;
  const context = canvas.getContext("2d");
  const image = context.createImageData(picture.width, picture.height);
  const pixels = new Uint32Array(image.data.buffer);
  const colors = palette(picture.top, look.floor, look.ceiling);
  for (let at = 0; at < pixels.length; at += 1) pixels[at] = colors[picture.levels[at]];
  context.putImageData(image, 0, 0);
  picture.image = canvas;
  picture.imageKey = key;
  return canvas;
}

export function drawSpectrum(context, lane, picture, view) {
  const left = view.x(picture.start);
  const right = view.x(picture.stop);
  context.imageSmoothingEnabled = false;
  context.drawImage(levelsImage(picture, view.look), left, lane.top, right - left, lane.height);
}

export function drawAxes(context, all, view) {
  context.font = "10.5px ui-sans-serif, system-ui, sans-serif";
  context.textBaseline = "middle";
  context.textAlign = "right";
  for (const lane of all) {
    context.fillStyle = view.dim;
    if (lane.kind === "wave") {
      const most = view.amplitude === 1 ? "1" : view.amplitude.toPrecision(2);
      context.fillText(most, GUTTER - 6, lane.top + 6);
      if (lane.height > 40) context.fillText("0", GUTTER - 6, lane.top + lane.height / 2);
      if (lane.height > 28) context.fillText("\u2212" + most, GUTTER - 6, lane.top + lane.height - 6);
    } else if (view.rate) {
      const { place } = frequencyScale(view.rate, view.look.frequencies);
      for (const hertz of frequencyTicks(view.rate, view.look.frequencies, lane.height)) {
        const y = lane.top + lane.height * (1 - place(hertz));
        context.fillText(hertzText(hertz), GUTTER - 6, y);
        context.fillRect(GUTTER - 4, Math.round(y), 4, 1);
      }
    }
    const name = lane.channel === null ? "" : channelName(lane.channel, view.channels);
    if (!name) continue;
    context.textAlign = "left";
    context.font = "600 10.5px ui-sans-serif, system-ui, sans-serif";
    // Beside a waveform; on a spectrogram, where the frequencies leave no room beside it.
    context.fillStyle = lane.kind === "wave" ? view.soft : "#fff";
    context.fillText(
      name,
      lane.kind === "wave" ? 8 : GUTTER + 4,
      lane.kind === "wave" ? lane.top + lane.height / 2 : lane.top + 8,
    );
    context.font = "10.5px ui-sans-serif, system-ui, sans-serif";
    context.textAlign = "right";
  }
  const bottom = view.height - AXIS;
  const { step, at } = ticks(
    view.span.start,
    view.span.stop,
    ((view.span.stop - view.span.start) * 74) / Math.max(80, view.plot),
  );
  context.fillStyle = view.dim;
  for (const seconds of at) {
    const x = view.x(seconds);
    context.fillRect(Math.round(x), bottom, 1, 4);
    const label = clock(seconds, step);
    const half = context.measureText(label).width / 2;
    context.textAlign = "center";
    context.fillText(label, Math.min(Math.max(x, GUTTER + half), GUTTER + view.plot - half), bottom + 11);
  }
}

/** What the mouse and the keyboard need to know of a drawn picture. */
export function geometry(width, span) {
  const plot = Math.max(1, width - GUTTER - RIGHT);
  const x = (seconds) => GUTTER + ((seconds - span.start) / (span.stop - span.start)) * plot;
  return { plot, x, seconds: (at) => span.start + ((at - GUTTER) / plot) * (span.stop - span.start) };
}
