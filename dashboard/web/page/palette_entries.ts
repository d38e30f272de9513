/** What the palette lists: which entries fit some letters, and how. */

export interface Entry {
  title: string;
  hint: string;
  icon: string;
  act: () => unknown;
  /** Where in the title the letters are that were searched for. */
  places?: number[];
  score?: number;
}

/** How well a text fits, as dashboard/runs/search.py has it; null where a letter is missing. */
export function fits(wanted: string, text: string): { score: number; places: number[] } | null {
  const letters = [...wanted.toLowerCase().replace(/\s+/g, "")];
  const folded = [...text.toLowerCase()];
  const places: number[] = [];
  let at = -1;
  for (const letter of letters) {
    at = folded.indexOf(letter, at + 1);
    if (at < 0) return null;
    places.push(at);
  }
  const whole = text.toLowerCase().indexOf(letters.join(""));
  return whole >= 0
    ? { score: 100 - whole, places: letters.map((_, place) => whole + place) }
    : { score: -(at || 0), places };
}

/** The entries that fit, best first; all of them while nothing is searched for. */
export function bestFirst(entries: readonly Entry[], wanted: string): Entry[] {
  if (!wanted.trim()) return [...entries];
  const found = entries.flatMap((entry) => {
    const fit = fits(wanted, entry.title);
    return fit ? [{ ...entry, ...fit }] : [];
  });
  return found.sort((one, other) => other.score - one.score);
}

/** A stored tag as its card calls it. */
export const tagShown = (tag: string, ending: string): string => ending ? tag.replace(new RegExp(ending), "") : tag;
