/** Draws the rulers above the lanes (minimap, time axis, steps) and the layer over them (hover, selection, marks). */
import { durationText, integer } from "../../../web/core/numbers.ts";
import { type Step, stepAt } from "./colors.ts";
import * as format from "./format.ts";
import * as geometry from "./geometry.ts";
import * as timelineText from "../../../web/core/canvas_text.ts";
import type { Chosen } from "./area.ts";
import type { DrawnSlice, Point, Scene } from "./geometry.ts";
import type { SelectedSlice } from "./selection.ts";
import type { Source } from "./data.ts";

export const MINIMAP_HEIGHT = 46;
export const AXIS_HEIGHT = 24;
const STEPS_HEIGHT = 20;
const TICK_WIDTH = 105;
/** Space below the last lane. */
export const BELOW = 8;

/** Heights of the rulers; each trace with steps gets a row for them. */
export const heights = (sources: Source[]) => {
  const stepped = sources.filter((source) => source.summary.steps.length > 0);
  const top = MINIMAP_HEIGHT + stepped.length * STEPS_HEIGHT + AXIS_HEIGHT;
  return { minimap: MINIMAP_HEIGHT, stepped, axis: top - AXIS_HEIGHT, top };
};

const miniX = (scene: Scene, time: number) =>
  scene.left + ((time - scene.viewport.low) / scene.viewport.length) * (scene.width - scene.left);

/** The whole trace in miniature: how busy it is, where the search matches, and the visible range. */
export function minimap(scene: Scene) {
  const { context, theme, left, width, viewport, matches, sources } = scene;
  context.fillStyle = theme.raised;
  context.fillRect(0, 0, width, MINIMAP_HEIGHT);
  cachedStrips(scene);
  if (matches) {
    context.fillStyle = theme.match;
    matches.minimaps.forEach((minimap, place) => {
      const [from, to] = sources[place].extent;
      const step = (to - from) / minimap.length;
      minimap.forEach((hits, i) => {
        const x = miniX(scene, from + i * step);
        if (hits) context.fillRect(x, 2, Math.max(miniX(scene, from + (i + 1) * step) - x, 1.5), 5);
      });
    });
  }
  const x0 = Math.max(miniX(scene, viewport.start), left);
  const x1 = Math.min(miniX(scene, viewport.end), width);
  context.save();
  context.globalAlpha = theme.dark ? 0.55 : 0.6;
  context.fillStyle = theme.body;
  context.fillRect(left, 0, x0 - left, MINIMAP_HEIGHT);
  context.fillRect(x1, 0, width - x1, MINIMAP_HEIGHT);
  context.restore();
  context.strokeStyle = theme.accent;
  context.lineWidth = 1.5;
  context.strokeRect(x0 + 0.75, 0.75, Math.max(x1 - x0 - 1.5, 2), MINIMAP_HEIGHT - 2);
  minimapLabel(scene);
  context.fillStyle = theme.border;
  context.fillRect(0, MINIMAP_HEIGHT - 1, width, 1);
  context.fillRect(left - 1, 0, 1, scene.pinTop);
}

/** The strips as a cached picture, redrawn only when they change: they are thousands of small rectangles. */
function cachedStrips(scene: Scene) {
  const { strips: cache, ratio, width, theme, viewport, sources } = scene;
  if (!cache) return strips(scene);
  const key = [
    width,
    scene.left,
    ratio,
    theme.dark,
    viewport.low,
    viewport.high,
    ...sources.flatMap((source) => [source.id, source.offset]),
  ].join("|");
  if (cache.key !== key) {
    cache.key = key;
    cache.canvas.width = Math.round(width * ratio);
    cache.canvas.height = Math.round(MINIMAP_HEIGHT * ratio);
    const context = cache.canvas.getContext("2d");
    if (!context) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    strips({ ...scene, context });
  }
  scene.context.drawImage(cache.canvas, 0, 0, width, MINIMAP_HEIGHT);
}

