/** The distribution of slice durations, as bars in a cell. */
import { integer, shortDuration } from "../../../web/core/numbers.ts";

export const WIDTH = 3;
export const HEIGHT = 16;

export interface Bar {
  /** 0 if there are none. */
  tall: number;
  /** What the bar represents. */
  title: string;
}
export interface Spread {
  bars: Bar[];
  words: string;
}

/**
 * The bars of a distribution.
 * @param counts the counts per duration bin; the bins are spaced evenly on a log scale from `low` to `high`
 */
export function spreadOf([low, high, ...counts]: readonly number[]): Spread {
  const most = Math.max(...counts);
  const all = counts.reduce((sum, count) => sum + count, 0);
  const range = (index: number) =>
    [index, index + 1].map((at) => shortDuration(low * Math.pow(high / low, at / counts.length))).join(" to ");
  const bars = counts.map((count, index) => ({
    // Even one in a million is visible.
    tall: count ? Math.max(1.5, (HEIGHT * count) / most) : 0,
    title: `${range(index)}: ${integer(count)} of ${integer(all)}`,
  }));
  const peak = range(counts.indexOf(most));
  return { bars, words: `${integer(all)} durations, most from ${peak}` };
}
