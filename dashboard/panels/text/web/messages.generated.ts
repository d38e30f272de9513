// Made from stepscope.dashboard.panels.text.messages by `python -m tools.generate_page`; change them there.

export const MOST_ENTRIES = 50;

/** A card: its number of texts, and the runs that have its tag, for comparison. */
export interface CardData {
  key: string;
  run: string;
  tag: string;
  markdown: boolean;
  total: number;
  epoch: string;
  runs: string[];
}

/** A text as sanitized HTML, or why it cannot be read, and the strings in it that a search found. */
export interface Entry {
  index: number;
  step: number;
  wall: number | string;
  html: string;
  notice: string;
  error: string;
  form: "text" | "json" | "table";
  words: string[];
}

/** Position of a text in its series. */
export interface EntryPlace {
  step: number;
  total: number;
  index: number;
}

/** Line-by-line comparison of two texts of a tag. */
export interface Comparison {
  rows: (["same" | "added" | "removed" | "changed", number | null, number | null, [string, boolean][], [string, boolean][]])[];
  added: number;
  removed: number;
  notice: string;
  error: string;
  old?: StepPlace;
  new?: StepPlace;
}

/** A text in which something was found, and the location of its card. */
export interface FoundText {
  tag: string;
  run: string;
  index: number;
  step: number;
  count: number;
  before: string;
  found: string;
  after: string;
  key: string;
  sections: string[];
  page: number;
}

/** Results of one request of a search. */
export interface SearchAnswer {
  hits: FoundText[];
  searched: number;
  total: number;
  unreadable: number;
  place: string | null;
  error: string;
}

/** The step of a text, and the number of texts in its series. */
export interface StepPlace {
  step: number;
  total: number;
}
