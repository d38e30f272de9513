// Made from stepscope.dashboard.panels.text.messages by `python -m tools.generate_page`; change them there.

export const MOST_ENTRIES = 50;

/** How many texts a card has, and the runs that have its tag, to compare with. */
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

/** Where a text is. */
export interface EntryPlace {
  step: number;
  total: number;
  index: number;
}

/** Two texts of a tag compared by lines. */
export interface Comparison {
  rows: (["same" | "added" | "removed" | "changed", number | null, number | null, [string, boolean][], [string, boolean][]])[];
  added: number;
  removed: number;
  notice: string;
  error: string;
  old?: StepPlace;
  new?: StepPlace;
}

/** A text in which something was found, and the place of its card. */
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

/** What one request of a search found. */
export interface SearchAnswer {
  hits: FoundText[];
  searched: number;
  total: number;
  unreadable: number;
  place: string | null;
  error: string;
}

/** The step of a text, and how many its series has. */
export interface StepPlace {
  step: number;
  total: number;
}
