/** Long names in little room: what they all share is left out, and what tells them apart stays. */

/** The width of a text, in the same unit as the room. */
export type Measure = (text: string) => number;

const ELLIPSIS = "…";
const inCharacters: Measure = (text) => text.length;

/**
 * Matches the separators that end the parts of a name, but not those within a number such as 0.1, 1e-3 or -2.
 * A name and its value, as in "lr=0.1", are one part.
 */
const PART = /[/_,;: ]+|(?<!\d)\.+|\.+(?!\d)|(?<!\de|[/_,;:= ]|^)-+/gi;

/** The parts of a name, each with the separator that follows it. */
function partsOf(name: string): string[] {
  const parts: string[] = [];
  let start = 0;
  for (const { index, 0: separator } of name.matchAll(PART)) {
    const end = index + separator.length;
    if (index === start) continue;
    parts.push(name.slice(start, end));
    start = end;
  }
  if (start < name.length) parts.push(name.slice(start));
  return parts;
}

/** How many letters or parts all lists have in common, from the end that `at` counts from. */
function shared(lists: readonly ArrayLike<string>[], at: (list: ArrayLike<string>, place: number) => string): number {
  const least = Math.min(...lists.map((list) => list.length));
  let place = 0;
  while (place < least && lists.every((list) => at(list, place) === at(lists[0], place))) place += 1;
  return place;
}
const fromStart = (list: ArrayLike<string>, place: number) => list[place];
const fromEnd = (list: ArrayLike<string>, place: number) => list[list.length - 1 - place];

/** The longest text that fits, of texts that grow with their size: `make(0)` is the shortest. */
function longest(most: number, make: (size: number) => string, room: number, measure: Measure): string {
  let [fits, tooLong] = [0, most + 1];
  while (tooLong - fits > 1) {
    const size = (fits + tooLong) >> 1;
    if (measure(make(size)) <= room) fits = size;
    else tooLong = size;
  }
  return make(fits);
}

/** A text without its middle, or the whole text if it fits. */
export function withoutMiddle(text: string, room: number, measure: Measure = inCharacters): string {
  if (measure(text) <= room) return text;
  const letters = [...text];
  const cut = (kept: number) =>
    letters.slice(0, Math.ceil(kept / 2)).join("") + ELLIPSIS + letters.slice(letters.length - (kept >> 1)).join("");
  return longest(letters.length - 1, cut, room, measure);
}

/** The kept parts, with an ellipsis for each run of dropped ones. */
function joined(parts: readonly string[], kept: ReadonlySet<number>): string {
  let text = "";
  parts.forEach((part, place) => {
    if (kept.has(place)) text += part;
    else if (!text.endsWith(ELLIPSIS)) text += ELLIPSIS;
  });
  return text;
}

/** Counts how many names have each part of a name in the same position, from the beginning or from the end. */
function commonness(names: readonly (readonly string[])[]): (parts: readonly string[]) => number[] {
  const counts = new Map<string, number>();
  const keys = (parts: readonly string[], place: number) => [
    `${place} ${parts[place]}`,
    `${place - parts.length} ${parts[place]}`,
  ];
  for (const parts of names) {
    for (let place = 0; place < parts.length; place += 1) {
      for (const key of keys(parts, place)) counts.set(key, (counts.get(key) ?? 0) + 1);
    }
  }
  return (parts) => parts.map((_part, place) => Math.max(...keys(parts, place).map((key) => counts.get(key) ?? 0)));
}

/** A name without its most common parts, dropping as many as it takes to fit. */
function withoutCommonParts(parts: readonly string[], counts: readonly number[], room: number, measure: Measure) {
  const kept = new Set(parts.keys());
  const order = [...parts.keys()].sort((a, b) => counts[b] - counts[a] || parts[b].length - parts[a].length);
  let text = joined(parts, kept);
  for (const place of order) {
    if (measure(text) <= room || kept.size === 1) break;
    kept.delete(place);
    text = joined(parts, kept);
  }
  return withoutMiddle(text, room, measure);
}

/** Names that no parts tell apart, each cut to the letters around its difference from the others. */
function aroundDifference(names: readonly string[], room: number, measure: Measure): string[] {
  const letters = names.map((name) => [...name]);
  const start = shared(letters, fromStart);
  return letters.map((own) => {
    const around = (kept: number) => {
      const from = Math.max(0, start - (kept >> 1));
      const to = Math.min(own.length, start + 1 + Math.ceil(kept / 2));
      return (from ? ELLIPSIS : "") + own.slice(from, to).join("") + (to < own.length ? ELLIPSIS : "");
    };
    return longest(2 * own.length, around, room, measure);
  });
}

