/** The cards of the page, and which step and sample each of them shows. */
import { joined, nearest, type Point } from "../../../web/core/steps.ts";
import type { Setting } from "../../../web/core/setting.ts";
import type { FilmStrip } from "./film_strip.ts";
import type { CardData, CardSeries } from "./messages.generated.ts";
import { settings } from "./settings.generated.ts";
import { read, write } from "./settings.ts";
import type { Stepper } from "./stepper.ts";
import type { Tile } from "./tiles.ts";

export interface Series extends Omit<CardSeries, "steps"> {
  points: Point[];
}

/** The inside of a card on the page. */
export interface Parts {
  body: HTMLElement;
  group: CardData["group"];
  stepper: Stepper;
  /** says the step where one stepper moves all cards */
  linkedAt: HTMLElement;
  samples: HTMLElement;
  sampleAt: HTMLElement;
  /** holds the tiles, or the film strips */
  box: HTMLElement;
  /** by run and tag; empty in film strips */
  tiles: Map<string, { tile: Tile; other: HTMLElement }>;
  strip: FilmStrip | null;
}
export interface Card {
  /** "tag:TAG" or "run:RUN" */
  key: string;
  data: CardData | null;
  series: Series[];
  /** all steps of all series */
  positions: Point[];
  /** width by height of its pictures; 0 while it is not known */
  ratio: number;
  parts: Parts | null;
}

const cards: Map<string, Card> = new Map();
/** Step and repeat that the user chose, by card; where there is none the newest is shown. */
const chosen: Map<string, [number, number]> = new Map();
const samples: Map<string, number> = new Map();
let readFromUrl = false;

/** The card of a key, a new one where there is none yet. */
export function cardOf(key: string): Card {
  let card = cards.get(key);
  if (!card) cards.set(key, card = { key, data: null, series: [], positions: [], ratio: 0, parts: null });
  return card;
}

/** The inside of a card that is on the page and has something to show. */
export const partsOf = (card: Card): Parts | null =>
  card.parts?.body.isConnected && card.positions.length ? card.parts : null;
export const mounted = (): Card[] => [...cards.values()].filter(partsOf);
export const linked = (): boolean => read(settings.link);
export const tilesOf = ({ parts }: Card): Tile[] =>
  parts?.strip?.tiles() ?? [...parts?.tiles.values() ?? []].map(({ tile }) => tile);
export const busy = (card: Card): boolean => tilesOf(card).some((tile) => tile.seen && tile.loading);

export function readUrl(): void {
  if (readFromUrl) return;
  readFromUrl = true;
  const entries = (setting: Setting<readonly string[]>) =>
    read(setting).map((entry): [string, number] => {
      const at = entry.lastIndexOf(":");
      return [entry.slice(0, Math.max(at, 0)), Number(entry.slice(at + 1) || NaN)];
    }).filter(([key, value]) => key && Number.isFinite(value));
  for (const [key, step] of entries(settings.step)) chosen.set(key, [step, 0]);
  for (const [key, sample] of entries(settings.sample)) samples.set(key, sample);
}

function writeUrl(): void {
  write(settings.step, [...chosen].map(([key, [step]]) => `${key}:${step}`));
  write(
    settings.sample,
    [...samples].filter(([, sample]) => sample > 0).map(([key, sample]) => `${key}:${sample}`),
  );
}

/** Step and repeat of all cards; null at the end. */
function commonStep(): [number, number] | null {
  const [at = ""] = read(settings.at);
  return at === "" || !Number.isFinite(Number(at)) ? null : [Number(at), 0];
}

const placeOf = (positions: Point[], wanted: [number, number] | null | undefined) =>
  wanted ? nearest(positions, ...wanted) : positions.length - 1;

/** Index of the position that a card shows. */
export const position = (card: Card): number => placeOf(card.positions, linked() ? commonStep() : chosen.get(card.key));

/** All steps of all cards on the page. */
export const commonPositions = (): Point[] => joined(mounted().map((card) => card.positions));
export const commonPosition = (): number => placeOf(commonPositions(), commonStep());

/** Moves a card; at the end it follows what is new. */
export function choose(card: Card, at: number): void {
  const { step, nth } = card.positions[at];
  if (at >= card.positions.length - 1) chosen.delete(card.key);
  else chosen.set(card.key, [step, nth]);
  writeUrl();
}

/** As `choose`, of all cards. */
export function chooseCommon(at: number): void {
  const positions = commonPositions();
  write(settings.at, at >= positions.length - 1 ? [] : [String(positions[at].step)]);
}

/** Which of the pictures of one step is shown. */
export const sample = (card: Card): number => samples.get(card.key) ?? 0;
export const mostSamples = (card: Card): number => Math.max(1, ...tilesOf(card).map((tile) => tile.samples));

export function turnSample(card: Card, by: number): void {
  const most = mostSamples(card);
  samples.set(card.key, (sample(card) + by + most) % most);
  writeUrl();
}

/** The first picture of a card tells how much room the others are kept free; tells whether this was it. */
export function learnRatio(card: Card, tile: Tile): boolean {
  if (card.ratio || !tile.ratio) return false;
  card.ratio = Math.min(Math.max(tile.ratio, 0.4), 4);
  return true;
}