/** One thin strip per lane, more opaque the busier it is. */
function strips(scene: Scene) {
  const { context, theme, sources } = scene;
  const all = sources.flatMap((source) => source.summary.coverage.strips.map((strip) => ({ strip, source })));
  if (!all.length) return;
  const room = MINIMAP_HEIGHT - 14;
  const pitch = Math.min(room / all.length, 9);
  const top = 9 + (room - pitch * all.length) / 2;
  all.forEach(({ strip, source }, row) => {
    const { coverage } = source.summary;
    const x0 = miniX(scene, coverage.start + source.offset);
    const step = (miniX(scene, coverage.end + source.offset) - x0) / strip.busy.length;
    context.fillStyle = theme.kinds[strip.kind] || theme.kinds.other;
    const y = top + row * pitch;
    strip.busy.forEach((busy, i) => {
      if (!busy) return;
      context.globalAlpha = 0.15 + (0.75 * busy) / 100;
      // Edges on whole device pixels avoid seams.
      const from = Math.round((x0 + i * step) * scene.ratio) / scene.ratio;
      const to = Math.max(Math.round((x0 + (i + 1) * step) * scene.ratio) / scene.ratio, from + 1 / scene.ratio);
      context.fillRect(from, y, to - from, Math.max(pitch - 1, 1));
    });
  });
  context.globalAlpha = 1;
}

function minimapLabel(scene: Scene) {
  const { context, theme, left, sources, viewport } = scene;
  context.textBaseline = "middle";
  context.font = `600 12px ${theme.font}`;
  context.fillStyle = theme.text;
  context.fillText(durationText(viewport.length), 10, MINIMAP_HEIGHT / 2 - 7);
  context.font = `400 11px ${theme.font}`;
  context.fillStyle = theme.dimmed;
  const slices = sources.reduce((sum, source) => sum + source.summary.slices, 0);
  const traces = sources.length > 1 ? `${sources.length} traces · ` : "";
  context.fillText(
    timelineText.fit(context, `${traces}${integer(slices)} slice${slices === 1 ? "" : "s"}`, left - 20),
    10,
    MINIMAP_HEIGHT / 2 + 9,
  );
}

export function ruler(scene: Scene) {
  const { context, theme, left, pinTop, width, height, viewport } = scene;
  const size = heights(scene.sources);
  context.fillStyle = theme.body;
  context.fillRect(0, MINIMAP_HEIGHT, width, pinTop - MINIMAP_HEIGHT);
  const { step, first } = format.ticks(viewport.start, viewport.end, (width - left) / TICK_WIDTH);
  const { base, from } = format.tickBase(viewport.start, viewport.end, step);
  context.save();
  context.beginPath();
  context.rect(left, MINIMAP_HEIGHT, width - left, height);
  context.clip();
  context.font = `400 11px ${theme.font}`;
  context.textBaseline = "middle";
  const taken = from ? left + context.measureText(from).width + 22 : left;
  for (let time = first; time <= viewport.end; time += step) {
    const x = Math.round(geometry.xOf(scene, time));
    context.fillStyle = theme.border;
    context.fillRect(x, pinTop - 6, 1, 6);
    context.fillStyle = theme.grid;
    context.fillRect(x, pinTop, 1, height - pinTop);
    context.fillStyle = theme.dimmed;
    const label = format.tickLabel(Math.round(time / step) * step, step, base);
    if (x + 4 >= taken && x + 4 + context.measureText(label).width <= width) {
      context.fillText(label, x + 4, size.axis + 10);
    }
  }
  if (from) {
    // The moment that the labels are relative to.
    context.fillStyle = theme.raised;
    context.beginPath();
    context.roundRect(left + 4, size.axis + 2, taken - left - 12, 16, 8);
    context.fill();
    context.fillStyle = theme.text;
    context.fillText(from, left + 9, size.axis + 10.5);
  }
  size.stepped.forEach((source, row) =>
    steps(scene, source, MINIMAP_HEIGHT + row * STEPS_HEIGHT, STEPS_HEIGHT, scene.sources.length === 1)
  );
  context.restore();
  context.textBaseline = "middle";
  size.stepped.forEach((source, row) => {
    context.font = `400 11px ${theme.font}`;
    context.fillStyle = theme.dimmed;
    const label = scene.sources.length > 1 ? `${source.place + 1} · ${source.summary.label}` : "Steps";
    context.fillText(
      timelineText.fit(context, label, left - 20),
      10,
      MINIMAP_HEIGHT + (row + 0.5) * STEPS_HEIGHT + 0.5,
    );
  });
  context.fillStyle = theme.border;
  context.fillRect(0, pinTop - 1, width, 1);
}

/** Returns where a step's mark begins and ends on the screen. */
function stepPlace(scene: Scene, source: Source, [, , start, length]: Step) {
  return { x0: geometry.xOf(scene, start + source.offset), x1: geometry.xOf(scene, start + length + source.offset) };
}

