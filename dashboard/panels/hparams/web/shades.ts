/** The distribution of all sessions when charts draw only some: the server counts them in bins of two columns. */
import type { Column } from "../../../web/core/binary.ts";
import { Api, isAbort, messageOf } from "../../../web/core/request.ts";
import { counted } from "../../../web/core/numbers.ts";
import { view } from "../../../web/page/view.ts";
import { alphaOf, type Bins, binsOf, isCounted, outside, type Side } from "./density.ts";
import { ink } from "./drawing.ts";
import type { SentDensity } from "./messages.generated.ts";
import type { Data } from "./payload.ts";
import { data, redraw, setEnds } from "./state.ts";

/** The number of sessions in each pair of bins of two columns; the last bin of each is for those without a place. */
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

/** Whether charts show the distribution of all sessions. */
export const hasShades = (): boolean => known?.of === data();

/** The rows a chart draws, in words: all, or some over a shade. */
export const rowsDrawn = (first: ReadonlySet<number> | null): string =>
  first
    ? `the first ${counted(first.size, "row")}, over a shaded density of all sessions`
    : counted(data().rows.length, "row");

/** Increases whenever charts have something new to show. */
export const shadesVersion = (): number => version;

/**
 * The shades of pairs of columns over all sessions; null if charts draw all sessions, and until the server has counted
 * them. A pair is null if one of its columns has too many texts or no number.
 * @param pairs indices in `sides`
 */
export function shadesOf(
  sides: readonly Side[],
  pairs: readonly [number, number][],
  most: number,
): (Shade | null)[] | null {
  const of = data();
  const counted = pairs.filter((pair) => pair.every((at) => isCounted(sides[at].scale)));
  if (of.whole_table || of.loading || !counted.length) return null;
  const used = [...new Set(counted.flat())];
  const bins = new Map(used.map((at) => [at, binsOf(sides[at], most)]));
  const body = {
    axes: [...bins.values()].map(({ asked }) => asked),
    pairs: counted.map((pair) => pair.map((at) => used.indexOf(at))),
  };
  const key = JSON.stringify(body);
  if (known?.key !== key || known.of !== of) void ask(key, of, sides, body);
  if (known?.key !== key) return null;
  const { counts } = known;
  return pairs.map((pair) => {
    const [first, second] = pair.map((at) => bins.get(at));
    const at = counted.indexOf(pair);
    return at >= 0 && first && second ? { counts: counts[at], first, second } : null;
  });
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
    // Axes that are too short for all sessions are redrawn and recounted.
    if (data() === of) setEnds(outside(sides, ends));
    redraw();
  } catch (error) {
    // Charts stay as they are: the next data triggers another request.
    if (!isAbort(error)) console.warn(messageOf(error));
  }
}

/** Draws pixel strengths in a page color, stronger for more sessions. */
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
