/** The cards of the page, and the step and sample that each of them shows. */
import { joined, nearest, type Point } from "../../../web/core/steps.ts";
import { noted, type Setting } from "../../../web/core/setting.ts";
import type { FilmStrip } from "./film_strip.ts";
import type { CardData, CardSeries } from "./messages.generated.ts";
import { settings } from "./settings.generated.ts";
import { read, write } from "./settings.ts";
import type { Stepper } from "./stepper.ts";
import type { Tile } from "./tiles.ts";

export interface Series extends Omit<CardSeries, "steps"> {
  points: Point[];
}

/** The contents of a card on the page. */
export interface Parts {
  body: HTMLElement;
  group: CardData["group"];
  stepper: Stepper;
  /** shows the step when one stepper moves all cards */
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
  /** width divided by height of its pictures; 0 if unknown */
  ratio: number;
  parts: Parts | null;
}

const cards: Map<string, Card> = new Map();
/** Step and repeat chosen by the user, by card; without a choice, the newest is shown. */
const chosen: Map<string, [number, number]> = new Map();
const samples: Map<string, number> = new Map();
/** The same for all cards that follow one stepper. */
let common: [number, number] | null = null;
const inUrl = noted(() => [read(settings.step), read(settings.sample), read(settings.at)]);

/** The card for a key, created if necessary. */
export function cardOf(key: string): Card {
  let card = cards.get(key);
  if (!card) cards.set(key, card = { key, data: null, series: [], positions: [], ratio: 0, parts: null });
  return card;
}

/** The contents of a card, if it is on the page and has something to show. */
export const partsOf = (card: Card): Parts | null =>
  card.parts?.body.isConnected && card.positions.length ? card.parts : null;
export const mounted = (): Card[] => [...cards.values()].filter(partsOf);
export const linked = (): boolean => read(settings.link);
/** Whether the stepper of all cards moves a card; a film strip, which shows every step, has its own. */
export const follows = ({ parts }: Card): boolean => linked() && !parts?.strip;
export const tilesOf = ({ parts }: Card): Tile[] =>
  parts?.strip?.tiles() ?? [...parts?.tiles.values() ?? []].map(({ tile }) => tile);
export const busy = (card: Card): boolean => tilesOf(card).some((tile) => tile.seen && tile.loading);

/** Takes the steps and samples from the address; returns whether it has others than the cards chose. */
export function readUrl(): boolean {
  if (!inUrl.differs()) return false;
  chosen.clear();
  samples.clear();
  const entries = (setting: Setting<readonly string[]>) =>
    read(setting).map((entry): [string, number] => {
      const at = entry.lastIndexOf(":");
      return [entry.slice(0, Math.max(at, 0)), Number(entry.slice(at + 1) || NaN)];
    }).filter(([key, value]) => key && Number.isFinite(value));
  for (const [key, step] of entries(settings.step)) chosen.set(key, [step, 0]);
  for (const [key, sample] of entries(settings.sample)) samples.set(key, sample);
  const [at = ""] = read(settings.at);
  common = at === "" || !Number.isFinite(Number(at)) ? null : [Number(at), 0];
  return true;
}

function writeUrl(): void {
  write(settings.step, [...chosen].map(([key, [step]]) => `${key}:${step}`));
  write(
    settings.sample,
    [...samples].filter(([, sample]) => sample > 0).map(([key, sample]) => `${key}:${sample}`),
  );
  write(settings.at, common ? [String(common[0])] : []);
  inUrl.note();
}

const placeOf = (positions: Point[], wanted: [number, number] | null | undefined) =>
  wanted ? nearest(positions, ...wanted) : positions.length - 1;

/** Index of the position shown by a card. */
export const position = (card: Card): number => placeOf(card.positions, follows(card) ? common : chosen.get(card.key));

/** All steps of all cards that follow one stepper. */
export const commonPositions = (): Point[] => joined(mounted().filter(follows).map((card) => card.positions));
export const commonPosition = (): number => placeOf(commonPositions(), common);

/** Moves a card; at the end it follows new pictures. */
export function choose(card: Card, at: number): void {
  const { step, nth } = card.positions[at];
  if (at >= card.positions.length - 1) chosen.delete(card.key);
  else chosen.set(card.key, [step, nth]);
  writeUrl();
}

/** Like `choose`, but for all cards. */
export function chooseCommon(at: number): void {
  const positions = commonPositions();
  const { step, nth } = positions[at];
  common = at >= positions.length - 1 ? null : [step, nth];
  writeUrl();
}

/** Which picture of a step is shown. */
export const sample = (card: Card): number => samples.get(card.key) ?? 0;
export const mostSamples = (card: Card): number => Math.max(1, ...tilesOf(card).map((tile) => tile.samples));

export function turnSample(card: Card, by: number): void {
  const most = mostSamples(card);
  samples.set(card.key, (sample(card) + by + most) % most);
  writeUrl();
}

/** Takes the shape of a card's first picture as the room to keep for the others; returns whether this was the first. */
export function learnRatio(card: Card, tile: Tile): boolean {
  if (card.ratio || !tile.ratio) return false;
  card.ratio = Math.min(Math.max(tile.ratio, 0.4), 4);
  return true;
}
