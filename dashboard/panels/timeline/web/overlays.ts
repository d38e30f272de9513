/** Optional overlays on the slices: the critical path, and why streams were idle. */
import { durationText } from "../../../web/core/numbers.ts";
import * as geometry from "./geometry.ts";
import * as timelineText from "../../../web/core/canvas_text.ts";
import type { Scene } from "./geometry.ts";
import type { Range, Source } from "./data.ts";
import type { IdleAnswer, PathAnswer } from "./messages.generated.ts";
import type { Theme } from "./theme.ts";

/** The available overlays. */
export type Overlay = "critical" | "idle";

const MIN_GAP_TEXT = 70;
const WAITING = /delay|dependency|gap|backlog|wait|idle|python/;

export class Overlays {
  critical = false;
  idle = false;

  /** Requests the data for the visible range. */
  want(scene: Scene, target: Range) {
    const pixels = scene.width - scene.left;
    for (const source of scene.sources) {
      if (this.critical) source.stretches.critical.want(source.own(target), pixels, {});
      if (this.idle) source.stretches.idle.want(source.own(target), pixels, {});
    }
  }

  turn(which: Overlay, on: boolean, sources: Source[]) {
    this[which] = on;
    if (!on) { for (const source of sources) source.stretches[which].drop(); }
  }

  /** The meaning of the overlays' colors, with the totals in view for each. */
  legend(theme: Theme, sources: Source[]): [string, string][] {
    const entries: [string, string][] = [];
    const sums = (which: Overlay) => {
      const found: Map<string, number> = new Map();
      for (const source of sources) {
        for (const [name, { ns }] of Object.entries(source.stretches[which].answer?.totals ?? {})) {
          found.set(name, (found.get(name) || 0) + ns);
        }
      }
      return [...found].sort((a, b) => b[1] - a[1]);
    };
    const reported = ([name, ns]: [string, number]) => `${causeWords(name)} ${durationText(ns, 3)}`;
    if (this.idle) {
      for (const sum of sums("idle")) entries.push([theme.causes[causeKey(sum[0])], `idle: ${reported(sum)}`]);
    }
    if (this.critical) {
      const explained = new Set(sources.flatMap((source) => source.stretches.critical.answer?.explained || []));
      const all = sums("critical");
      const known = all.filter(([name]) => explained.has(name));
      const time = (of: [string, number][]) => of.reduce((sum, [, ns]) => sum + ns, 0);
      const rest = all.filter(([name, ns]) => ns > 0 && !explained.has(name)).slice(0, 2).map(reported).join(", ");
      const share = `explains ${durationText(time(known), 3)} of ${durationText(time(all), 3)} (${
        Math.floor((100 * time(known)) / Math.max(1, time(all)))
      }%)`;
      if (all.length) {
        entries.push([
          theme.critical,
          `critical path ${share}: ${known.slice(0, 3).map(reported).join(", ")}${
            rest ? `; unexplained: ${rest}` : ""
          }`,
        ]);
      }
    }
    return entries;
  }

  /** Why an enabled overlay shows nothing; empty if it shows something or is still loading. */
  nothing(sources: Source[]): string {
    const empty = (which: Overlay) =>
      sources.every((source) =>
        source.stretches[which].answer && !Object.keys(source.stretches[which].answer.totals).length
      );
    if (this.idle && empty("idle")) return "Nothing ran on a device in the visible range, so no stream was idle.";
    if (this.critical && empty("critical")) {
      return "No critical path here: it needs operators, launches and kernels.";
    }
    return "";
  }

  /**
   * The idle gap at a moment, for the box beside the mouse.
   * @param time in the trace's time
   */
  gapAt(source: Source, lane: number, time: number) {
    const { answer } = source.stretches.idle;
    if (!this.idle || !answer) return null;
    const at = answer.lane.findIndex((l, i) => l === lane && answer.start[i] <= time && time < answer.end[i]);
    return at < 0 ? null : { start: answer.start[at], end: answer.end[at], cause: answer.causes[answer.cause[at]] };
  }
}

