/** Colors of the cloud's surroundings, from the page's CSS variables. */
import { paper } from "./canvas.ts";
import { pixel } from "./raster.ts";
import type { Rgb } from "../../../web/core/color.ts";

const DEFAULTS = { "--bg": "#f6f7f9", "--ink": "#1c2330", "--ink-dim": "#7a8494", "--accent": "#4263eb" };

interface Colors<Value> {
  background: Value;
  ink: Value;
  dim: Value;
  accent: Value;
}

export interface ViewTheme extends Colors<string> {
  font: string;
  pixels: Colors<number>;
}

/** Red, green, and blue of any CSS color. */
function channels(color: string): Rgb {
  const context = paper(1, 1, { willReadFrequently: true });
  context.fillStyle = color;
  context.fillRect(0, 0, 1, 1);
  const [r, g, b] = context.getImageData(0, 0, 1, 1).data;
  return [r, g, b];
}

/** @param background overrides the page's */
export function read(element: Element, background?: string): ViewTheme {
  const style = getComputedStyle(element);
  const variable = (name: keyof typeof DEFAULTS) => style.getPropertyValue(name).trim() || DEFAULTS[name];
  const colors = {
    background: background || variable("--bg"),
    ink: variable("--ink"),
    dim: variable("--ink-dim"),
    accent: variable("--accent"),
  };
  const of = (name: keyof typeof colors) => pixel(channels(colors[name]));
  const pixels = { background: of("background"), ink: of("ink"), dim: of("dim"), accent: of("accent") };
  return { ...colors, font: style.fontFamily || "sans-serif", pixels };
}
