// What the modules of cards of curves share: the cards, and the view as they follow it.
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
  /** What the server sent last. */
  chart: CurveChart | null;
  /** What of it is drawn. */
  model: Model | null;
  version: string;
}

export const state = {
  panel: "",
  /** The page's view, as the cards follow it: it may be a step behind. */
  query: "",
  params: new URLSearchParams(),
  scheme: "light" as Scheme,
  /** The smoothing that is drawn. */
  weight: settingsOf("").smoothing.default,
  /** The visible parts of cards. */
  ranges: new Map() as ReadonlyMap<string, Zoom>,
  /** The part of the horizontal axis that all cards show which have none of their own. */
  shared: null as Range | null,
  /** What single cards are drawn by. */
  own: new Map() as ReadonlyMap<string, Own>,
  cards: new Map() as Map<string, Card>,
  /** Keys of the cards on the screen. */
  visible: [] as string[],
  /** The horizontal axis that the view's ranges and marks are meant for. */
  axis: "",
};

type Settings = ReturnType<typeof settingsOf>;
type ListName = { [K in keyof Settings]: Settings[K] extends Setting<readonly string[]> ? K : never }[keyof Settings];

/** A setting, as the cards follow it. */
export const readSetting = <T>(setting: Setting<T>): T => setting.parse(state.params.getAll(setting.name));
/** A setting of the panel, as the cards follow it. */
export const read = <T>(of: (settings: Settings) => Setting<T>): T => readSetting(of(settingsOf(state.panel)));

export const allCards = (): Card[] => [...state.cards.values()];
/** Cards on the screen. */
export const visibleCards = (): Card[] =>
  state.visible.map((key) => state.cards.get(key)).filter((card) => card !== undefined);
export const titleOf = (card: Card): string => card.element.querySelector("h3")?.title ?? "";

/** The routes of the panel. */
export const api = (): Api => new Api(`api/${state.panel}`);

/** A list of the panel as the view is now: what was done since the cards followed it is not taken back. */
export const list = (name: ListName): readonly string[] => view.read(settingsOf(state.panel)[name]);
export const assign = (name: ListName, values: readonly string[]): void =>
  view.write(settingsOf(state.panel)[name], values);

const NOTHING: Own = {};
/** What a card is drawn by in place of what all are. */
export const ownOf = (key: string): Own => state.own.get(key) ?? NOTHING;
/** The smoothing that a card is drawn by. */
export const weightOf = (key: string): number => ownOf(key).smoothing ?? state.weight;

/** The visible part of a card; null where that is all of it. */
export const rangeOf = (key: string): Zoom | null => shownOf(state.ranges, state.shared, key);

function show(ranges: ReadonlyMap<string, Zoom>, shared: Range | null) {
  [state.ranges, state.shared] = [ranges, shared];
  const { range, zoom } = settingsOf(state.panel);
  view.update((_params, set) => {
    set(range, rangeEntries(ranges));
    set(zoom, sharedText(shared));
  });
}

/** Remembers the visible part of a card in the URL. */
export const setRange = (key: string, range: Zoom): void =>
  show(new Map([...state.ranges, [key, range]]), state.shared);
/** Shows all of a card; where it has no zoom of its own, of all cards. */
export function resetRange(key: string): void {
  const ranges = new Map(state.ranges);
  const isOwn = ranges.delete(key);
  show(ranges, isOwn ? state.shared : null);
}
export const isZoomed = (): boolean => state.ranges.size > 0 || state.shared !== null;
export const resetRanges = (): void => show(new Map(), null);
/** Shows on all cards what one of them shows of the horizontal axis. */
export const shareRange = (key: string): void => show(withoutX(state.ranges), rangeOf(key)?.x ?? null);
/** Whether a card shows another part of the horizontal axis than all cards do. */
export const canShare = (key: string): boolean => {
  const x = state.ranges.get(key)?.x;
  return x !== undefined && String(x) !== String(state.shared);
};

/** Whether the panel shows which steps were profiled. */
export const showsProfiled = (): boolean => read(({ profiled }) => profiled);

/** Until a metric is chosen, the axis is that of steps. */
export const axisNamed = (panel: string, kind: string, tag: string | null): string =>
  JSON.stringify([panel, kind === "metric" && !tag ? "step" : kind, kind === "metric" ? tag ?? "" : ""]);
