// @ts-nocheck
/** Colours of the Projector panel: the palette of runs for categories, a perceptual scale for numbers, the page's variables. */

/** Most categories that have a colour of their own; more no eye tells apart. */
const MOST_COLOURS = 50;

/** Viridis (S. van der Walt and N. Smith, 2015) at equal distances. */
const VIRIDIS: [number, number, number][] = [
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
/** What of the scale can be seen: its dark end is lost on black, its yellow end on white. */
const PART = { light: [0, 0.9], dark: [0.18, 1] };

const hex = (text: string) => ([1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16)) as [number, number, number]);

/**
 * OKLCH to sRGB (B. Ottosson, 2020).
 * @param hue degrees
 */
function oklch(lightness: number, chroma: number, hue: number): [number, number, number] {
  const [a, b] = [chroma * Math.cos((hue * Math.PI) / 180), chroma * Math.sin((hue * Math.PI) / 180)];
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  return (linear.map((value) => {
    const x = Math.min(Math.max(value, 0), 1);
    return Math.round(255 * (x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055));
  }) as [number, number, number]);
}

export interface Theme {
  dark: boolean;
  background: string;
  ink: string;
  /** of points without a colour */
  plain: [number, number, number];
  /** of what has no value, or is one of many */
  grey: [number, number, number];
  category: (place: number) => [number, number, number];
  /** from 0 to 1 */
  scale: (share: number) => [number, number, number];
}

/** @param host with the palette of dashboard/colors.py as `data-palette` */
function read(host: HTMLElement): Theme {
  const dark = document.documentElement.dataset.mantineColorScheme === "dark";
  const style = getComputedStyle(host);
  const palette: { light: string; dark: string }[] = JSON.parse(host.dataset.palette || "[]");
  const colours = palette.map((colour) => hex(dark ? colour.dark : colour.light));
  // Behind the palette: hues a golden angle apart, in two lightnesses.
  while (colours.length < MOST_COLOURS) {
    colours.push(oklch((dark ? 0.78 : 0.5) + (colours.length % 2 ? 0.08 : 0), 0.11, colours.length * 137.5));
  }
  const [low, high] = PART[dark ? "dark" : "light"];
  return {
    dark,
    background: style.getPropertyValue("--bg").trim(),
    ink: style.getPropertyValue("--ink").trim(),
    plain: hex(dark ? "#839ffa" : "#5d73f6"),
    grey: dark ? [92, 100, 112] : [176, 183, 193],
    category: (place) => colours[place % MOST_COLOURS],
    scale: (share) => {
      const at = (low + (high - low) * Math.min(Math.max(share, 0), 1)) * (VIRIDIS.length - 1);
      const [before, rest] = [
        Math.min(Math.floor(at), VIRIDIS.length - 2),
        at - Math.min(Math.floor(at), VIRIDIS.length - 2),
      ];
      return (VIRIDIS[before].map((one, channel) => Math.round(one + (VIRIDIS[before + 1][channel] - one) * rest)) as [
        number,
        number,
        number,
      ]);
    },
  };
}

export const theme = { read, MOST_COLOURS, css: ([r, g, b]: number[]) => `rgb(${r},${g},${b})` };
