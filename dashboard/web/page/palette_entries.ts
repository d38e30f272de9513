/** The palette's entries: which ones match the typed letters, and how well. */

export interface Entry {
  title: string;
  hint: string;
  icon: string;
  act: () => unknown;
  /** The positions in the title of the letters searched for. */
  places?: number[];
  score?: number;
}

/** How well a text matches, as in dashboard/runs/search.py; null if a letter is missing. */
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

/** The matching entries, best first; all of them if nothing is searched for. */
export function bestFirst(entries: readonly Entry[], wanted: string): Entry[] {
  if (!wanted.trim()) return [...entries];
  const found = entries.flatMap((entry) => {
    const fit = fits(wanted, entry.title);
    return fit ? [{ ...entry, ...fit }] : [];
  });
  return found.sort((one, other) => other.score - one.score);
}

/** A stored tag as shown on its card. */
export const tagShown = (tag: string, ending: string): string => ending ? tag.replace(new RegExp(ending), "") : tag;
