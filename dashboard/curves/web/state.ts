// State shared by the modules for cards of curves: the cards, and the view as they follow it.
import { Api } from "../../web/core/request.ts";
import type { Setting } from "../../web/core/setting.ts";
import type { Chart } from "../../web/lines/chart.ts";
import type { Range } from "../../web/lines/scale.ts";
import type { Model, Zoom } from "../../web/lines/scene.ts";
import { view } from "../../web/page/view.ts";
import { type Own, rangeEntries, sharedText, shownOf, withoutX } from "./entries.ts";
import type { CurveChart, Scheme } from "./model.ts";
import { settingsOf } from "./settings.generated.ts";

export interface Card {
  readonly key: string;
  readonly element: HTMLElement;
  readonly plot: Chart;
  /** The latest chart from the server. */
  chart: CurveChart | null;
  /** What is drawn of it. */
  model: Model | null;
  version: string;
}

export const state = {
  panel: "",
  /** The page's view as the cards follow it, which may lag a step behind. */
  query: "",
  params: new URLSearchParams(),
  scheme: "light" as Scheme,
  /** The smoothing of the drawn lines. */
  weight: settingsOf("").smoothing.default,
  /** The visible ranges of cards. */
  ranges: new Map() as ReadonlyMap<string, Zoom>,
  /** The part of the horizontal axis shown by all cards that have none of their own. */
  shared: null as Range | null,
  /** The settings of single cards. */
  own: new Map() as ReadonlyMap<string, Own>,
  cards: new Map() as Map<string, Card>,
  /** Keys of the cards on the screen. */
  visible: [] as string[],
  /** The horizontal axis that the view's ranges and marks refer to. */
  axis: "",
};

type Settings = ReturnType<typeof settingsOf>;
type ListName = { [K in keyof Settings]: Settings[K] extends Setting<readonly string[]> ? K : never }[keyof Settings];

/** A setting as the cards follow it. */
export const readSetting = <T>(setting: Setting<T>): T => setting.parse(state.params.getAll(setting.name));
/** A setting of the panel as the cards follow it. */
export const read = <T>(of: (settings: Settings) => Setting<T>): T => readSetting(of(settingsOf(state.panel)));

export const allCards = (): Card[] => [...state.cards.values()];
/** Cards on the screen. */
export const visibleCards = (): Card[] =>
  state.visible.map((key) => state.cards.get(key)).filter((card) => card !== undefined);
export const titleOf = (card: Card): string => card.element.querySelector("h3")?.title ?? "";

/** The routes of the panel. */
export const api = (): Api => new Api(`api/${state.panel}`);

/** A list of the panel in the current view, so that changes the cards have yet to follow are not undone. */
export const list = (name: ListName): readonly string[] => view.read(settingsOf(state.panel)[name]);
export const assign = (name: ListName, values: readonly string[]): void =>
  view.write(settingsOf(state.panel)[name], values);
/** Whether the address can hold such a list. */
export const fits = (name: ListName, values: readonly string[]): boolean =>
  view.fits(settingsOf(state.panel)[name], values);

const NOTHING: Own = {};
/** A card's own settings. */
export const ownOf = (key: string): Own => state.own.get(key) ?? NOTHING;
/** The smoothing of a card. */
export const weightOf = (key: string): number => ownOf(key).smoothing ?? state.weight;

/** The visible range of a card; null if everything is visible. */
export const rangeOf = (key: string): Zoom | null => shownOf(state.ranges, state.shared, key);

function show(ranges: ReadonlyMap<string, Zoom>, shared: Range | null) {
  [state.ranges, state.shared] = [ranges, shared];
  const { range, zoom } = settingsOf(state.panel);
  view.update((_params, set) => {
    set(range, rangeEntries(ranges));
    set(zoom, sharedText(shared));
  });
}

/** Stores the visible range of a card in the URL. */
export const setRange = (key: string, range: Zoom): void =>
  show(new Map([...state.ranges, [key, range]]), state.shared);
/** Resets the zoom of a card or, if it has none of its own, of all cards. */
export function resetRange(key: string): void {
  const ranges = new Map(state.ranges);
  const isOwn = ranges.delete(key);
  show(ranges, isOwn ? state.shared : null);
}
export const isZoomed = (): boolean => state.ranges.size > 0 || state.shared !== null;
export const resetRanges = (): void => show(new Map(), null);
/** Applies the visible part of a card's horizontal axis to all cards. */
export const shareRange = (key: string): void => show(withoutX(state.ranges), rangeOf(key)?.x ?? null);
/** Whether a card has its own horizontal range that differs from the shared one. */
export const canShare = (key: string): boolean => {
  const x = state.ranges.get(key)?.x;
  return x !== undefined && String(x) !== String(state.shared);
};

/** Whether the panel shows which steps were profiled. */
export const showsProfiled = (): boolean => read(({ profiled }) => profiled);

/** Names an axis; until a metric is chosen, it is the step axis. */
export const axisNamed = (panel: string, kind: string, tag: string | null): string =>
  JSON.stringify([panel, kind === "metric" && !tag ? "step" : kind, kind === "metric" ? tag ?? "" : ""]);
