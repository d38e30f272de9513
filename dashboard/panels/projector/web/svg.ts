/** The view as an SVG document: circles and texts, or an image of the points if there are too many. */
import { integer } from "../../../web/core/numbers.ts";
import * as axes from "./axes.ts";
import * as labels from "./labels.ts";
import { paper } from "./canvas.ts";
import { LEVELS, type Lines, mixed, Raster } from "./raster.ts";
import type { Pen } from "../../../web/lines/pen.ts";
import { SvgPen } from "../../../web/lines/svg_pen.ts";
import type { View } from "./view.ts";
import type { ViewTheme } from "./view_theme.ts";

const MOST_CIRCLES = 50e3;
const SLICES = 12; // of depth: within each, circles of one color are grouped
const ROW = 17; // pixels per line of the legend
const MOST_ENTRIES = 40;
const TITLE = 30;

export interface LegendEntry {
  label: string;
  color: string;
}
export interface Legend {
  title: string;
  entries: LegendEntry[];
}
/** The surroundings of the points of a picture. */
export interface Around {
  title?: string;
  legend?: Legend | LegendEntry[] | null;
}

export function legendOf(legend: Around["legend"]): Legend | null {
  const found = Array.isArray(legend) ? { title: "", entries: legend } : legend;
  return found?.entries.length ? found : null;
}

const hex = (pixel: number) =>
  `#${[0, 8, 16].map((by) => ((pixel >>> by) & 255).toString(16).padStart(2, "0")).join("")}`;
const short = (value: number) => String(Math.round(value * 100) / 100);

/** Paints title and legend, with either pen. */
export function paintAround(pen: Pen, view: View, theme: ViewTheme, title: string, legend: Legend | null) {
  if (title) pen.text(12, TITLE / 2 + 2, title, { color: theme.ink, size: 14, weight: 600 });
  if (!legend) return;
  const entries = legend.entries.slice(0, MOST_ENTRIES);
  const longest = Math.max(legend.title.length, ...entries.map((entry) => Math.min(34, entry.label.length)));
  const width = Math.min(260, 34 + longest * 6.4);
  const height = 10 +
    ROW * (entries.length + (legend.title ? 1 : 0) + (legend.entries.length > entries.length ? 1 : 0));
  const [x, top] = [view.width - width - 10, title ? TITLE + 8 : 10];
  pen.rect({ x, y: top, w: width, h: height }, { fill: theme.background, opacity: 0.85 });
  let y = top + 5 + ROW / 2;
  if (legend.title) {
    pen.text(x + 10, y, legend.title, { color: theme.ink, size: 11.5, weight: 600 });
    y += ROW;
  }
  for (const { label, color } of entries) {
    pen.disc(x + 15, y, 4.5, { fill: color });
    pen.text(x + 26, y, labels.shortened(label), { color: theme.ink, size: 11.5 });
    y += ROW;
  }
  if (legend.entries.length > entries.length) {
    pen.text(x + 26, y, `and ${legend.entries.length - entries.length} more`, { color: theme.dim, size: 11.5 });
  }
}

export function make(view: View, { title = "", legend = null }: Around): string {
  view.current();
  const { theme, width, height } = view;
  const raster = new Raster();
  view.paintOn(raster, Math.round(width), Math.round(height), 1, theme, { every: 1, smooth: true });
  const pen = new SvgPen(width, height, theme.font);
  pen.rect({ x: 0, y: 0, w: width, h: height }, { fill: theme.background });
  if (raster.painted > MOST_CIRCLES || view.pictures) picture(pen, view, raster);
  else {
    pen.parts.push(
      `<clipPath id="cloud"><rect width="${short(width)}" height="${
        short(height)
      }"/></clipPath><g clip-path="url(#cloud)">`,
    );
    axisLines(pen, view, theme);
    sequences(pen, view, theme);
    circles(pen, view, raster, theme);
    bonds(pen, view, theme);
    pen.parts.push("</g>");
  }
  texts(pen, view, raster, theme);
  paintAround(pen, view, theme, title, legendOf(legend));
  return pen.toString();
}

