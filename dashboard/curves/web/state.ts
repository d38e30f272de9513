// What the modules of cards of curves share: the cards, and the view as they follow it.
import { Api } from "../../web/core/request.ts";
import type { Setting } from "../../web/core/setting.ts";
import type { Chart } from "../../web/lines/chart.ts";
import type { Model, Zoom } from "../../web/lines/scene.ts";
import { view } from "../../web/page/view.ts";
import { rangeEntries } from "./entries.ts";
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
  ranges: new Map() as Map<string, Zoom>,
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
export const api = (): Api => new Api(`/api/${state.panel}`);

/** A list of the panel as the view is now: what was done since the cards followed it is not taken back. */
export const list = (name: ListName): readonly string[] => view.read(settingsOf(state.panel)[name]);
export const assign = (name: ListName, values: readonly string[]): void =>
  view.write(settingsOf(state.panel)[name], values);

/** Remembers the visible part of a card in the URL; null for all of it. */
export function setRange(key: string, range: Zoom | null): void {
  if (range) state.ranges.set(key, range);
  else state.ranges.delete(key);
  assign("range", rangeEntries(state.ranges));
}

/** Whether the panel shows which steps were profiled. */
export const showsProfiled = (): boolean => read(({ profiled }) => profiled);

export const axisNamed = (panel: string, kind: string, tag: string): string =>
  JSON.stringify([panel, kind, kind === "metric" ? tag : ""]);
