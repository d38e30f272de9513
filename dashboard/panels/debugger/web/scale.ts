/** Colors of the map: one- or two-sided log scales that people with color blindness can tell apart. */
import { type Rgb, scaleOf, viridis } from "../../../web/core/color.ts";

/** The range of a figure over the whole map; NaN if there is none. */
export interface Extent {
  low: number;
  high: number;
  /** The least magnitude above zero. */
  least: number;
  /** Whether values below zero mean something different from those above. */
  signed: boolean;
}

/** The most decades that a scale spans; magnitudes farther apart are no longer distinguished. */
const DECADES = 12;
const LIGHT: readonly Rgb[] = [[20, 78, 156], [97, 160, 214], [240, 241, 243], [238, 162, 84], [153, 72, 4]];
const DARK: readonly Rgb[] = [[108, 184, 255], [43, 98, 163], [42, 46, 54], [163, 92, 26], [255, 176, 92]];
/** The color of zero if a log scale has no place for it. */
const ZERO: Record<"light" | "dark", Rgb> = { light: [214, 217, 222], dark: [58, 62, 70] };
/** Stripes for non-finite values, so that they are not mistaken for any color of the scale. */
export const BAD: Record<"nan" | "infinite" | "not_finite", [Rgb, Rgb]> = {
  nan: [[230, 0, 110], [255, 205, 228]],
  infinite: [[235, 80, 0], [255, 226, 170]],
  not_finite: [[130, 60, 200], [228, 212, 250]],
};

export interface HeatScale {
  /** Returns where a value lies, 0 to 1; NaN for no value, -1 for zero on a one-sided scale. */
  share(value: number): number;
  color(value: number): Rgb;
  /** Returns values at equal distances along the legend. */
  ticks(count: number): number[];
}

/** Returns the scale for a whole map. */
export function heatScale(extent: Extent, scheme: "light" | "dark"): HeatScale {
  const reach = Math.max(Math.abs(extent.low), Math.abs(extent.high));
  const top = Number.isFinite(reach) && reach > 0 ? Math.min(reach, 3.4e38) : 1;
  const bottom = Math.min(Math.max(extent.least > 0 ? extent.least : top, top / 10 ** DECADES), top);
  const span = Math.log(top / bottom);
  const sized = (size: number) => (span > 0 ? Math.min(Math.max(Math.log(size / bottom) / span, 0), 1) : 1);
  const signed = extent.signed && extent.low < 0;
  const zero = ZERO[scheme];
  if (!signed) {
    const share = (value: number) => (Number.isNaN(value) ? NaN : value === 0 ? -1 : sized(Math.abs(value)));
    return {
      share,
      color: (value) => (value === 0 ? zero : viridis(share(value))),
      ticks: (count) => places(count).map((at) => bottom * Math.exp(at * span)),
    };
  }
  const mixed = scaleOf(scheme === "dark" ? DARK : LIGHT);
  // Magnitudes below the least fall in the middle; part of each side is reserved so that it stays visible.
  const share = (value: number) => value === 0 ? 0.5 : 0.5 + Math.sign(value) * (0.06 + 0.44 * sized(Math.abs(value)));
  return {
    share,
    color: (value) => mixed(share(value)),
    ticks: (count) =>
      places(count).map((at) => {
        const side = (at - 0.5) * 2;
        return Math.abs(side) < 0.12 ? 0 : Math.sign(side) * bottom * Math.exp(((Math.abs(side) - 0.12) / 0.88) * span);
      }),
  };
}

const places = (count: number): number[] =>
  Array.from({ length: count }, (_, at) => (count > 1 ? at / (count - 1) : 0));
