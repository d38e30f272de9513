/** What slices are coloured by, and the legend that says so. */
import * as details from "./details.ts";
import * as format from "./format.ts";
import type { Source } from "./data.ts";

export type Mode = "name" | "category" | "step" | "duration" | "occupancy" | "difference";
export const MODES = {
  name: "Name",
  category: "Category",
  step: "Step",
  duration: "Duration",
  occupancy: "Occupancy",
  difference: "Difference",
};
/** What became of a name from the first trace to the second, by the mean of its slices. */
export const VERDICTS: Record<string, string> = {
  "only in first": "only in the first",
  "only in second": "only in the second",
  longer: "longer in the second",
  shorter: "shorter in the second",
  same: "much the same",
};
/** Shorter slices have the first colour of the ramp. */
const SHORTEST_NS = 1000;
const MOST_ENTRIES = 9;

export class Colours {
  mode: Mode = "name";
  /** What became of each name in the second trace. */
  verdicts: Map<string, { verdict: string; means: [number | null, number | null]; counts: [number, number] }> | null =
    null;
  longest = SHORTEST_NS * 10;
  categories: Map<string, number> = new Map();

  /** What windows must carry for it. */
  get value() {
    return this.mode === "occupancy" || this.mode === "step" ? this.mode : "";
  }

  measure(sources: Source[]) {
    this.longest = Math.max(SHORTEST_NS * 10, ...sources.map((source) => source.summary.longest));
    // Few categories have colours that are all different; names are too many for that.
    const categories = [...new Set(sources.flatMap((source) => source.summary.categories))].sort();
    this.categories = new Map(categories.map((category, place) => [category, place]));
  }

  ofCategory(theme: any, category: string) {
    return category ? theme.tint(this.categories.get(category) ?? 0) : theme.unknown;
  }

  /** The colour of each slice of a window, by its place there. */
  of(theme: any, source: Source, window: any): (i: number) => string {
    const { name, category, durations, value, names, categories } = window;
    switch (this.mode) {
      case "category": {
        const table = categories.map((text: string) => this.ofCategory(theme, text));
        return (i) => table[category[i]];
      }
      case "step":
        return (
          i,
        ) => (value && value[i] >= 0 && source.summary.steps[value[i]]
          ? theme.tint(source.summary.steps[value[i]][0])
          : theme.unknown);
      case "duration":
        return (i) => theme.ramp(this.shareOf(durations[i]));
      case "occupancy":
        return (i) => (value && value[i] >= 0 ? theme.ramp(value[i] / 100) : theme.unknown);
      case "difference": {
        const table = names.map((text: string) => theme.verdicts[this.verdicts?.get(text)?.verdict || "same"]);
        return (i) => table[name[i]];
      }
      default: {
        const table = (window.colours ||= new Map());
        let found = table.get(theme);
        if (!found) table.set(theme, found = names.map((text: string) => theme.colour(text)));
        return (i) => found[name[i]];
      }
    }
  }

  shareOf(duration: number) {
    return Math.log(Math.max(duration, SHORTEST_NS) / SHORTEST_NS) / Math.log(this.longest / SHORTEST_NS);
  }

  /**
   * What the legend says: entries of a colour and a word, or a ramp between two words.
   * @param windows what is on the screen
   */
  legend(theme: any, windows: any[]): { ramp?: [string, string]; entries?: [string, string][] } {
    if (this.mode === "duration") {
      return { ramp: [`${format.duration(SHORTEST_NS, 1)} and less`, format.duration(this.longest, 2)] };
    }
    if (this.mode === "occupancy") return { ramp: ["0 %", "100 %"], entries: [[theme.unknown, "not known"]] };
    if (this.mode === "difference") {
      return { entries: Object.entries<string>(theme.verdicts).map(([word, colour]) => [colour, VERDICTS[word]]) };
    }
    if (this.mode !== "category") return {};
    const seen: Map<string, number> = new Map();
    for (const window of windows) {
      for (const category of window.categories) seen.set(category, (seen.get(category) || 0) + 1);
    }
    const words = [...seen.keys()].sort();
    const entries: [string, string][] = words.slice(0, MOST_ENTRIES).map((
      word,
    ) => [this.ofCategory(theme, word), word || "no category"]);
    if (words.length > MOST_ENTRIES) entries.push(["transparent", `${words.length - MOST_ENTRIES} more`]);
    return { entries };
  }
}

/**
 * The step that a moment of the trace lies in, by its place; -1 for none.
 * @param steps sorted
 */
export function stepAt(steps: any[], time: number) {
  let low = 0;
  let high = steps.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle][2] <= time) low = middle + 1;
    else high = middle;
  }
  const at = low - 1;
  return at >= 0 && time < steps[at][2] + steps[at][3] ? at : -1;
}

export function showLegend(
  host: HTMLElement,
  theme: any,
  legend: { ramp?: [string, string]; entries?: [string, string][] },
) {
  // Over the lanes, but not over the hand.
  const { element } = details;
  const key = JSON.stringify([legend, theme.dark]);
  if (host.dataset.key === key) return;
  host.dataset.key = key;
  const parts: Node[] = [];
  if (legend.ramp) {
    const bar = element("span", "timeline-legend-ramp");
    bar.style.background = `linear-gradient(90deg, ${[0, 0.25, 0.5, 0.75, 1].map(theme.ramp).join(",")})`;
    parts.push(element("span", "", legend.ramp[0]), bar, element("span", "", legend.ramp[1]));
  }
  for (const [colour, word] of legend.entries || []) {
    const swatch = element("span", "timeline-swatch small");
    swatch.style.background = colour;
    parts.push(element("span", "timeline-legend-entry", swatch, word));
  }
  host.replaceChildren(...parts);
  host.style.display = parts.length ? "flex" : "none";
}
