/** Draws the names of processes, lanes and counters. */
import * as format from "./format.ts";
import * as geometry from "./geometry.ts";
import * as text from "../../../web/core/canvas_text.ts";
import { shortNames } from "../../../web/core/names.ts";
import type { Scene } from "./geometry.ts";
import type { Band, Rows } from "./layout.ts";
import type { Theme } from "./theme.ts";

/** The column of names on the left. */
function labels(scene: Scene) {
  column(scene, false, scene.top, scene.height);
  if (scene.top > scene.pinTop) column(scene, true, scene.pinTop, scene.top);
}

function column(scene: Scene, pinned: boolean, top: number, bottom: number) {
  const { context, theme, left, width } = scene;
  const { visibleBands, bandY } = geometry;
  const bands = visibleBands(scene, pinned);
  context.save();
  context.beginPath();
  context.rect(0, top, width, bottom - top);
  context.clip();
  context.fillStyle = theme.body;
  context.fillRect(0, top, left, bottom - top);
  context.textBaseline = "middle";
  for (const band of bands) {
    const y = bandY(scene, band);
    if (band.type === "group" || band.type === "trace") {
      context.fillStyle = band.type === "trace" ? theme.strong : theme.raised;
      context.fillRect(0, y, left, band.height);
    } else labelOf(scene, band, y, top);
    context.fillStyle = theme.grid;
    context.fillRect(0, Math.round(y + band.height) - 1, left, 1);
  }
  context.fillStyle = theme.border;
  context.fillRect(left - 1, top, 1, bottom - top);
  // A group's own row contains nothing else, so its name may extend past the line.
  for (const band of bands) {
    if (band.type === "group" || band.type === "trace") labelOf(scene, band, bandY(scene, band), top);
  }
  context.restore();
}

function nameOf(scene: Scene, band: Band): string {
  const name = band.pinned ? band.full : band.label;
  return band.pinned && scene.sources.length > 1 ? `${band.source.place + 1}: ${name}` : name;
}

/** Lane names shortened to fit, by the rows they belong to. */
const shortened = new WeakMap<Rows, Map<string, ReadonlyMap<string, string>>>();

/** The texts of all lanes and counters in the canvas's font: texts of visible ones only would change on scrolling. */
function shortOf(scene: Scene, pinned: boolean, room: number): ReadonlyMap<string, string> {
  const { rows, context } = scene;
  const known = shortened.get(rows) ?? new Map<string, ReadonlyMap<string, string>>();
  shortened.set(rows, known);
  const key = `${pinned} ${room}`;
  const bands = (pinned ? rows.pinned : rows.bands).filter(({ type }) => type === "lane" || type === "counter");
  const found = known.get(key) ??
    shortNames(bands.map((band) => nameOf(scene, band)), room, (name) => text.measure(context, name));
  known.set(key, found);
  return found;
}

function labelOf(scene: Scene, band: Band, y: number, top: number) {
  const { context, theme, left } = scene;
  const head = band.type === "group" || band.type === "trace";
  // A tall lane's name stays in view while its lower rows scroll past.
  const middle = head ? y + band.height / 2 : Math.min(Math.max(y, top) + 13, y + band.height - 10);
  let x = head ? 10 : 24;
  if (band.pinned) x = 8;
  if (band.foldable) chevron(context, theme.dimmed, x + 3, middle, band.folded);
  x += head ? 14 : 12;
  if (band.type === "lane" || band.type === "trace") {
    context.fillStyle = band.type === "trace"
      ? theme.traces[band.source.place % theme.traces.length]
      : theme.kinds[band.kind] || theme.kinds.other;
    context.beginPath();
    context.arc(x + 2, middle, band.type === "trace" ? 4 : 2.5, 0, 7);
    context.fill();
    x += band.type === "trace" ? 12 : 10;
  }
  context.font = `${head ? 600 : 400} 12px ${theme.font}`;
  context.fillStyle = head || band.type === "lane" ? theme.text : theme.dimmed;
  const room = (head ? scene.width - 16 : left) - x - 10;
  const name = nameOf(scene, band);
  const shown = head ? text.fit(context, name, room) : shortOf(scene, band.pinned, room).get(name) ?? name;
  context.fillText(shown, x, middle + 0.5);
  if (band.type === "counter") {
    const meta = band.source.summary.counters[band.counter];
    context.fillStyle = theme.dimmed;
    context.font = `400 10.5px ${theme.font}`;
    const most = meta.max === null ? "no numbers" : `max ${format.quantity(band.full, meta.max)}`;
    context.fillText(text.fit(context, most, left - x - 10), x, middle + 15);
  }
}

/** Where a lane name's text begins, plus the space left free after it. */
const BESIDE = 46 + 14;
const MOST_MEASURED = 2000;

/** The column width, in pixels, at which all names of lanes and counters can be read. */
function needed(context: CanvasRenderingContext2D, { font }: Theme, bands: readonly Band[]): number {
  context.save();
  context.font = `400 12px ${font}`;
  let widest = 0;
  for (const band of bands.slice(0, MOST_MEASURED)) {
    if (band.type !== "lane" && band.type !== "counter") continue;
    widest = Math.max(widest, context.measureText(band.pinned ? band.full : band.label).width);
  }
  context.restore();
  return Math.ceil(widest) + BESIDE;
}

function chevron(
  context: CanvasRenderingContext2D,
  color: string,
  x: number,
  y: number,
  folded: boolean,
) {
  context.strokeStyle = color;
  context.lineWidth = 1.5;
  context.beginPath();
  if (folded) {
    context.moveTo(x - 1.5, y - 3.5);
    context.lineTo(x + 2, y);
    context.lineTo(x - 1.5, y + 3.5);
  } else {
    context.moveTo(x - 3.5, y - 1.5);
    context.lineTo(x, y + 2);
    context.lineTo(x + 3.5, y - 1.5);
  }
  context.stroke();
}

export { labels as draw, needed };
