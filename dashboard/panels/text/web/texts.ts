/** What the server says of texts; its HTML is sanitized. */
import { Api } from "../../../web/core/request.ts";
import { view } from "../../../web/page/view.ts";
import type { CardData, Entry, EntryPlace } from "./messages.generated.ts";
import { settings } from "./settings.generated.ts";

export const api = new Api("/api/text");

<<<<<<< HEAD
/** What a card is made of (`draw` of dashboard/panels/text/panel.py). */
export interface CardData {
  key: string;
  run: string;
  tag: string;
  markdown: boolean;
  total: number;
  epoch: number;
  /** all runs that have the tag */
  runs: string[];
}
/** A text; its HTML was sanitized by the server (page/safe_html.py, json_tree.py). */
export interface Entry {
  index: number;
  step: number;
  /** seconds since 1970; a word where it is no number */
  wall: number | string;
  html: string;
  notice: string;
  error: string;
  form: "text" | "json" | "table";
  /** strings in it that a search found */
  words: string[];
}
/** A text's place, and how many there are. */
export interface Place {
  index: number;
  step: number;
  total: number;
}

/** The panel's settings (dashboard/panels/text/panel.py). */
export const setting = (name: string, otherwise = ""): string => view.values("text." + name)[0] ?? otherwise;
export const isOn = (name: string, otherwise = "off"): boolean => setting(name, otherwise) === "on";
export const set = (name: string, values: string[]): void =>
  view.update((_params, assign) => assign("text." + name, values));

=======
>>>>>>> ts-set1
/** The texts from `start` to before `stop`, newest first; none where the server has no answer. */
export async function fetchTexts(data: CardData, start: number, stop: number): Promise<Entry[]> {
  const { run, tag, markdown } = data;
  const [pattern, regex] = [view.read(settings.find), view.read(settings.regex)];
  const asked = { run, tag, start, stop, markdown, pattern, regex };
  return await api.ask<Entry[]>("entries", asked).catch(() => []);
}

/** The text of a series that is nearest to a step; null where there is none. */
export const nearest = (run: string, tag: string, step: number | string): Promise<EntryPlace | null> =>
  api.ask<EntryPlace>("at", { run, tag, step }).catch(() => null);

/** A tag as people call it. */
export const tagName = (tag: string): string => tag.replace(/\/text_summary$/, "");
