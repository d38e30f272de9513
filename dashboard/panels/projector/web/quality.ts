/** How far a picture can be trusted: what the server measures, and what that means in words. */
import type { FrameHeader, QualityHeader } from "./messages.generated.ts";

export type QualityPack = QualityHeader & { arrays: Float32Array[] };

export interface Measured {
  state: "done";
  trustworthiness: number;
  continuity: number;
  /** null if there are no categories */
  hit: number | null;
  kept: number;
  /** Neighbors considered for each point. */
  count: number;
  /** Points it was measured on, if not all. */
  sampled: number | null;
  /** The column whose categories count as hits. */
  column: string;
  /** Values for each point, by the names of `TRUST`; NaN for points not in the projection. */
  points: Partial<Record<string, Float32Array>>;
}
export type Quality = { state: "running"; progress: number } | { state: "failed"; message: string } | Measured;

/**
 * Reads the answer once the measuring is done.
 * @param rows of the points in the projection; null for all
 * @param count of all points
 */
export function qualityOf(
  pack: Omit<QualityPack, keyof FrameHeader>,
  rows: Uint32Array | null,
  count: number,
  column: string,
): Measured {
  const whole = (name: string) => {
    const values = pack.arrays[pack.arrays_of.indexOf(name)];
    if (!values || !rows) return values;
    const all = new Float32Array(count).fill(NaN);
    rows.forEach((row, at) => (all[row] = values[at]));
    return all;
  };
  const { trustworthiness = NaN, continuity = NaN, hit = null, neighbors_kept: kept = NaN, sampled = null } = pack;
  return {
    state: "done",
    trustworthiness,
    continuity,
    hit,
    kept,
    count: pack.count ?? 0,
    sampled,
    column,
    points: {
      "@trustworthiness": whole("trustworthiness"),
      "@continuity": whole("continuity"),
      "@hit": whole("hit"),
      "@kept": whole("neighbors_kept"),
    },
  };
}

/** Puts into words what the numbers mean. */
export function sentence(
  { trustworthiness, continuity, kept, count }: Pick<Measured, "trustworthiness" | "continuity" | "kept" | "count">,
): string {
  const keeps = `Of ${count} true neighbors the view shows about ${Math.round(kept * count)}.`;
  if (trustworthiness >= 0.95 && continuity >= 0.95) return `Groups in this view reflect the data. ${keeps}`;
  if (trustworthiness < continuity - 0.05) {
    return `Some points that are close here are far apart in the data. ${keeps}`;
  }
  if (continuity < trustworthiness - 0.05) return `Some groups of the data are split here. ${keeps}`;
  return trustworthiness >= 0.85
    ? `The overall structure is right; individual neighbors may not be. ${keeps}`
    : `Do not trust groups in this view. ${keeps}`;
}
