/** Draws a clip on a canvas. */
import type { Spectrum, Wave } from "./data.ts";
import * as scales from "./scales.ts";
import { GUTTER } from "./scales.ts";
import type { Span } from "./span.ts";

export { GUTTER } from "./scales.ts";

/** Everything that a picture is drawn with. */
export interface Drawn extends scales.Geometry {
  span: Span;
  height: number;
  look: scales.Look;
  rate: number;
  channels: number;
  /** The amplitude that the height of a waveform represents. */
  amplitude: number;
  lanes: scales.Lane[];
  ink: string;
  line: string;
  dim: string;
  soft: string;
  bad: string;
}

const FONT = "10.5px ui-sans-serif, system-ui, sans-serif";

export function contextOf(canvas: HTMLCanvasElement): CanvasRenderingContext2D {
  const context = canvas.getContext("2d");
  if (!context) throw new Error("The browser cannot draw on a canvas.");
  return context;
}

export function drawWave(
  context: CanvasRenderingContext2D,
  lane: scales.WaveLane,
  { bounds, width, start, stop }: Wave & Span,
  drawn: Drawn,
): void {
  const { top, height } = lane;
  const { plot, amplitude: most } = drawn;
  const middle = top + height / 2;
  const y = (value: number) => middle - (Math.max(-1, Math.min(1, value / most)) * (height - 2)) / 2;
  const at = (column: number) => drawn.x(start + ((stop - start) * column) / width);
  context.fillStyle = drawn.line;
  context.fillRect(GUTTER, Math.round(middle), plot, 1);
  context.fillStyle = context.strokeStyle = drawn.ink;
  const wide = at(1) - at(0) > 2;
  let isBroken = true;
  context.beginPath();
  for (let column = 0; column < width; column += 1) {
    const place = 2 * (lane.channel * width + column);
    const [low, high] = [bounds[place], bounds[place + 1]];
    if (Number.isNaN(low)) {
      isBroken = true;
      continue;
    }
    const left = at(column);
    const right = at(column + 1);
    if (right < GUTTER || left > GUTTER + plot) continue;
    if (wide) {
      const center = (left + right) / 2;
      if (isBroken) context.moveTo(center, y(low));
      else context.lineTo(center, y(low));
      if (right - left > 6) context.fillRect(center - 1.5, y(low) - 1.5, 3, 3);
      isBroken = false;
    } else context.fillRect(left, y(high), Math.max(1, right - left), Math.max(1, y(low) - y(high)));
    if (high > most || low < -most) {
      context.fillStyle = drawn.bad;
      if (high > most) context.fillRect(left, top, Math.max(1.5, right - left), 3);
      if (low < -most) context.fillRect(left, top + height - 3, Math.max(1.5, right - left), 3);
      context.fillStyle = drawn.ink;
    }
  }
  context.stroke();
}

const images = new WeakMap<Uint8Array, { canvas: HTMLCanvasElement; key: string }>();

/** The levels as an image at their own size, made once for each range of decibels. */
function levelsImage({ levels, width, height, top }: Spectrum, { floor, ceiling }: scales.Look): HTMLCanvasElement {
  const key = `${floor}:${ceiling}`;
  const known = images.get(levels);
  if (known?.key === key) return known.canvas;
  const canvas = known?.canvas ?? document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  const context = contextOf(canvas);
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const colors = scales.palette(top, floor, ceiling);
  for (let at = 0; at < pixels.length; at += 1) pixels[at] = colors[levels[at]];
  context.putImageData(image, 0, 0);
  images.set(levels, { canvas, key });
  return canvas;
}

export function drawSpectrum(
  context: CanvasRenderingContext2D,
  lane: scales.SpectrumLane,
  picture: Spectrum & Span,
  drawn: Drawn,
): void {
  if (!picture.width || !picture.height) return;
  const left = drawn.x(picture.start);
  context.imageSmoothingEnabled = false;
  context.drawImage(levelsImage(picture, drawn.look), left, lane.top, drawn.x(picture.stop) - left, lane.height);
}

export function drawAxes(context: CanvasRenderingContext2D, drawn: Drawn): void {
  context.font = FONT;
  context.textBaseline = "middle";
  for (const lane of drawn.lanes) {
    context.textAlign = "right";
    context.fillStyle = drawn.dim;
    if (lane.kind === "wave") amplitudes(context, lane, drawn);
    else frequencies(context, lane, drawn);
    const name = scales.channelName(lane.channel, drawn.channels);
    if (!name) continue;
    context.textAlign = "left";
    context.font = `600 ${FONT}`;
    // Beside a waveform, but on top of a spectrogram, whose frequency labels leave no room beside it.
    context.fillStyle = lane.kind === "wave" ? drawn.soft : "#fff";
    if (lane.kind === "wave") context.fillText(name, 8, lane.top + lane.height / 2);
    else context.fillText(name, GUTTER + 4, lane.top + 8);
    context.font = FONT;
  }
  times(context, drawn);
}

function amplitudes(context: CanvasRenderingContext2D, { top, height }: scales.WaveLane, { amplitude }: Drawn): void {
  const most = amplitude === 1 ? "1" : amplitude.toPrecision(2);
  context.fillText(most, GUTTER - 6, top + 6);
  if (height > 40) context.fillText("0", GUTTER - 6, top + height / 2);
  if (height > 28) context.fillText("\u2212" + most, GUTTER - 6, top + height - 6);
}

function frequencies(context: CanvasRenderingContext2D, lane: scales.SpectrumLane, { rate, look }: Drawn): void {
  const { place } = scales.frequencyScale(rate, look.frequencies);
  for (const hertz of scales.frequencyTicks(rate, look.frequencies, lane.height)) {
    const y = lane.top + lane.height * (1 - place(hertz));
    context.fillText(scales.hertzText(hertz), GUTTER - 6, y);
    context.fillRect(GUTTER - 4, Math.round(y), 4, 1);
  }
}

function times(context: CanvasRenderingContext2D, { span, plot, height, dim, x }: Drawn): void {
  const bottom = height - scales.AXIS;
  const step = scales.timeStep(((span.stop - span.start) * 74) / Math.max(80, plot));
  context.fillStyle = dim;
  context.textAlign = "center";
  for (const seconds of scales.multiples(span.start, span.stop, step)) {
    const place = x(seconds);
    context.fillRect(Math.round(place), bottom, 1, 4);
    const label = scales.clock(seconds, step);
    const half = context.measureText(label).width / 2;
    context.fillText(label, Math.min(Math.max(place, GUTTER + half), GUTTER + plot - half), bottom + 11);
  }
}
