/** Texts from the server; their HTML is sanitized. */
import { Api } from "../../../web/core/request.ts";
import { view } from "../../../web/page/view.ts";
import type { CardData, Entry, EntryPlace } from "./messages.generated.ts";
import { settings } from "./settings.generated.ts";

export const api = new Api("api/text");

/** The texts from `start` up to but excluding `stop`, newest first. */
export async function fetchTexts(data: CardData, start: number, stop: number): Promise<Entry[]> {
  const { run, tag, markdown } = data;
  const [pattern, regex] = [view.read(settings.find), view.read(settings.regex)];
  const requested = { run, tag, start, stop, markdown, pattern, regex };
  return await api.ask<Entry[]>("entries", requested);
}

/** The text of a series nearest to a step; null if there is none. */
export const nearest = (run: string, tag: string, step: number | string): Promise<EntryPlace | null> =>
  api.ask<EntryPlace>("at", { run, tag, step }).catch(() => null);

/** A tag as shown to users. */
export const tagName = (tag: string): string => tag.replace(/\/text_summary$/, "");
