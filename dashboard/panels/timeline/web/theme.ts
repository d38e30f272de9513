/** Timeline colors: taken from the page's CSS variables, or stable per name in a palette of equal lightness. */
import { css, hashOf, oklch } from "../../../web/core/color.ts";

/** Hues (OKLCH degrees) that most people can tell from their neighbors; red is reserved for errors. */
const HUES = [255, 165, 60, 310, 205, 95, 340, 140, 280, 75, 225, 185, 40, 295, 120, 240];
/** Hues for a few adjacent items, the most distinct first. */
const TINT_HUES = [255, 60, 150, 320, 205, 95, 25, 285, 180, 345, 120, 230];
const LIGHT = { lightness: 0.815, chroma: 0.088 };
const DARK = { lightness: 0.5, chroma: 0.088 };

const mixed = (lightness: number, chroma: number, hue: number) => css(oklch(lightness, chroma, hue));

/** Digits and template arguments vary between instances of the same thing and must not change its color. */
const stem = (name: string) => name.replace(/[<(].*$/, "").replace(/\d+/g, "") || name;

/** A ramp with a hundred steps. */
function memo(make: (share: number) => string) {
  const known: string[] = [];
  return (share: number) => {
    const step = Math.round(Math.min(Math.max(share, 0), 1) * 100);
    return (known[step] ||= make(step / 100));
  };
}

export interface Theme {
  dark: boolean;
  body: string;
  /** background of labels and rulers */
  raised: string;
  text: string;
  dimmed: string;
  border: string;
  grid: string;
  accent: string;
  match: string;
  sliceText: string;
  font: string;
  color: (name: string) => string;
  /** color of each kind of lane */
  kinds: Record<string, string>;
  /** background of a trace's own row */
  strong: string;
  /** colors of several traces */
  traces: string[];
  /** from 0 (little) to 1 (much) */
  ramp: (share: number) => string;
  /** color of slices whose coloring value is unknown */
  unknown: string;
  /** colors for differences between two traces */
  verdicts: Record<string, string>;
  /** colors for the reasons why a stream is idle */
  causes: Record<string, string>;
  /** color of the critical path */
  critical: string;
  /** a palette color by number */
  tint: (place: number) => string;
}

export function read(element: Element): Theme {
  const style = getComputedStyle(element);
  const dark = document.documentElement.getAttribute("data-mantine-color-scheme") === "dark";
  const variable = (name: string, fallback: string) => style.getPropertyValue(name).trim() || fallback;
  const { lightness, chroma } = dark ? DARK : LIGHT;
  const palette = HUES.flatMap((hue) => [
    mixed(lightness, chroma, hue),
    mixed(lightness + (dark ? 0.07 : -0.055), chroma + 0.018, hue + 8),
  ]);
  const tints = TINT_HUES.map((hue) => mixed(lightness, chroma + 0.012, hue));
  const known: Map<string, string> = new Map();
  const color = (name: string) => {
    let found = known.get(name);
    if (found === undefined) known.set(name, found = palette[hashOf(stem(name)) % palette.length]);
    return found;
  };
  const strong = (hue: number) => mixed(dark ? 0.72 : 0.6, 0.14, hue);
  return {
    dark,
    body: variable("--surface", dark ? "#1a1b1e" : "#ffffff"),
    raised: variable("--bg", dark ? "#101216" : "#f6f7f9"),
    text: variable("--ink", dark ? "#c9c9c9" : "#1a1b1e"),
    dimmed: variable("--ink-dim", dark ? "#909296" : "#868e96"),
    border: variable("--line", dark ? "#373a40" : "#dee2e6"),
    grid: dark ? "rgba(255,255,255,0.055)" : "rgba(0,0,0,0.05)",
    accent: variable("--accent", dark ? "#4dabf7" : "#1c7ed6"),
    match: dark ? "#ffd43b" : "#e8590c",
    sliceText: dark ? "rgba(255,255,255,0.95)" : "rgba(10,15,30,0.9)",
    font: variable("--mantine-font-family", "system-ui, sans-serif"),
    color,
    strong: dark ? "#20242b" : "#e9edf3",
    traces: [strong(255), strong(40), strong(150), strong(310), strong(95), strong(205), strong(0), strong(280)],
    ramp: memo((share) =>
      mixed(dark ? 0.36 + 0.3 * share : 0.9 - 0.26 * share, 0.04 + 0.11 * share, 250 - 215 * share)
    ),
    unknown: dark ? "#3a3f47" : "#d9dee5",
    verdicts: {
      "only in first": strong(255),
      "only in second": strong(310),
      longer: mixed(dark ? 0.58 : 0.74, 0.15, 30),
      shorter: mixed(dark ? 0.58 : 0.74, 0.13, 150),
      same: dark ? "#3a3f47" : "#d9dee5",
    },
    causes: { host: strong(55), kernel: strong(205), other: dark ? "#7d828a" : "#9aa3ad" },
    critical: dark ? "#ff6b6b" : "#d6336c",
    tint: (place) => tints[((place % tints.length) + tints.length) % tints.length],
    kinds: {
      host: strong(255),
      device: strong(150),
      stream: strong(150),
      memcpy: strong(60),
      other: dark ? "#909296" : "#adb5bd",
    },
  };
}
