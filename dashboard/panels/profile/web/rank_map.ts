/** What cells of the rank map represent: one step of one rank, or several that can be viewed more closely. */
import type { Place } from "./places.ts";

/** The ranks and steps that a cell represents, as written in the settings. */
export interface Closer {
  ranks: string;
  steps: string;
}

/** From a cell's `customdata`: the ranks and steps to view more closely; null if it represents one of each. */
export function closerAt([, , ranks, steps]: string[]): Closer | null {
  return ranks ? { ranks, steps: steps ?? "" } : null;
}

/** From a cell's `customdata`: where its step is on its rank's Timeline; null if unknown. */
export function mapPlace([trace, range]: string[]): Place | null {
  return trace && range ? { trace, range } : null;
}
