/** Draws the lanes: slices with their names, and counters. */
import { durationText } from "../../../web/core/numbers.ts";
import * as timelineText from "../../../web/core/canvas_text.ts";
import { firstAfter, type Range, type Row, type SliceWindow } from "./data.ts";
import * as flows from "./flow_arrows.ts";
import * as geometry from "./geometry.ts";
import type { Scene } from "./geometry.ts";
import type { Band } from "./layout.ts";
import * as overlays from "./overlays.ts";

const TEXT_FONT = 11;
const MIN_TEXT_WIDTH = 26;
/** Narrower slices become pixels in their row's line. */
const NARROW = 3;
/** Rounded corners are visible from this width on, and cost twice as much. */
const ROUNDED = 10;
/** Opacity of slices that do not match the search. */
const DIM = 0.22;

/** What was drawn. */
export interface Drawn {
  slices: number;
  /** How many of them represent several slices. */
  merged: number;
  windows: Set<SliceWindow>;
}
/** Where a row is on the canvas. */
interface Place {
  y: number;
  height: number;
}
/** A slice with its own shape: its number in the window, its position, and whether it does not match the search. */
type Shape = [i: number, x: number, width: number, dim: boolean];
/** What to paint for a row: its slices, or a placeholder while they are loading. */
type Painted = Waiting | PaintedRow;
interface Waiting extends Place {
  kind: "waiting";
  extent: [number, number];
}
interface PaintedRow extends Place {
  kind: "row";
  shown: SliceWindow;
  colorOf: (i: number) => string;
  /** Raster lines: the narrow slices, and those of them that match; -1 for none. */
  line: number;
  marks: number;
  wide: Shape[];
  slices: number;
  merged: number;
}

export const nothing = (): Drawn => ({ slices: 0, merged: 0, windows: new Set() });

export function lanes(scene: Scene): Drawn {
  const total = nothing();
  part(scene, false, scene.top, scene.height, total);
  if (scene.top > scene.pinTop) {
    part(scene, true, scene.pinTop, scene.top, total);
    scene.context.fillStyle = scene.theme.border;
    scene.context.fillRect(0, scene.top - 2, scene.width, 2);
  }
  return total;
}

function part(scene: Scene, pinned: boolean, top: number, bottom: number, total: Drawn) {
  const { context, theme, left, width } = scene;
  const { visibleBands, bandY } = geometry;
  const bands = visibleBands(scene, pinned);
  // Narrow slices of all rows are rasterized first, so that they reach the canvas together.
  scene.raster?.begin(Math.round((width - left) * scene.ratio));
  const rows = bands.filter((band) => band.type === "lane")
    .flatMap((band) => rowsOf(scene, band, bandY(scene, band), top, bottom, total));
  scene.raster?.end();
  context.save();
  context.beginPath();
  context.rect(left, top, width - left, bottom - top);
  context.clip();
  for (const band of bands) {
    const y = bandY(scene, band);
    if (band.type === "group" || band.type === "trace") {
      context.fillStyle = band.type === "trace" ? theme.strong : theme.raised;
      context.fillRect(left, y, width - left, band.height);
    }
    context.fillStyle = theme.grid;
    context.fillRect(left, Math.round(y + band.height) - 1, width - left, 1);
    if (band.type === "counter") counter(scene, band, y);
  }
  overlays.under(scene, pinned);
  context.imageSmoothingEnabled = false;
  for (const row of rows) paintRow(scene, row);
  overlays.over(scene, pinned);
  if (!pinned) {
    scene.together.draw(scene);
    flows.draw(scene);
  }
  context.restore();
}