function steps(
  scene: Scene,
  source: Source,
  y: number,
  height: number,
  lines: boolean,
) {
  const { context, theme, left, width, viewport } = scene;
  let lastX = -Infinity;
  const color = scene.sources.length > 1 ? theme.traces[source.place % theme.traces.length] : theme.accent;
  for (const step of source.summary.steps) {
    const [number, , start, length] = step;
    if (start + source.offset > viewport.end) break;
    if (start + length + source.offset < viewport.start) continue;
    const { x0, x1 } = stepPlace(scene, source, step);
    if (x1 - lastX < 1) continue;
    lastX = x1;
    context.fillStyle = color;
    context.globalAlpha = number % 2 ? 0.13 : 0.24;
    context.fillRect(x0 + 0.5, y + 3, Math.max(x1 - x0 - 1, 1), height - 6);
    context.globalAlpha = 1;
    context.fillStyle = theme.border;
    context.fillRect(Math.round(x0), y, 1, height);
    if (lines) context.fillRect(Math.round(x0), scene.pinTop, 1, scene.height - scene.pinTop);
    const from = Math.max(x0, left) + 6;
    const room = Math.min(x1, width) - from - 6;
    const long = `Step ${number} · ${durationText(length, 3)}`;
    context.fillStyle = theme.text;
    context.font = `500 11px ${theme.font}`;
    // A label with the time needs more space after it than a number alone.
    const full = timelineText.fit(context, long, room - 6);
    const text = full === long ? long : timelineText.fit(context, String(number), room);
    if (text && !text.endsWith("…")) context.fillText(text, from, y + height / 2 + 0.5);
  }
}

/** A step of a trace. */
export interface StepOf {
  source: Source;
  step: Step;
}

/** The step under a point of the rulers. */
export function stepAtPoint(scene: Scene, { x, y }: Point): StepOf | null {
  const { stepped } = heights(scene.sources);
  const source = stepped[Math.floor((y - MINIMAP_HEIGHT) / STEPS_HEIGHT)];
  if (!source || y < MINIMAP_HEIGHT || x < scene.left) return null;
  const time = scene.viewport.start + ((x - scene.left) / (scene.width - scene.left)) * scene.viewport.span -
    source.offset;
  const at = stepAt(source.summary.steps, time);
  return at < 0 ? null : { source, step: source.summary.steps[at] };
}

/**
 * Draws selection, box, area and marks on their own canvas.
 * @param scene with the overlay's context
 */
export function overlay(
  scene: Scene,
  state: { box: [number, number] | null; mark: [number, number] | null; area: Chosen | null; drop: number | null },
) {
  const { context, theme, left, width, height } = scene;
  context.clearRect(0, 0, width, height);
  context.save();
  context.beginPath();
  context.rect(left, MINIMAP_HEIGHT, width - left, height - MINIMAP_HEIGHT);
  context.clip();
  if (state.mark) range(scene, state.mark, theme.accent, 0.1);
  if (state.box) range(scene, state.box, theme.accent, 0.18);
  if (state.area) areaOf(scene, state.area);
  if (scene.selection) outline(scene, scene.selection, theme.accent, 2.25, 1);
  context.restore();
  if (state.drop) {
    context.fillStyle = theme.accent;
    context.fillRect(0, state.drop - 1, left, 2);
  }
}

function outline(
  scene: Scene,
  slice: SelectedSlice,
  color: string,
  width: number,
  alpha: number,
) {
  const { context } = scene;
  const at = geometry.slicePlace(scene, slice, slice.source);
  if (!at) return;
  // The other lanes are hidden beneath the pinned ones.
  const top = at.band.pinned ? scene.pinTop : scene.top;
  if (at.y + at.height < top) return;
  const x0 = Math.max(at.x0, scene.left - 10);
  const x1 = Math.min(at.x1, scene.width + 10);
  if (x1 < scene.left || x0 > scene.width) return;
  context.globalAlpha = alpha;
  context.strokeStyle = color;
  context.lineWidth = width;
  context.beginPath();
  context.roundRect(x0 - 0.5, at.y - 0.5, Math.max(x1 - x0, 2) + 0.5, at.height + 1, 3);
  context.stroke();
  context.globalAlpha = 1;
}

