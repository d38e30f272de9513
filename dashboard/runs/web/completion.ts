/** Names in the search for runs: how they are written, and which ones complete the typed text. */

/** A word being typed, and where it starts. */
export interface Word {
  text: string;
  start: number;
}

const WORDS = ["and", "or", "not", "in", "true", "false"];
const MOST_OFFERED = 8;

/** A name as written in a condition, in backquotes if it would otherwise be read as something else. */
export const quoted = (name: string): string =>
  /^[^\W\d][\w./-]*$/.test(name) && !WORDS.includes(name) ? name : "`" + name + "`";

/** The word being typed before the caret, if names may complete it. */
export function wordIn(before: string): Word | null {
  const text = /(?:^|[\s(<>=~!,])(`[^`]*|[^\W\d][\w./-]*)$/.exec(before)?.[1];
  return text ? { text, start: before.length - text.length } : null;
}

/** Names that contain a word; those that begin with it come first. */
export function fitting(names: readonly string[], word: Word): string[] {
  const wanted = word.text.replace(/^`/, "").toLowerCase();
  const fits = names.filter((name) => name.replaceAll("`", "").toLowerCase().includes(wanted) && name !== word.text);
  const begins = (name: string) => Number(name.toLowerCase().startsWith(wanted));
  return fits.sort((a, b) => begins(b) - begins(a)).slice(0, MOST_OFFERED);
}

/** The text with a word replaced by a name, and the new position of the caret. */
export function completed(
  before: string,
  after: string,
  { start }: Word,
  name: string,
): { text: string; caret: number } {
  const beginning = `${before.slice(0, start)}${name} `;
  return { text: beginning + after.replace(/^ /, ""), caret: beginning.length };
}