/** Adds the points as an image at twice the size. */
function picture(pen: SvgPen, view: View, raster: Raster) {
  const scale = 2;
  const large = new Raster();
  const context = paper(Math.round(view.width * scale), Math.round(view.height * scale));
  const { canvas } = context;
  view.paintOn(large, canvas.width, canvas.height, scale, view.theme, { every: 1, smooth: true });
  large.put(context);
  const why = view.pictures ? "points shown as images" : `${integer(raster.painted)} points`;
  pen.parts.push(
    `<!-- The ${why} are an image, as circles of more than ${
      integer(MOST_CIRCLES)
    } points make a document that few programs open. -->`,
  );
  pen.tag("image", { x: 0, y: 0, width: view.width, height: view.height, href: canvas.toDataURL("image/png") });
}

/** Adds circles from back to front: in slices of depth, and by color within each. */
function circles(pen: SvgPen, view: View, raster: Raster, theme: ViewTheme) {
  const { cloud } = view;
  const look = view.lookFor(1, theme, { every: 1, smooth: true });
  let groups: Map<string, string[]> = new Map();
  let slice = -1;
  const flush = () => {
    for (const [style, list] of groups) pen.parts.push(`<g ${style}>${list.join("")}</g>`);
    groups = new Map();
  };
  for (let n = 0; n < raster.painted; n += 1) {
    const row = raster.order[n];
    const level = raster.level[row];
    const here = Math.floor((level * SLICES) / LEVELS);
    if (here !== slice) flush();
    slice = here;
    const layer = Math.floor(level / LEVELS);
    const middle = Math.min(LEVELS - 1, Math.floor((((here % SLICES) + 0.5) * LEVELS) / SLICES));
    const color = layer === 2 ? cloud.colors[row] : mixed(cloud.colors[row], look.background, raster.fogs[middle]);
    const alpha = ((cloud.colors[row] >>> 24) / 255) * (layer === 0 ? 0.17 : layer === 1 ? look.opacity : 1);
    const ring = layer === 2 ? ` stroke="${hex(look.rings[cloud.marks[row]])}" stroke-width="${look.ring}"` : "";
    const style = `fill="${hex(color)}"${alpha < 0.995 ? ` fill-opacity="${short(alpha)}"` : ""}${ring}`;
    const list = groups.get(style) ?? [];
    if (!list.length) groups.set(style, list);
    list.push(
      `<circle cx="${short(raster.x[row])}" cy="${short(raster.y[row])}" r="${
        short(raster.radiusOf(row, cloud.sizes) + (ring ? look.ring / 2 : 0))
      }"/>`,
    );
  }
  flush();
}

function axisLines(pen: SvgPen, view: View, theme: ViewTheme) {
  const found: number[][] = [];
  const sink: Lines = { line: (...ends) => void found.push(ends.slice(0, 4)) };
  axes.paint(sink, view.projectionFor(), { axes: view.axes, grid: view.grid, frame: view.frame, color: 0, ratio: 1 });
  pen.segments(found, { color: theme.dim, opacity: view.axes ? 0.5 : 0.25 });
}

/** Adds lines by color. */
function sequences(pen: SvgPen, view: View, theme: ViewTheme) {
  const groups: Map<string, number[][]> = new Map();
  const sink: Lines = {
    line: (a, b, c, d, color, alpha) => {
      const key = `${hex(color)} ${alpha}`;
      const list = groups.get(key) ?? [];
      if (!list.length) groups.set(key, list);
      list.push([a, b, c, d]);
    },
  };
  view.paintLines(sink, view.projectionFor(), theme, 1);
  for (const [key, list] of groups) {
    const [color, alpha] = key.split(" ");
    pen.segments(list, { color, opacity: Number(alpha) / 64 });
  }
}

function bonds(pen: SvgPen, view: View, theme: ViewTheme) {
  for (const { line, opacity } of view.bonds()) pen.segments([line], { color: theme.accent, opacity });
}

/** Adds axis names and labels, each with a halo. */
function texts(pen: SvgPen, view: View, raster: Raster, theme: ViewTheme) {
  pen.parts.push(
    `<g stroke="${hex(theme.pixels.background)}" stroke-width="3.5" stroke-linejoin="round" paint-order="stroke">`,
  );
  for (const { text, x, y, align } of axes.names(view.projectionFor(), view)) {
    pen.text(x, y, text, { color: theme.dim, size: 11, align });
  }
  for (const { row, x, y } of view.layLabels(raster, 1, false)) {
    pen.text(x, y, view.labels.textOf(row), { color: theme.ink, size: labels.SIZE, weight: 500 });
  }
  pen.parts.push("</g>");
}
