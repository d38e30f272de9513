// @ts-nocheck
// Values of all points of thinned lines, not only of those that are drawn: the server is asked for those at one place.
import { curveCards } from "./cards.ts";
import { curveDock } from "./marks_table.ts";
import { curveTable } from "./table.ts";

const MOST_PLACES = 16;

/** By card: what was answered for its latest version, x -> line id -> point. */
const known: WeakMap<any, { version: string; places: Map<number, any> }> = new WeakMap();
/** The latest place that was asked for while another one was under way. */
let waiting = null;
let asking = false;

/** The points at `x` of the lines that are drawn by some of their points; null until they are here. */
export function at(card, x) {
  if (!card.chart.lines.some((line) => line.mean)) return null;
  const answered = known.get(card);
  const points = answered && answered.version === card.version ? answered.places.get(x) : undefined;
  if (points === undefined) ask(card, x);
  return points || null;
}

async function ask(card, x) {
  if (asking) return void (waiting = { card, x });
  asking = true;
  const { key, version } = card;
  try {
    const body = JSON.stringify({ view: curveCards.query(), key, x });
    const answer = await fetch(`/api/${curveCards.panel()}/values`, { method: "POST", body });
    // What cannot be had is not asked for again: the table stays as it is.
    const points = answer.ok ? (await answer.json()).points : {};
    const old = known.get(card);
    const places = old && old.version === version ? old.places : new Map();
    if (places.size >= MOST_PLACES) places.delete(places.keys().next().value);
    known.set(card, { version, places: places.set(x, points) });
    curveTable.refresh();
    curveDock.place(card);
  } catch {
    // The server is gone, which the page says elsewhere.
  } finally {
    asking = false;
    const next = waiting;
    waiting = null;
    if (next && next.card.element.isConnected) at(next.card, next.x);
  }
}
