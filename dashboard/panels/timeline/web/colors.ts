/** How slices are colored, and the legend that explains it. */
import { durationText } from "../../../web/core/numbers.ts";
import { firstWhere } from "../../../web/core/steps.ts";
import { settings } from "./settings.generated.ts";
import { type SliceWindow, type Source, windowName } from "./data.ts";
import type { DifferencesAnswer, TraceSummary } from "./messages.generated.ts";
import type { Theme } from "./theme.ts";

export type Mode = typeof settings.color.options[number];
export const MODES: Record<Mode, string> = {
  name: "Name",
  category: "Category",
  step: "Step",
  duration: "Duration",
  occupancy: "Occupancy",
  difference: "Difference",
};
/** How the slices with a given name changed from the first trace to the second. */
export interface Change {
  verdict: string;
  means: [number | null, number | null];
  counts: [number, number];
}

/** How each name changed, by what windows carry of it; names that share this are told apart by nothing else. */
export function changesOf({ name, verdict, mean, count }: DifferencesAnswer): Map<string, Change> {
  const changes: Map<string, Change> = new Map();
  for (const [carried, rows] of Map.groupBy(name.keys(), (row) => windowName(name[row]))) {
    const [first] = rows;
    if (rows.some((row) => verdict[row] !== verdict[first])) continue;
    const meanOf = (side: 0 | 1) => (rows.length === 1 ? mean[side][first] : null);
    const countOf = (side: 0 | 1) => rows.reduce((sum, row) => sum + count[side][row], 0);
    changes.set(carried, {
      verdict: verdict[first],
      means: [meanOf(0), meanOf(1)],
      counts: [countOf(0), countOf(1)],
    });
  }
  return changes;
}

/** Entries of a color and a word each, or a ramp between two words. */
export interface Legend {
  ramp?: [string, string];
  entries?: [string, string][];
}
/** Number, name, start and duration. */
export type Step = TraceSummary["steps"][number];

/** How a name changed from the first trace to the second, by the mean of its slices. */
export const VERDICTS: Record<string, string> = {
  "only in first": "only in the first",
  "only in second": "only in the second",
  longer: "longer in the second",
  shorter: "shorter in the second",
  same: "about the same",
};
/** Shorter slices get the first color of the ramp. */
const SHORTEST_NS = 1000;
const MOST_ENTRIES = 9;

export class Colors {
  mode: Mode = "name";
  /** How each name changed in the second trace. */
  verdicts: Map<string, Change> | null = null;
  longest = SHORTEST_NS * 10;
  categories: Map<string, number> = new Map();
  /** Colors for a window's names. */
  readonly #named: WeakMap<SliceWindow, { theme: Theme; table: string[] }> = new WeakMap();

  /** What windows must carry for the current mode. */
  get value() {
    return this.mode === "occupancy" || this.mode === "step" ? this.mode : "";
  }

  measure(sources: Source[]) {
    this.longest = Math.max(SHORTEST_NS * 10, ...sources.map((source) => source.summary.longest));
    // There are few enough categories for distinct colors, but too many names.
    const categories = [...new Set(sources.flatMap((source) => source.summary.categories))].sort();
    this.categories = new Map(categories.map((category, place) => [category, place]));
  }

  ofCategory(theme: Theme, category: string): string {
    return category ? theme.tint(this.categories.get(category) ?? 0) : theme.unknown;
  }

  /** The color of each slice of a window, by its index there. */
  of(theme: Theme, source: Source, shown: SliceWindow): (i: number) => string {
    const { name, category, durations, value, names, categories } = shown;
    switch (this.mode) {
      case "category": {
        const table = categories.map((text) => this.ofCategory(theme, text));
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
        const table = names.map((text) => theme.verdicts[this.verdicts?.get(text)?.verdict || "same"]);
        return (i) => table[name[i]];
      }
      default: {
        let known = this.#named.get(shown);
        if (known?.theme !== theme) this.#named.set(shown, known = { theme, table: names.map(theme.color) });
        const { table } = known;
        return (i) => table[name[i]];
      }
    }
  }

  shareOf(duration: number) {
    return Math.log(Math.max(duration, SHORTEST_NS) / SHORTEST_NS) / Math.log(this.longest / SHORTEST_NS);
  }

  /**
   * The contents of the legend.
   * @param windows the windows on the screen
   */
  legend(theme: Theme, windows: Pick<SliceWindow, "categories">[]): Legend {
    if (this.mode === "duration") {
      return { ramp: [`${durationText(SHORTEST_NS, 1)} or less`, durationText(this.longest, 2)] };
    }
    if (this.mode === "occupancy") return { ramp: ["0%", "100%"], entries: [[theme.unknown, "unknown"]] };
    if (this.mode === "difference") {
      return { entries: Object.entries(theme.verdicts).map(([word, color]) => [color, VERDICTS[word]]) };
    }
    if (this.mode !== "category") return {};
    const words = [...new Set(windows.flatMap(({ categories }) => categories))].sort();
    const entries: [string, string][] = words.slice(0, MOST_ENTRIES).map((
      word,
    ) => [this.ofCategory(theme, word), word || "no category"]);
    if (words.length > MOST_ENTRIES) entries.push(["transparent", `${words.length - MOST_ENTRIES} more`]);
    return { entries };
  }
}

/**
 * The index of the step that contains a moment of the trace; -1 for none.
 * @param steps sorted
 */
export function stepAt(steps: readonly Step[], time: number): number {
  const at = firstWhere(steps.length, (place) => steps[place][2] > time) - 1;
  return at >= 0 && time < steps[at][2] + steps[at][3] ? at : -1;
}
