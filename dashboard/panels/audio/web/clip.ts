/** Identifies a clip by run, tag, step and sample, and gives its address on the server. */
import { Api, type Parameters } from "../../../web/core/request.ts";
import { stepText } from "../../../web/core/dom.ts";

export const api = new Api("api/audio");

export interface Clip {
  run: string;
  tag: string;
  index: number;
  step: number;
  /** Seconds since 1970; NaN if unknown. */
  wall: number;
  sample: number;
}

/** Identifies a clip in a request. With its time, the answer can be cached for good; only finite times can be sent. */
export const named = ({ run, tag, index, step, wall, sample }: Clip): Parameters => ({
  run,
  tag,
  index,
  sample,
  ...(Number.isFinite(wall) ? { step, wall_time: wall } : {}),
});

export const clipUrl = (clip: Clip, more: Parameters = {}): string => api.address("clip", { ...named(clip), ...more });

export const clipName = ({ tag, run, step, sample }: Clip): string =>
  `${tag} · ${run} · step ${stepText(step)}${sample ? ` · sample ${sample + 1}` : ""}`;