/** Parts without their common beginning and trailing separators, but with whole numbers. */
function bare(parts: readonly string[]): string[] {
  const texts = parts.map((part) => part.replace(/[/_.,;: -]+$/, "") || part);
  const start = Math.min(shared(texts, fromStart), ...texts.map((text) => text.search(/([\d.]+(e-?\d+)?)?$/i)));
  return texts.map((text) => text.slice(start));
}

/** Splits a room into several, where wide ones give way to narrow ones. */
function rooms(wanted: readonly number[], room: number): number[] {
  let [left, count] = [room, wanted.length];
  const found: number[] = [];
  for (const [width, place] of wanted.map((width, place) => [width, place]).sort((a, b) => a[0] - b[0])) {
    found[place] = Math.min(width, left / count);
    left -= found[place];
    count -= 1;
  }
  return found;
}

/** Reduces names with equally many parts to the parts in which they differ, abbreviated if that is too long. */
function byDifferences(names: readonly (readonly string[])[], room: number, measure: Measure): string[] {
  const varying = new Set([...names[0].keys()].filter((place) => names.some((own) => own[place] !== names[0][place])));
  const texts = names.map((own) => joined(own, varying));
  if (texts.every((text) => measure(text) <= room) || !varying.size) return texts;
  const columns = [...varying].map((place) => bare(names.map((own) => own[place])));
  const widths = columns.map((column) => Math.max(...column.map(measure)) + measure(ELLIPSIS));
  const cut = rooms(widths, room).map((own, index) =>
    columns[index].map((text) => withoutMiddle(text, own - measure(ELLIPSIS), measure))
  );
  return names.map((_own, index) => cut.map((column) => ELLIPSIS + column[index]).join(""));
}

/** Makes equal texts distinct by numbering them. */
function numbered(texts: readonly string[], room: number, measure: Measure): string[] {
  const taken = new Set<string>();
  const seen = new Set(texts);
  return texts.map((text) => {
    let [own, number] = [text, 1];
    while (taken.has(own) || (number > 1 && seen.has(own))) {
      number += 1;
      own = withoutMiddle(text, room - measure(` (${number})`), measure) + ` (${number})`;
    }
    taken.add(own);
    return own;
  });
}

/** For each text that occurs more than once, the positions of the names that have it. */
function equals(texts: readonly string[]): number[][] {
  const places = new Map<string, number[]>();
  texts.forEach((text, place) => places.set(text, [...places.get(text) ?? [], place]));
  return [...places.values()].filter((found) => found.length > 1);
}

/**
 * Short texts for names, by name, as distinct as the names are.
 *
 * If all of them fit, they stay whole. Otherwise, the parts that all names begin or end with are left out; texts that
 * are still too long lose the parts that most names share, then their middle.
 * @param room how wide a text may be
 */
export function shortNames(
  names: Iterable<string>,
  room: number,
  measure: Measure = inCharacters,
): ReadonlyMap<string, string> {
  const all = [...new Set(names)];
  if (all.every((name) => measure(name) <= room)) return new Map(all.map((name) => [name, name]));
  const parts = all.map(partsOf);
  const fits = (texts: readonly string[]) => texts.every((text) => measure(text) <= room);
  const least = Math.min(...parts.map((own) => own.length)) - 1;
  const start = all.length > 1 ? Math.min(shared(parts, fromStart), least) : 0;
  const end = all.length > 1 ? Math.min(shared(parts, fromEnd), least - start) : 0;
  // Leave out no more of the shared parts than necessary: first from the beginning, then from the end.
  let [cores, texts]: [string[][], string[]] = [parts, all];
  for (let left = 1; left <= start + end && !fits(texts); left += 1) {
    const [first, last] = [Math.min(left, start), Math.max(0, left - start)];
    cores = parts.map((own) => [
      ...(first ? [ELLIPSIS] : []),
      ...own.slice(first, own.length - last),
      ...(last ? [ELLIPSIS] : []),
    ]);
    texts = cores.map((own) => own.join(""));
  }
  if (!fits(texts)) {
    const countsOf = commonness(cores);
    texts = cores.map((own) => withoutCommonParts(own, countsOf(own), room, measure));
  }
  if (equals(texts).length) {
    for (const places of Map.groupBy(all.keys(), (place) => parts[place].length).values()) {
      if (new Set(places.map((place) => texts[place])).size === places.length) continue;
      byDifferences(places.map((place) => parts[place]), room, measure)
        .forEach((text, index) => texts[places[index]] = text);
    }
  }
  for (const places of equals(texts)) {
    aroundDifference(places.map((place) => all[place]), room, measure)
      .forEach((text, index) => texts[places[index]] = text);
  }
  const different = numbered(texts, room, measure);
  return new Map(all.map((name, place) => [name, different[place]]));
}

/** The name of a run; that of the log directory itself is the directory's, which the page's title begins with. */
export function runName(run: string): string {
  return run === "." ? document.title.replace(/ · Stepscope$/, "") || run : run;
}