/** Draws the overlays below the slices. */
export function under(scene: Scene, pinned: boolean) {
  for (const source of scene.sources) {
    const { answer } = source.stretches.idle;
    if (scene.overlays.idle && answer) gaps(scene, source, answer, pinned);
  }
}

/** Draws the overlays above the slices. */
export function over(scene: Scene, pinned: boolean) {
  for (const source of scene.sources) {
    const { answer } = source.stretches.critical;
    if (scene.overlays.critical && answer) path(scene, source, answer, pinned);
  }
}

/** Gaps in which nothing ran on a stream, shaded by cause. */
function gaps(scene: Scene, source: Source, answer: IdleAnswer, pinned: boolean) {
  const { context, theme, left, width } = scene;
  const { xOf, bandY, LANE_PAD } = geometry;
  context.font = `400 10.5px ${theme.font}`;
  context.textBaseline = "middle";
  for (let i = 0; i < answer.lane.length; i += 1) {
    const band = scene.rows.ofLane.get(`${source.place}/${answer.lane[i]}`);
    if (!band || band.pinned !== pinned) continue;
    const x0 = Math.max(xOf(scene, answer.start[i] + source.offset), left);
    const x1 = Math.min(xOf(scene, answer.end[i] + source.offset), width);
    if (x1 - x0 < 1) continue;
    const y = bandY(scene, band) + LANE_PAD;
    const height = band.height - 2 * LANE_PAD;
    const cause = answer.causes[answer.cause[i]];
    context.fillStyle = theme.causes[causeKey(cause)];
    context.globalAlpha = (theme.dark ? 0.3 : 0.22) * Math.max(answer.share[i], 0.3);
    context.fillRect(x0, y, x1 - x0, height);
    context.globalAlpha = 1;
    if (x1 - x0 < MIN_GAP_TEXT) continue;
    context.fillStyle = theme.dimmed;
    const text = timelineText.fit(
      context,
      `idle: ${causeWords(cause)} · ${durationText(answer.end[i] - answer.start[i], 3)}`,
      x1 - x0 - 10,
    );
    if (text) context.fillText(text, x0 + 5, y + Math.min(height / 2, 9));
  }
}

/** The slices that determine the length of the trace or of a step, connected in order. */
function path(scene: Scene, source: Source, answer: PathAnswer, pinned: boolean) {
  const { context, theme, left, width } = scene;
  context.lineWidth = 1.2;
  context.strokeStyle = context.fillStyle = theme.critical;
  const inside = (x: number) => Math.min(Math.max(x, left - 4), width + 4);
  for (let i = 0; i < answer.start.length; i += 1) {
    const [start, end] = [answer.start[i], answer.end[i]];
    const at = geometry.slicePlace(scene, {
      lane: answer.lane[i],
      depth: answer.depth[i],
      start,
      duration: end - start,
    }, source);
    if (!at || at.band.pinned !== pinned || at.x1 < left || at.x0 > width) continue;
    if (!WAITING.test(answer.bounds[answer.bound[i]])) {
      context.fillRect(inside(at.x0), at.y + at.height - 2.5, Math.max(inside(at.x1) - inside(at.x0), 1.5), 3);
      continue;
    }
    // No slice of the path is running: the line goes from its origin to what was waited for.
    const from = geometry.slicePlace(scene, {
      lane: answer.origin_lane[i],
      depth: answer.origin_depth[i],
      start,
      duration: 0,
    }, source);
    if (!from || from.band.pinned !== pinned) continue;
    context.globalAlpha = 0.6;
    context.beginPath();
    context.moveTo(from.x0, from.y + from.height - 1);
    context.lineTo(geometry.xOf(scene, end + source.offset), at.y + at.height - 1);
    context.stroke();
    context.globalAlpha = 1;
  }
}

/** A cause in plain words: "host wait". */
export const causeWords = (cause: string) => cause.replace(/_/g, " ");
/** The theme's key for a cause. */
export const causeKey = (cause: string) => (/host/.test(cause) ? "host" : /kernel/.test(cause) ? "kernel" : "other");