/** What to paint for the rows of a lane. */
function rowsOf(scene: Scene, band: Band, y: number, top: number, bottom: number, total: Drawn): Painted[] {
  const { viewport, width, left } = scene;
  const nsPerPixel = viewport.span / (width - left);
  const range = band.source.own(viewport);
  const shown = band.source.best(band.lane, range, nsPerPixel);
  if (!shown) {
    const { extent } = band.source;
    return [{ kind: "waiting", y: y + geometry.LANE_PAD, height: band.height - 2 * geometry.LANE_PAD, extent }];
  }
  total.windows.add(shown);
  const colorOf = scene.colors.of(scene.theme, band.source, shown);
  const found: PaintedRow[] = [];
  for (let depth = 0; depth < band.depths; depth += 1) {
    const rowY = y + geometry.LANE_PAD + depth * band.sliceHeight;
    if (rowY + band.sliceHeight < top || rowY > bottom) continue;
    const row = shown.rows.get(`${band.lane}/${depth}`);
    if (!row) continue;
    const made = rowOf(scene, {
      range,
      shown,
      row,
      y: rowY,
      height: Math.max(band.sliceHeight - 1.5, 2),
      nsPerPixel,
      colorOf,
    });
    total.slices += made.slices;
    total.merged += made.merged;
    found.push(made);
  }
  return found;
}

/** Narrow slices as pixels in a line, the others as places. */
function rowOf(
  scene: Scene,
  { range, shown, row, y, height, nsPerPixel, colorOf }: Place & {
    range: Range;
    shown: SliceWindow;
    row: Row;
    nsPerPixel: number;
    colorOf: (i: number) => string;
  },
): PaintedRow {
  const { left, width, raster, ratio } = scene;
  const matching = scene.matches?.names ?? null;
  const { starts, durations, name, count } = shown;
  const bucketPixels = shown.bucket / nsPerPixel;
  let merged = 0;
  let slices = 0;
  const first = Math.max(firstAfter(shown, row, range.start) - 1, row.from);
  const wide: Shape[] = [];
  let line = -1;
  let marks = -1;
  for (let i = first; i < row.to; i += 1) {
    if (starts[i] > range.end) break;
    const end = starts[i] + durations[i];
    if (end < range.start && count[i] === 1) continue;
    let x0 = Math.max(left + (starts[i] - range.start) / nsPerPixel, left - 4);
    let x1 = Math.min(left + (end - range.start) / nsPerPixel, width + 4);
    if (count[i] > 1) {
      merged += 1;
      // The merged slices fill at most as much of their bucket as if all were as long as the longest.
      if (count[i] * durations[i] * 2 >= shown.bucket) {
        const bucket = shown.start + Math.floor((starts[i] - shown.start) / shown.bucket) * shown.bucket;
        x0 = Math.max(Math.min(x0, left + (bucket - range.start) / nsPerPixel), left - 4);
        x1 = Math.max(x1, Math.min(x0 + bucketPixels, width + 4));
      }
    }
    const next = i + 1 < row.to ? left + (starts[i + 1] - range.start) / nsPerPixel : Infinity;
    slices += 1;
    const dim = matching !== null && !matching.has(shown.names[name[i]]);
    const w = Math.max(Math.min(x1, next) - x0, durations[i] === 0 ? 1.5 : 0.8);
    if (w >= NARROW || !raster) {
      wide.push([i, x0, w, dim]);
      continue;
    }
    if (line < 0) line = raster.line();
    const from = Math.floor((x0 - left) * ratio);
    const to = Math.max(Math.round((x0 + w - left) * ratio), from + 1);
    raster.fill(line, from, to, raster.pixel(colorOf(i), dim ? DIM : 1));
    if (matching !== null && !dim) {
      if (marks < 0) marks = raster.line();
      raster.fill(marks, from, to, raster.pixel(scene.theme.match, 1));
    }
  }
  return { kind: "row", shown, y, height, colorOf, line, marks, wide, slices, merged };
}

function paintRow(scene: Scene, row: Painted) {
  const { context, theme, left, width, raster } = scene;
  const matching = scene.matches?.names ?? null;
  const { y, height } = row;
  if (row.kind === "waiting") {
    const x0 = Math.max(geometry.xOf(scene, row.extent[0]), left);
    const x1 = Math.min(geometry.xOf(scene, row.extent[1]), width);
    context.fillStyle = theme.grid;
    if (x1 > x0) context.fillRect(x0, y, x1 - x0, height);
    return;
  }
  const { shown, colorOf, line, marks, wide } = row;
  if (line >= 0) raster?.draw(context, line, left, y, width - left, height);
  if (marks >= 0) raster?.draw(context, marks, left, y + height - 2, width - left, 2);
  const texts: [number, number, number][] = [];
  let color = "";
  for (const [i, x, w, dim] of wide) {
    const wanted = colorOf(i);
    if (wanted !== color) context.fillStyle = color = wanted;
    if (dim) context.globalAlpha = DIM;
    const single = shown.count[i] === 1;
    const room = w - (single ? 0.75 : 0);
    if (single && height > 8 && w > ROUNDED) rounded(context, x, y, room, height);
    else context.fillRect(x, y, room, height);
    if (dim) context.globalAlpha = 1;
    else if (matching !== null) {
      context.fillStyle = color = theme.match;
      context.fillRect(x, y + height - 2, Math.max(room, 1.5), 2);
    }
    if (room > MIN_TEXT_WIDTH && height > 10 && single) texts.push([i, x, room]);
  }
  labelSlices(scene, shown, texts, y, height);
}

