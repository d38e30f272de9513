// @ts-nocheck
/** Colours of the cloud's surroundings, from the page's CSS variables. */
import { pixel as projectorPixel } from "./raster.ts";

const DEFAULTS = {
  "--bg": "#f6f7f9",
  "--ink": "#1c2330",
  "--ink-soft": "#4b5563",
  "--ink-dim": "#7a8494",
  "--accent": "#4263eb",
};

/** Red, green and blue of any CSS colour. */
export function channels(colour: string): [number, number, number] {
  const context = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", {
    willReadFrequently: true,
  }) as CanvasRenderingContext2D;
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  const [r, g, b] = context.getImageData(0, 0, 1, 1).data;
  return [r, g, b];
}

/** @param background another one than the page's */
export function read(
  element: Element,
  background?: string,
): {
  background: string;
  ink: string;
  dim: string;
  accent: string;
  font: string;
  pixels: { background: number; ink: number; dim: number; accent: number; plain: number };
} {
  const style = getComputedStyle(element);
  const variable = (name: keyof DEFAULTS) => style.getPropertyValue(name).trim() || DEFAULTS[name];
  const colours = {
    background: background || variable("--bg"),
    ink: variable("--ink"),
    dim: variable("--ink-dim"),
    accent: variable("--accent"),
  };
  const pixel = (colour: string) => projectorPixel(channels(colour));
  const pixels = {
    background: pixel(colours.background),
    ink: pixel(colours.ink),
    dim: pixel(colours.dim),
    accent: pixel(colours.accent),
    plain: pixel(colours.accent),
  };
  return { ...colours, font: style.fontFamily || "sans-serif", pixels };
}