function range(scene: Scene, times: [number, number], color: string, alpha: number) {
  const { context, height } = scene;
  const [a, b] = times[0] <= times[1] ? times : [times[1], times[0]];
  const x0 = geometry.xOf(scene, a);
  const x1 = geometry.xOf(scene, b);
  context.fillStyle = color;
  context.globalAlpha = alpha;
  context.fillRect(x0, MINIMAP_HEIGHT, Math.max(x1 - x0, 1), height);
  context.globalAlpha = 1;
  context.fillRect(x0, MINIMAP_HEIGHT, 1, height);
  context.fillRect(x1, MINIMAP_HEIGHT, 1, height);
  label(scene, x0, x1, color, durationText(b - a));
}

/** A label on the time axis over a range. */
function label(
  scene: Scene,
  x0: number,
  x1: number,
  color: string,
  text: string,
) {
  const { context, theme, width, left } = scene;
  context.font = `600 11px ${theme.font}`;
  const w = context.measureText(text).width + 14;
  const x = Math.min(Math.max((x0 + x1) / 2 - w / 2, left + 4), width - w - 4);
  const y = scene.pinTop - AXIS_HEIGHT + 3;
  context.fillStyle = color;
  context.beginPath();
  context.roundRect(x, y, w, 18, 9);
  context.fill();
  context.fillStyle = theme.body;
  context.textBaseline = "middle";
  context.fillText(text, x + 7, y + 9.5);
}

/** Marks what is under the mouse with page elements, which move without redrawing the canvas. */
export function pointer(
  scene: Scene,
  line: HTMLElement,
  frame: HTMLElement,
  cursor: Point | null,
  hover: DrawnSlice | null,
) {
  const inside = cursor && cursor.x >= scene.left && cursor.y > MINIMAP_HEIGHT;
  line.style.visibility = inside ? "visible" : "hidden";
  if (inside) line.style.transform = `translateX(${Math.round(cursor.x)}px)`;
  const at = hover && geometry.slicePlace(scene, hover, hover.source);
  const top = at ? Math.max(at.y, at.band.pinned ? scene.pinTop : scene.top) : 0;
  const x0 = at ? Math.max(at.x0, scene.left) : 0;
  const x1 = at ? Math.min(at.x1, scene.width) : -1;
  const bottom = at ? Math.min(at.y + at.height, scene.height) : 0;
  frame.style.visibility = at && x1 >= x0 && bottom > top ? "visible" : "hidden";
  if (!at || x1 < x0) return;
  frame.style.transform = `translate(${x0 - 1}px, ${top - 1}px)`;
  frame.style.width = `${Math.max(x1 - x0, 2)}px`;
  frame.style.height = `${bottom - top}px`;
}

/** The selected area: a time range over some lanes. */
function areaOf(scene: Scene, area: Chosen) {
  const { context, theme } = scene;
  const [a, b] = area.times[0] <= area.times[1] ? area.times : [area.times[1], area.times[0]];
  const x0 = geometry.xOf(scene, a);
  const x1 = geometry.xOf(scene, b);
  for (const pinned of [true, false]) {
    const [top, bottom] = pinned ? [scene.pinTop, scene.top] : [scene.top, scene.height];
    for (const band of geometry.visibleBands(scene, pinned)) {
      if (!area.bands.has(band.id)) continue;
      const y = Math.max(geometry.bandY(scene, band), top);
      const height = Math.min(geometry.bandY(scene, band) + band.height, bottom) - y;
      context.fillStyle = theme.accent;
      context.globalAlpha = 0.14;
      context.fillRect(x0, y, Math.max(x1 - x0, 1), height);
      context.globalAlpha = 1;
      context.fillRect(x0, y, 1, height);
      context.fillRect(x1, y, 1, height);
    }
  }
  label(scene, x0, x1, theme.accent, durationText(b - a));
}

/** Where the scrollbar is, or null if everything is in view. */
export function scrollbarPlace(scene: Scene) {
  const room = scene.height - scene.top;
  const content = scene.rows.height + BELOW;
  if (content <= room) return null;
  const length = Math.max((room / content) * room, 28);
  const y = scene.top + (scene.scroll / (content - room)) * (room - length);
  return { x: scene.width - 10, y, width: 8, height: length, travel: room - length };
}

export function scrollbar(scene: Scene) {
  const bar = scrollbarPlace(scene);
  if (!bar) return;
  const { context, theme } = scene;
  context.fillStyle = theme.dimmed;
  context.globalAlpha = 0.45;
  context.beginPath();
  context.roundRect(bar.x, bar.y + 2, bar.width - 2, bar.height - 4, 3);
  context.fill();
  context.globalAlpha = 1;
}
