/** Colors of the Projector panel: the runs' palette for categories, a perceptual number scale, the page's variables. */
import { css, ofHex, oklch, type Rgb, viridis } from "../../../web/core/color.ts";

/** The most categories with a color of their own; the eye cannot tell more apart. */
export const MOST_COLORS = 50;

/** The visible part of the scale: its dark end is lost on black, its yellow end on white. */
const PART = { light: [0, 0.9], dark: [0.18, 1] };

/** The colors that points are painted with. */
export interface Paints {
  /** of points without a color */
  plain: Rgb;
  /** of points without a value, or in one of many categories */
  gray: Rgb;
  category: (place: number) => Rgb;
  /** from 0 to 1 */
  scale: (share: number) => Rgb;
}

export interface Theme extends Paints {
  dark: boolean;
  background: string;
  ink: string;
}

/** A color in both themes. */
export interface Shades {
  light: string;
  dark: string;
}

/** Returns the colors of a palette, followed by hues a golden angle apart in two lightnesses. */
export function colorsOf(
  palette: readonly Shades[],
  dark: boolean,
): Paints {
  const colors = palette.map((shades) => ofHex(dark ? shades.dark : shades.light));
  while (colors.length < MOST_COLORS) {
    colors.push(oklch((dark ? 0.78 : 0.5) + (colors.length % 2 ? 0.08 : 0), 0.11, colors.length * 137.5));
  }
  const [low, high] = PART[dark ? "dark" : "light"];
  return {
    plain: ofHex(dark ? "#839ffa" : "#5d73f6"),
    gray: dark ? [92, 100, 112] : [176, 183, 193],
    category: (place) => colors[place % MOST_COLORS],
    scale: (share) => viridis(low + (high - low) * Math.min(Math.max(share, 0), 1)),
  };
}

/** @param host holds the palette of dashboard/colors.py as `data-palette` */
function read(host: HTMLElement): Theme {
  const dark = document.documentElement.dataset.mantineColorScheme === "dark";
  const style = getComputedStyle(host);
  const variable = (name: string) => style.getPropertyValue(name).trim();
  const palette: Shades[] = JSON.parse(host.dataset.palette || "[]");
  return { dark, background: variable("--bg"), ink: variable("--ink"), ...colorsOf(palette, dark) };
}

export const theme = { read, css };
