/** Drawing tools shared by both charts: canvases, page and row colors, column scales, and the tooltip. */
import { integer } from "../../../web/core/numbers.ts";
import { css, scaleOf as colorScale } from "../../../web/core/color.ts";
import { make, runLabel, within as isWithin } from "../../../web/core/dom.ts";
import { FINGER, isStill } from "../../../web/core/taps.ts";
import { view } from "../../../web/page/view.ts";
import type { Cell, Row, ShownColumn } from "./payload.ts";
import { kindAfter, type Scale, scaleFor, short } from "./scales.ts";
import { settings } from "./settings.generated.ts";
import { columns, data, extentOf, pairs, scheme, setPairs, update } from "./state.ts";

const MOST_TIP = 24;

/** Creates a canvas with a size in CSS pixels, sharp on every screen; returns its context. */
export function canvas(width: number, height: number, className: string): CanvasRenderingContext2D {
  const element = make("canvas", { className });
  const density = window.devicePixelRatio || 1;
  element.width = Math.round(width * density);
  element.height = Math.round(height * density);
  element.style.width = width + "px";
  element.style.height = height + "px";
  const context = element.getContext("2d");
  if (!context) throw new Error("The browser cannot draw on a canvas.");
  context.scale(density, density);
  context.font = "11px ui-sans-serif, system-ui, -apple-system, 'Segoe UI', Roboto, Arial, sans-serif";
  return context;
}

export const ink = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

/** The position of an event within a box. */
export function within(box: HTMLElement, event: MouseEvent): [number, number] {
  const corner = box.getBoundingClientRect();
  return [event.clientX - corner.left, event.clientY - corner.top];
}

/** The scale of a column over all sessions: the user's choice, or else a suitable one. */
export const scaleOf = (column: ShownColumn): Scale =>
  scaleFor(column, extentOf(column), pairs(settings.scale).get(column.key));

/** Switches a column to the next of the three scales. */
export function nextScale(column: ShownColumn): void {
  const scales = pairs(settings.scale).set(column.key, kindAfter(scaleOf(column).kind));
  update((set) => setPairs(set, settings.scale, scales));
}

// --- colors -----------------------------------------------------------------------------------------------

// Viridis without the end that would blend into the background.
const SHADES = {
  light: colorScale([[59, 33, 122], [47, 93, 159], [31, 142, 141], [65, 178, 98], [176, 194, 12]]),
  dark: colorScale([[108, 92, 190], [64, 130, 200], [45, 175, 165], [115, 208, 86], [253, 231, 37]]),
};
const MISSING = { light: "#a2a9b4", dark: "#666e7a" };

/** A color between the two ends of the shades; `place` is from 0 to 1. */
export const shade = (place: number): string => css(SHADES[scheme()](place));

/** What colors represent: a column on its scale, or the runs themselves. */
export interface Coloring {
  key: string;
  scale: Scale | null;
  /** One color for each row. */
  colors: string[];
  /** The color of a category. */
  hue: (value: Cell) => string;
}

export function coloring(): Coloring {
  const { rows, target, palette } = data();
  const now = scheme();
  const key = view.read(settings.color) || target;
  const find = (wanted: string) => columns().find((one) => one.key === wanted);
  const column = key === "@run" ? undefined : find(key) ?? find(target);
  if (!column) return { key: "@run", scale: null, colors: rows.map((row) => row[now]), hue: () => MISSING[now] };
  const scale = scaleOf(column);
  const hue = (value: Cell) => {
    const at = Math.max(0, scale.labels.indexOf(String(value)));
    return palette[at % palette.length][now === "dark" ? 1 : 0];
  };
  const colors = rows.map(({ v }) => {
    const place = scale.place(v[column.place]);
    if (Number.isNaN(place)) return MISSING[now];
    return scale.kind === "category" ? hue(v[column.place]) : shade(place);
  });
  return { key: column.key, scale, colors, hue };
}

// --- tooltip -----------------------------------------------------------------------------------------------

const tip = make("div", { className: "hparams-tip", role: "tooltip" });

export function hideTip(): void {
  tip.hidden = true;
}

/** How far from the pointer a row may be: a finger is wider than a mouse. */
export const reachOf = (event: PointerEvent, pixels: number): number => event.pointerType === "touch" ? FINGER : pixels;

/** Removes what a tap has shown, once another tap is elsewhere. */
let endTap: (() => void) | null = null;

/**
 * Handles taps on a chart: `show` returns the row at the tap, and a second tap on the row shown calls `act`.
 * @param shown the row currently shown, -1 for none
 */
export function onTaps(
  box: HTMLElement,
  shown: () => number,
  show: (event: PointerEvent) => number,
  hide: (event: PointerEvent) => void,
  act: (row: number, event: PointerEvent) => void,
): void {
  let before = -1;
  box.addEventListener("pointerdown", () => (before = shown()));
  box.addEventListener("pointerup", (event) => {
    if (event.pointerType !== "touch" || !isStill(event)) return;
    const row = show(event);
    endTap = () => hide(event);
    if (row >= 0 && row === before) {
      hide(event);
      act(row, event);
    }
  });
}
document.addEventListener("pointerdown", (event) => {
  if (!endTap || isWithin(event, ".hparams-parallel, .hparams-scatter")) return;
  endTap();
  endTap = null;
}, true);

/** Shows all values of a row beside the pointer; `keys` are the columns under the pointer. */
export function showTip(row: Row, keys: string[], event: MouseEvent): void {
  if (!tip.isConnected) document.body.append(tip);
  const reported = columns().filter((column) => row.v[column.place] !== null || column.key in row.several);
  const lines = reported.slice(0, MOST_TIP).map((column) => {
    const step = row.s[column.place];
    return make(
      "tr",
      { className: keys.includes(column.key) ? "on" : "" },
      make("th", {}, column.label),
      make("td", {}, row.several[column.key] || short(row.v[column.place])),
      make("td", { className: "dim" }, step === null ? "" : `step ${integer(step)}`),
    );
  });
  const run = row.n > 1 ? `${row.id} (${row.n} sessions)` : row.id;
  tip.replaceChildren(runLabel({ ...row, run }), make("table", {}, ...lines));
  if (reported.length > MOST_TIP) {
    tip.append(make("div", { className: "dim" }, `and ${reported.length - MOST_TIP} more`));
  }
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const { clientX: x, clientY: y } = event;
  tip.style.left = Math.max(4, x + 16 + width > innerWidth ? x - 16 - width : x + 16) + "px";
  tip.style.top = Math.max(4, Math.min(y + 12, innerHeight - height - 4)) + "px";
}
