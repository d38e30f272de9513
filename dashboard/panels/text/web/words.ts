/** Finds where the strings of a search result occur in a text. */

/** Positions of words in a text, from left to right, at most `most`; of two that begin together, the longer one. */
export function placesOf(words: readonly string[], text: string, most: number): [number, number][] {
  const wanted = words.map((word) => word.trim()).filter(Boolean).sort((a, b) => b.length - a.length);
  const found: [number, number][] = [];
  for (let at = 0; at < text.length && found.length < most;) {
    let next = -1;
    let length = 0;
    for (const word of wanted) {
      const place = text.indexOf(word, at);
      if (place >= 0 && (next < 0 || place < next)) [next, length] = [place, word.length];
    }
    if (next < 0) break;
    at = next + length;
    found.push([next, at]);
  }
  return found;
}