function labelSlices(
  scene: Scene,
  shown: SliceWindow,
  texts: [number, number, number][],
  y: number,
  height: number,
) {
  const { context, theme, left } = scene;
  const matching = scene.matches?.names ?? null;
  context.font = `500 ${TEXT_FONT}px ${theme.font}`;
  context.textBaseline = "middle";
  context.fillStyle = theme.sliceText;
  for (const [i, x, w] of texts) {
    const from = Math.max(x, left);
    const room = x + w - from - 10;
    if (room < 12) continue;
    const name = shown.names[shown.name[i]];
    const text = timelineText.fit(context, timelineText.shortName(name), room);
    if (!text) continue;
    if (matching !== null && !matching.has(name)) context.globalAlpha = 0.35;
    const long = shown.durations[i] && room > timelineText.measure(context, text) + 56;
    context.fillText(text, from + 5, y + height / 2 + 0.5);
    if (long) {
      const time = durationText(shown.durations[i], 3);
      context.save();
      context.globalAlpha *= 0.6;
      context.fillText(time, from + 5 + timelineText.measure(context, text) + 7, y + height / 2 + 0.5);
      context.restore();
    }
    context.globalAlpha = 1;
  }
}

function rounded(
  context: CanvasRenderingContext2D,
  x: number,
  y: number,
  w: number,
  h: number,
) {
  context.beginPath();
  context.roundRect(x, y, w, h, Math.min(3, w / 3));
  context.fill();
}

function counter(scene: Scene, band: Band, y: number) {
  const { context, theme, width } = scene;
  const { source } = band;
  const meta = source.summary.counters[band.counter];
  const loaded = source.counters.get(band.counter);
  if (!loaded || meta.min === null || meta.max === null) return;
  const low = Math.min(meta.min, 0);
  const range = Math.max(meta.max - low, 1e-12);
  const bottom = y + band.height - 4;
  const yOf = (v: number) => bottom - ((v - low) / range) * (band.height - 10);
  context.fillStyle = theme.color(band.label);
  // One rectangle per value, at most one per pixel: a single path for all takes ten times as long.
  let x = geometry.xOf(scene, (loaded.time[0] ?? 0) + source.offset);
  let highest = -Infinity;
  // Edges on whole device pixels avoid seams.
  const snapped = (place: number) => Math.round(place * scene.ratio) / scene.ratio;
  for (let i = 0; i < loaded.time.length; i += 1) {
    const nextX = i + 1 < loaded.time.length
      ? geometry.xOf(scene, loaded.time[i + 1] + source.offset)
      : Math.min(geometry.xOf(scene, source.extent[1]), width + 2);
    const level = loaded.value[i];
    if (level !== null) highest = Math.max(highest, level);
    if (nextX - x < 1 / scene.ratio && i + 1 < loaded.time.length) continue;
    if (highest > -Infinity && nextX >= scene.left && x <= width) {
      const from = snapped(Math.max(x, scene.left - 2));
      const room = Math.max(snapped(Math.min(nextX, width + 2)) - from, 1 / scene.ratio);
      context.globalAlpha = 0.4;
      context.fillRect(from, yOf(highest), room, bottom - yOf(highest));
      context.globalAlpha = 1;
      context.fillRect(from, yOf(highest), room, Math.min(1.5, bottom - yOf(highest)));
    }
    x = nextX;
    highest = -Infinity;
  }
  context.fillStyle = theme.border;
  context.fillRect(scene.left, yOf(0), width - scene.left, 1);
}
