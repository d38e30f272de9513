/** Which clip: that of a run, a tag, a step and a sample; and where the server has it. */
import { Api, type Parameters } from "../../../web/core/request.ts";
import { stepText } from "../../../web/core/dom.ts";

export const api = new Api("api/audio");

export interface Clip {
  run: string;
  tag: string;
  index: number;
  step: number;
  /** Seconds since 1970; NaN where it is not known. */
  wall: number;
  sample: number;
}

/** What names a clip in a request. With its moment the answer may be kept for good; only a finite time can be asked for. */
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
