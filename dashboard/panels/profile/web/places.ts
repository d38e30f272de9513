/** Where rows are on the Timeline. */
import type { RowData } from "./grid.ts";

/** Maximum length of a name to search for, as in dashboard/panels/profile/links.py. */
const LONGEST_SEARCH = 300;

export interface Place {
  trace: string;
  range?: string;
  slice?: string;
  search?: string;
}

/** Timeline settings for a place; settings that the place lacks are reset. */
export const settingsOf = ({ trace, range, slice, search }: Place): Record<string, string[]> => ({
  "timeline.trace": [trace],
  "timeline.range": range ? [range] : [],
  "timeline.slice": slice ? [slice] : [],
  "timeline.search": search ? [search] : [],
  // A truncated name is still found as a part of the whole one.
  "timeline.match": search && search.length < LONGEST_SEARCH ? ["name"] : [],
});

export function address(place: Place): string {
  const params = new URLSearchParams({ tab: "timeline" });
  for (const [name, values] of Object.entries(settingsOf(place))) {
    for (const value of values) params.append(name, value);
  }
  return "?" + params;
}

/** The place of a row; most are searched for by name. */
export function placeOf(data: RowData, trace: string, name: unknown): Place {
  const slice = data["@slice"] === undefined ? "" : String(data["@slice"]);
  const search = data["@search"] ?? (slice ? String(name) : "");
  return { trace: data["@trace"] ?? trace, range: data["@at"], slice, search: search.slice(0, LONGEST_SEARCH) };
}
