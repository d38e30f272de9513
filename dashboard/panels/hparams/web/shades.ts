/** Where all sessions lie, where charts draw only some: the server counts them in bins of two columns. */
import type { Column } from "../../../web/core/binary.ts";
import { Api, isAbort, messageOf } from "../../../web/core/request.ts";
import { view } from "../../../web/page/view.ts";
import { alphaOf, type Bins, binsOf, outside, type Side } from "./density.ts";
import { ink } from "./drawing.ts";
import type { SentDensity } from "./messages.generated.ts";
import type { Data } from "./payload.ts";
import { data, redraw, setEnds } from "./state.ts";

/** Labels of a column that the server counts at most. */
const MOST_LABELS = 512;

/** How many sessions there are in each two bins of a pair; the last of either is for those without a place. */
export interface Shade {
  counts: Column;
  first: Bins;
  second: Bins;
}

interface Known {
  key: string;
  of: Data;
  counts: Column[];
}

const api = new Api("api/hparams");
let known: Known | null = null;
let asking: { key: string; of: Data; aborting: AbortController } | null = null;
let version = 0;

/** Whether charts show where all sessions lie. */
export const hasShades = (): boolean => known?.of === data();

/** Which rows a chart draws, in words: all, or some over a shade. */
export const rowsDrawn = (first: ReadonlySet<number> | null): string =>
  first ? `the first ${first.size} rows, and a shade of all sessions` : `${data().rows.length} rows`;

/** Grows whenever charts have something new to show. */
export const shadesVersion = (): number => version;

/**
 * The shades of pairs of columns over all sessions; none where charts draw all of these, and until the server has
 * counted.
 * @param pairs places in `sides`
 */
export function shadesOf(sides: readonly Side[], pairs: readonly [number, number][], most: number): Shade[] | null {
  const of = data();
  const isCounted = sides.every(({ scale: { labels, ticks } }) => labels.length <= MOST_LABELS && ticks.length);
  if (of.whole_table || of.loading || !pairs.length || !isCounted) return null;
  const bins = sides.map((side) => binsOf(side, most));
  const body = { axes: bins.map(({ asked }) => asked), pairs };
  const key = JSON.stringify(body);
  if (known?.key !== key || known.of !== of) void ask(key, of, sides, body);
  if (known?.key !== key) return null;
  const { counts } = known;
  return pairs.map(([a, b], at) => ({ counts: counts[at], first: bins[a], second: bins[b] }));
}

async function ask(key: string, of: Data, sides: readonly Side[], body: object): Promise<void> {
  if (asking?.key === key && asking.of === of) return;
  asking?.aborting.abort();
  const own = asking = { key, of, aborting: new AbortController() };
  try {
    const how = { body: { view: view.query(), ...body }, signal: own.aborting.signal };
    const { arrays, ends } = await api.ask<SentDensity & { arrays: Column[] }>("density", {}, how);
    known = { key, of, counts: arrays };
    version += 1;
    // Axes that are too short for all are drawn, and counted, again.
    if (data() === of) setEnds(outside(sides, ends));
    redraw();
  } catch (error) {
    // Charts stay as they are: the next data ask again.
    if (!isAbort(error)) console.warn(messageOf(error));
  }
}

/** Draws strengths of pixels in a color of the page, those of many sessions stronger. */
export function drawStrengths(
  context: CanvasRenderingContext2D,
  strengths: Float32Array,
  width: number,
  most: number,
  x: number,
): void {
  const height = strengths.length / width;
  const image = new ImageData(width, height);
  strengths.forEach((strength, at) => {
    if (strength > 0) image.data[4 * at + 3] = Math.round(255 * alphaOf(strength, most));
  });
  const layer = document.createElement("canvas");
  [layer.width, layer.height] = [width, height];
  const own = layer.getContext("2d");
  if (!own) return;
  own.putImageData(image, 0, 0);
  own.globalCompositeOperation = "source-in";
  own.fillStyle = ink("ink-soft");
  own.fillRect(0, 0, width, height);
  context.drawImage(layer, x, 0);
}
