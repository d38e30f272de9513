// Values among all points of thinned lines, not only the drawn ones: the server is asked for those at one place.
import type { ValuesAnswer } from "./messages.generated.ts";
import { type Row, rowsAt } from "./rows.ts";
import { api, type Card, state, weightOf } from "./state.ts";

const MOST_PLACES = 16;

type Reported = ValuesAnswer["points"];

/** By card: the answers for its latest version, by place, the most recently used last. */
const known: WeakMap<Card, { version: string; places: Map<number, Reported> }> = new WeakMap();
const listeners: ((card: Card) => void)[] = [];
/** The latest place requested while another request was under way. */
let waiting: { card: Card; x: number } | null = null;
let asking = false;

/** Calls back when the rows of a card become more exact. */
export const onAnswer = (listener: (card: Card) => void): void => void listeners.push(listener);

/** One row for each line of a card: its point nearest to x, among all its points once the server has answered. */
export const rowsOf = (card: Card, x: number): Row[] =>
  card.chart ? rowsAt(card.chart, card.plot, x, toldAt(card, x), weightOf(card.key)) : [];

/** The points at `x` of the lines that are drawn with only some of their points; null until they arrive. */
function toldAt(card: Card, x: number): Reported | null {
  if (!card.chart?.lines.some((line) => line.mean)) return null;
  const answered = known.get(card);
  const points = answered?.version === card.version ? answered.places.get(x) : undefined;
  if (points === undefined) void ask(card, x);
  else if (answered?.places.delete(x)) answered.places.set(x, points);
  return points ?? null;
}

async function ask(card: Card, x: number) {
  if (asking) return void (waiting = { card, x });
  asking = true;
  const { key, version } = card;
  // A failed request is not repeated: the table stays as it is.
  const { points } = await api().ask<ValuesAnswer>("values", {}, { body: { view: state.query, key, x } })
    .catch(() => ({ points: {} }));
  const old = known.get(card);
  const places: Map<number, Reported> = old?.version === version ? old.places : new Map();
  if (places.size >= MOST_PLACES) places.delete([...places.keys()][0]);
  known.set(card, { version, places: places.set(x, points) });
  asking = false;
  for (const listener of listeners) listener(card);
  const next = waiting;
  waiting = null;
  if (next?.card.element.isConnected) toldAt(next.card, next.x);
}
