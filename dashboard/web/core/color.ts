/** Color arithmetic: OKLCH, Viridis, and a stable hash of a text to choose a color by. */

/** Red, green and blue, 0 to 255. */
export type Rgb = [number, number, number];

/**
 * Converts OKLCH to sRGB (B. Ottosson, "A perceptual color space for image processing", 2020).
 * @param lightness 0 to 1
 * @param hue degrees
 */
export function oklch(lightness: number, chroma: number, hue: number): Rgb {
  const a = chroma * Math.cos((hue * Math.PI) / 180);
  const b = chroma * Math.sin((hue * Math.PI) / 180);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    channel(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    channel(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    channel(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

/** Converts a linear light value from 0 to 1 to its sRGB byte. */
function channel(linear: number): number {
  const x = Math.min(Math.max(linear, 0), 1);
  return Math.round(255 * (x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055));
}

/** Formats a color for CSS. */
export const css = ([r, g, b]: readonly number[], alpha = 1): string =>
  alpha < 1 ? `rgba(${r},${g},${b},${alpha})` : `rgb(${r},${g},${b})`;

/** Parses "#rrggbb". */
export const ofHex = (text: string): Rgb => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16)) as Rgb;

/** A color scale that interpolates between evenly spaced stops. */
export const scaleOf = (stops: readonly Rgb[]) => (share: number): Rgb => {
  const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const before = Math.min(Math.floor(at), stops.length - 2);
  return stops[before].map((one, k) => Math.round(one + (stops[before + 1][k] - one) * (at - before))) as Rgb;
};

/** Viridis (S. van der Walt and N. Smith, 2015) as evenly spaced stops. */
export const VIRIDIS: readonly Rgb[] = [
  [68, 1, 84],
  [72, 36, 117],
  [65, 68, 135],
  [53, 95, 141],
  [42, 120, 142],
  [33, 145, 140],
  [34, 168, 132],
  [68, 191, 112],
  [122, 209, 81],
  [189, 223, 38],
  [253, 231, 37],
];

/** Viridis from 0 to 1. */
export const viridis = scaleOf(VIRIDIS);

/** A hash of a text that is the same everywhere: FNV-1a of its UTF-16 units, with the upper bits mixed in. */
export function hashOf(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  value ^= value >>> 15;
  return value >>> 0;
}
