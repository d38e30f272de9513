/** Where things are on the canvas, and what is at a given point. */

import { upperBound } from "../../../web/core/steps.ts";
import { firstAfter } from "./data.ts";
import { bandAt } from "./layout.ts";
import type { Colors } from "./colors.ts";
import type { Together } from "./compare_traces.ts";
import type { Source } from "./data.ts";
import type { Band, Rows } from "./layout.ts";
import type { SliceRow } from "./messages.generated.ts";
import type { Overlays } from "./overlays.ts";
import type { Raster } from "./raster.ts";
import type { Found } from "./search.ts";
import type { SelectedSlice } from "./selection.ts";
import type { Theme } from "./theme.ts";
import type { Viewport } from "./viewport.ts";

/** The state that drawing needs; the panel owns it. */
export interface Scene {
  context: CanvasRenderingContext2D;
  theme: Theme;
  /** for narrow slices; null if every slice is a shape */
  raster: Raster | null;
  /** the minimap's picture; null if it is redrawn each time */
  strips: { key: string; canvas: HTMLCanvasElement } | null;
  /** device pixels per CSS pixel */
  ratio: number;
  width: number;
  height: number;
  /** where the lanes begin, right of the labels */
  left: number;
  /** where the pinned lanes begin, below the rulers */
  pinTop: number;
  /** where the other lanes begin, below the pinned ones */
  top: number;
  scroll: number;
  pinScroll: number;
  viewport: Viewport;
  sources: Source[];
  rows: Rows;
  selection: SelectedSlice | null;
  matches: Found | null;
  colors: Colors;
  overlays: Overlays;
  together: Together;
}

/** A point of the canvas or the page. */
export interface Point {
  x: number;
  y: number;
}
/** Where a slice is on the canvas, and the band that it is on. */
export interface SlicePlace {
  x0: number;
  x1: number;
  y: number;
  height: number;
  band: Band;
}
/** A slice as drawn: what is known about it without a request, and how many slices it represents. */
export interface DrawnSlice extends SliceRow {
  category: string;
  count: number;
  /** the value it is colored by, if windows carry one */
  value: number | null;
  source: Source;
}

export const LANE_PAD = 3;

export const xOf = (scene: Scene, time: number) =>
  scene.left + ((time - scene.viewport.start) / scene.viewport.span) * (scene.width - scene.left);

/** The visible bands, either the pinned ones or the others. */
export function visibleBands(scene: Scene, pinned: boolean): Band[] {
  const { bands, pinned: pins } = scene.rows;
  const [from, to] = pinned
    ? [scene.pinScroll, scene.pinScroll + scene.top - scene.pinTop]
    : [scene.scroll, scene.scroll + scene.height - scene.top];
  return (pinned ? pins : bands).filter((b) => b.y + b.height > from && b.y < to);
}

/** Where a band begins on the canvas. */
export const bandY = (
  scene: Scene,
  band: Band,
): number => (band.pinned ? scene.pinTop + band.y - scene.pinScroll : scene.top + band.y - scene.scroll);

/** The band at a y position on the canvas. */
export function bandAtY(scene: Scene, y: number): Band | null {
  if (y < scene.pinTop) return null;
  return y < scene.top
    ? bandAt(scene.rows.pinned, y - scene.pinTop + scene.pinScroll)
    : bandAt(scene.rows.bands, y - scene.top + scene.scroll);
}

/** Where a slice is on the canvas, even if off-screen; null if its lane is not shown. */
export function slicePlace(
  scene: Scene,
  slice: Pick<SliceRow, "lane" | "depth" | "start" | "duration">,
  source: Source,
): SlicePlace | null {
  const x0 = xOf(scene, slice.start + source.offset);
  const x1 = xOf(scene, slice.start + slice.duration + source.offset);
  const band = scene.rows.ofLane.get(`${source.place}/${slice.lane}`);
  if (!band) {
    const group = source.summary.groups.find((g) => g.lanes.includes(slice.lane));
    const folded = group &&
      scene.rows.bands.find((b) => b.type === "group" && b.source === source && b.title === group.title);
    return folded ? { x0, x1, y: bandY(scene, folded) + 4, height: folded.height - 8, band: folded } : null;
  }
  // A lane with very many rows is not drawn in full.
  const y = bandY(scene, band) + LANE_PAD + Math.min(slice.depth, band.depths - 1) * band.sliceHeight;
  return { x0, x1: Math.max(x1, x0 + 1.5), y, height: Math.max(band.sliceHeight - 1.5, 2), band };
}

/** The slice under a point, with the number of slices it represents. */
export function sliceAt(scene: Scene, x: number, y: number): DrawnSlice | null {
  const band = bandAtY(scene, y);
  if (!band || band.type !== "lane" || x < scene.left) return null;
  const { source } = band;
  const depth = Math.floor((y - bandY(scene, band) - LANE_PAD) / band.sliceHeight);
  const nsPerPixel = scene.viewport.span / (scene.width - scene.left);
  const loaded = source.best(band.lane, source.own(scene.viewport), nsPerPixel);
  const row = loaded?.rows.get(`${band.lane}/${depth}`);
  if (!loaded || !row) return null;
  const time = scene.viewport.start - source.offset + (x - scene.left) * nsPerPixel;
  const near = 2 * nsPerPixel;
  const after = firstAfter(loaded, row, time + near);
  let best = -1;
  let bestGap = near;
  for (let i = after - 1; i >= Math.max(row.from, after - 3); i -= 1) {
    const span = loaded.count[i] > 1 ? Math.max(loaded.durations[i], loaded.bucket) : loaded.durations[i];
    const gap = Math.max(loaded.starts[i] - time, time - loaded.starts[i] - span, 0);
    if (gap < bestGap || (gap === 0 && best < 0)) {
      best = i;
      bestGap = gap;
      if (gap === 0) break;
    }
  }
  if (best < 0) return null;
  return {
    index: loaded.index[best],
    name: loaded.names[loaded.name[best]],
    category: loaded.categories[loaded.category[best]],
    lane: band.lane,
    depth,
    start: loaded.starts[best],
    duration: loaded.durations[best],
    count: loaded.count[best],
    value: loaded.value ? loaded.value[best] : null,
    source,
  };
}

/** The value of a counter at a moment in its trace. */
export function counterAt(source: Source, counter: number, time: number) {
  const loaded = source.counters.get(counter);
  if (!loaded) return null;
  const at = upperBound(loaded.time, time) - 1;
  return at < 0 ? null : { time: loaded.time[at], value: loaded.value[at] };
}
