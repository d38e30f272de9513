/** What cells of the map of ranks stand for: one step of one rank, or several that can be looked at closer. */
import type { Place } from "./places.ts";

/** The ranks and the steps that a cell stands for, as the settings have them. */
export interface Closer {
  ranks: string;
  steps: string;
}

/** Of a cell's `customdata`: the ranks and steps to look closer at; null where it stands for one of each. */
export function closerAt([, , ranks, steps]: string[]): Closer | null {
  return ranks ? { ranks, steps: steps ?? "" } : null;
}

/** Of a cell's `customdata`: where its step is on its rank's Timeline; null where that is not known. */
export function mapPlace([trace, range]: string[]): Place | null {
  return trace && range ? { trace, range } : null;
}
