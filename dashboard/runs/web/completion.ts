/** Names in the search for runs: how they are written, and which complete what is typed. */

/** A word that is being typed, and where it begins. */
export interface Word {
  text: string;
  start: number;
}

const WORDS = ["and", "or", "not", "in", "true", "false"];
const MOST_OFFERED = 8;

/** A name as a condition has it: backquotes around what would be read as something else. */
export const quoted = (name: string): string =>
  /^[^\W\d][\w./-]*$/.test(name) && !WORDS.includes(name) ? name : "`" + name + "`";

/** The word before the caret, if one is being typed that names may complete. */
export function wordIn(before: string): Word | null {
  const text = /(?:^|[\s(<>=~!,])(`[^`]*|[^\W\d][\w./-]*)$/.exec(before)?.[1];
  return text ? { text, start: before.length - text.length } : null;
}

/** Names that have a word somewhere, first those that begin with it. */
export function fitting(names: readonly string[], word: Word): string[] {
  const wanted = word.text.replace(/^`/, "").toLowerCase();
  const fits = names.filter((name) => name.replaceAll("`", "").toLowerCase().includes(wanted) && name !== word.text);
  const begins = (name: string) => Number(name.toLowerCase().startsWith(wanted));
  return fits.sort((a, b) => begins(b) - begins(a)).slice(0, MOST_OFFERED);
}

/** A text with a name in the place of a word, and where the caret is then. */
export function completed(
  before: string,
  after: string,
  { start }: Word,
  name: string,
): { text: string; caret: number } {
  const beginning = `${before.slice(0, start)}${name} `;
  return { text: beginning + after.replace(/^ /, ""), caret: beginning.length };
}
