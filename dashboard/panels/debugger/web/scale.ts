/** Colors of the map: log scales, one side or two, that people who see few colors can tell apart. */
import { type Rgb, scaleOf, viridis } from "../../../web/core/color.ts";

/** What the whole map has of a figure; NaN where it has nothing. */
export interface Extent {
  low: number;
  high: number;
  /** The least magnitude above zero. */
  least: number;
  /** Whether values below zero mean something else than those above. */
  signed: boolean;
}

/** Magnitudes that are further apart than this are told apart no more. */
const DECADES = 12;
const LIGHT: readonly Rgb[] = [[20, 78, 156], [97, 160, 214], [240, 241, 243], [238, 162, 84], [153, 72, 4]];
const DARK: readonly Rgb[] = [[108, 184, 255], [43, 98, 163], [42, 46, 54], [163, 92, 26], [255, 176, 92]];
/** What is zero, where a log scale has no place for it. */
const ZERO: Record<"light" | "dark", Rgb> = { light: [214, 217, 222], dark: [58, 62, 70] };
/** Of what is not finite: stripes, so that no color of the scale is taken for them. */
export const BAD: Record<"nan" | "infinite" | "not_finite", [Rgb, Rgb]> = {
  nan: [[230, 0, 110], [255, 205, 228]],
  infinite: [[235, 80, 0], [255, 226, 170]],
  not_finite: [[130, 60, 200], [228, 212, 250]],
};

export interface HeatScale {
  /** Where a value lies, 0 to 1; NaN for none, -1 for zero of a one-sided scale. */
  share(value: number): number;
  color(value: number): Rgb;
  /** Values at equal distances of the legend. */
  ticks(count: number): number[];
}

/** The scale for all of a map. */
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
  // Below the least magnitude it is the middle; a tenth of each side is kept for that to be seen.
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
