// @ts-nocheck
/** What the Projector panel has in the address (dashboard/panels/projector/settings.py), and the settings of each method. */
import { view } from "../../../web/page/view.ts";

const MOST_ROWS_TEXT = 6000;
const METRICS = [["euclidean", "Euclidean"], ["cosine", "Cosine"]];

/** one setting of a method */
export interface Knob {
  /** as the server calls it */
  name: string;
  label: string;
  help: string;
  /** "log" is a slider over powers */
  sort: "range" | "log" | "number" | "choice";
  /** where nothing was chosen; null lets the method find it */
  value: number | string | null;
  minimum?: number;
  maximum?: number;
  step?: number;
  options?: string[][];
  /** whether it is among those that are folded away */
  more?: boolean;
}

const SEED: Knob = {
  name: "seed",
  label: "Seed",
  help: "Where chance begins: the same seed gives the same picture.",
  sort: "number",
  value: 0,
  minimum: 0,
  maximum: 2 ** 31 - 1,
  step: 1,
  more: true,
};
const SUPERVISION: Knob = {
  name: "supervision",
  label: "Supervision",
  help:
    "How much points with the same value of the column are drawn together: 0 not at all, 100 as much as can be. The picture then shows what was known before.",
  sort: "range",
  value: 0,
  minimum: 0,
  maximum: 100,
  step: 1,
  more: true,
};
const METRIC: Knob = {
  name: "metric",
  label: "Distance",
  help: "How far apart two points are: the straight line, or the angle between them.",
  sort: "choice",
  value: "euclidean",
  options: METRICS,
};

export const METHODS: Record<string, { title: string; key: string; about: string; slow: boolean; knobs: Knob[] }> = {
  pca: {
    title: "PCA",
    key: "1",
    about:
      "The directions in which the points vary most. Distances and directions mean what they say; fine structure is lost.",
    slow: false,
    knobs: [],
  },
  tsne: {
    title: "t-SNE",
    key: "2",
    slow: true,
    about: "Keeps neighbours together. Sizes of clusters and distances between them mean little.",
    knobs: [
      {
        name: "perplexity",
        label: "Perplexity",
        help: "About how many neighbours each point looks at: 5 shows small groups, 100 the large lines.",
        sort: "range",
        value: 30,
        minimum: 2,
        maximum: 100,
        step: 1,
      },
      {
        name: "iterations",
        label: "Iterations",
        help: "How long it runs; the picture settles in about a thousand.",
        sort: "number",
        value: 1000,
        minimum: 10,
        maximum: 100_000,
        step: 50,
      },
      METRIC,
      {
        name: "learning_rate",
        label: "Learning rate",
        help: "How far points move at once; empty finds one by the number of points.",
        sort: "number",
        value: null,
        minimum: 0.1,
        maximum: 1e6,
        step: 1,
        more: true,
      },
      {
        name: "exaggeration",
        label: "Exaggeration",
        help: "How much stronger neighbours attract at the beginning, so that groups come apart.",
        sort: "range",
        value: 12,
        minimum: 1,
        maximum: 50,
        step: 1,
        more: true,
      },
      {
        name: "exaggeration_iterations",
        label: "… iterations",
        help: "How long the beginning lasts.",
        sort: "number",
        value: 250,
        minimum: 0,
        maximum: 10_000,
        step: 10,
        more: true,
      },
      SUPERVISION,
      SEED,
    ],
  },
  umap: {
    title: "UMAP",
    key: "3",
    slow: true,
    about: "Keeps neighbours together, and more of the large lines than t-SNE. Distances between clusters mean little.",
    knobs: [
      {
        name: "neighbours",
        label: "Neighbours",
        help: "How many neighbours each point looks at: few show detail, many the large lines.",
        sort: "range",
        value: 15,
        minimum: 2,
        maximum: 200,
        step: 1,
      },
      {
        name: "minimum_distance",
        label: "Least distance",
        help: "How tightly points may lie together in the picture.",
        sort: "range",
        value: 0.1,
        minimum: 0,
        maximum: 0.99,
        step: 0.01,
      },
      { ...METRIC },
      {
        name: "epochs",
        label: "Epochs",
        help: "How long it runs; empty finds a number by the number of points.",
        sort: "number",
        value: null,
        minimum: 1,
        maximum: 100_000,
        step: 10,
        more: true,
      },
      {
        name: "spread",
        label: "Spread",
        help: "How far the whole picture reaches.",
        sort: "range",
        value: 1,
        minimum: 0.1,
        maximum: 5,
        step: 0.1,
        more: true,
      },
      {
        name: "learning_rate",
        label: "Learning rate",
        help: "How far points move at once.",
        sort: "range",
        value: 1,
        minimum: 0.01,
        maximum: 5,
        step: 0.01,
        more: true,
      },
      {
        name: "negative_samples",
        label: "Negative samples",
        help: "How many points each point is pushed away from at once.",
        sort: "range",
        value: 5,
        minimum: 1,
        maximum: 30,
        step: 1,
        more: true,
      },
      SUPERVISION,
      SEED,
    ],
  },
  custom: {
    title: "Custom",
    key: "4",
    about: "Axes of your own: each leads from the middle of some points to the middle of others.",
    slow: false,
    knobs: [],
  },
  random: {
    title: "Random",
    key: "5",
    about: "Random directions: a picture that no method had a hand in, to compare with.",
    slow: false,
    knobs: [{ ...SEED, more: false }],
  },
};

/** "perplexity:50,metric:cosine", of what is not as it is by itself. */
export function writeKnobs(method: string, values: Record<string, any>) {
  return METHODS[method].knobs.filter((knob) => values[knob.name] !== knob.value).map((knob) =>
    `${knob.name}:${values[knob.name] ?? ""}`
  ).join(",");
}

export function readKnobs(method: string, text: string): Record<string, any> {
  const given = new Map(
    text.split(",").map((
      part,
    ) => ([part.slice(0, part.indexOf(":")), part.slice(part.indexOf(":") + 1)] as [string, string])),
  );
  return Object.fromEntries(METHODS[method].knobs.map((knob) => [knob.name, readKnob(knob, given.get(knob.name))]));
}

function readKnob(knob: Knob, text: string | undefined) {
  if (text === undefined) return knob.value;
  if (knob.sort === "choice") return knob.options?.some(([value]) => value === text) ? text : knob.value;
  if (text.trim() === "" || !Number.isFinite(Number(text))) return knob.value;
  return Math.min(Math.max(Number(text), knob.minimum ?? -Infinity), knob.maximum ?? Infinity);
}

/** Rows as "0-5,9"; null where that is too long for an address. */
export function writeRows(rows: ArrayLike<number>) {
  const sorted = Uint32Array.from(rows).sort();
  const parts: string[] = [];
  for (let at = 0; at < sorted.length;) {
    let end = at;
    while (end + 1 < sorted.length && sorted[end + 1] === sorted[end] + 1) end += 1;
    parts.push(end > at ? `${sorted[at]}-${sorted[end]}` : String(sorted[at]));
    at = end + 1;
    if (parts.length > MOST_ROWS_TEXT / 2) return null;
  }
  const text = parts.join(",");
  return text.length > MOST_ROWS_TEXT ? null : text;
}

/** @param count rows beyond it are left out */
export function readRows(text: string, count: number) {
  const rows = new Set();
  for (const part of text.split(",")) {
    const found = /^(\d+)(?:-(\d+))?$/.exec(part);
    if (!found) continue;
    const last = Math.min(Number(found[2] ?? found[1]), count - 1);
    for (let row = Number(found[1]); row <= last; row += 1) rows.add(row);
  }
  return Uint32Array.from(rows).sort();
}

/** What one end of an own axis is made of: "text:king", "regex:^k", "rows:1-3". */
export function rowsSpec(text: string, column: string, count: number) {
  const [sort, rest] = [text.slice(0, text.indexOf(":")), text.slice(text.indexOf(":") + 1)];
  if (!rest) return null;
  return sort === "rows"
    ? { rows: [...readRows(rest, count)] }
    : { q: rest, match: sort === "regex" ? "regex" : "text", in: column || "*" };
}

const one = (name: string) => ((view.values(`projector.${name}`)[0] ?? "") as string);

/** All that the address says, as the panel's state has it; rows are still texts. */
export function read() {
  const components = one("components").split(",").map((part) => Number(part) - 1);
  const step = one("step");
  return {
    id: one("id"),
    step: /^-?\d+$/.test(step) ? Number(step) : null,
    projection: METHODS[one("projection")] ? one("projection") : "pca",
    dimensions: one("dims") === "3" ? 3 : 2,
    components: components.length === 3 && components.every((part) => Number.isInteger(part) && part >= 0)
      ? components
      : [0, 1, 2],
    sphere: one("sphere") === "on",
    only: one("only") === "on",
    aligned: one("aligned") === "on",
    methods: Object.fromEntries(
      Object.keys(METHODS).map((
        method,
      ) => [method, readKnobs(method, METHODS[method].knobs.length ? one(method) : "")]),
    ),
    supervise: one("supervise"),
    axes: { left: one("left"), right: one("right"), down: one("down"), up: one("up"), in: one("axes_in") },
    color: one("color"),
    categorical: one("categorical") || "auto",
    off: view.values("projector.off") as string[],
    size: one("size"),
    label: one("label"),
    labels: one("labels") || "some",
    sprites: one("sprites") === "on",
    sequence: one("sequence"),
    query: one("search"),
    regex: one("regex") === "on",
    in: one("in"),
    metric: one("metric") || "cosine",
    space: one("space") || "original",
    neighbours: Number(one("neighbours")) || 100,
    rows: one("rows"),
    focus: /^\d+$/.test(one("focus")) ? Number(one("focus")) : -1,
    isolate: one("isolate"),
    hidden: one("hidden"),
    camera: one("camera"),
    spin: one("spin") === "on",
    points: Number(one("points")) || 1,
    grid: one("grid") === "on",
    perspective: one("perspective") !== "off",
    sort: one("sort"),
    table: one("table") === "on",
    tableOf: one("table_of") || "visible",
  };
}

/**
 * Puts settings into the address.
 * @param values by name, without "projector."
 */
export function tell(values: Record<string, string | string[]>) {
  view.update((_: URLSearchParams, set: (name: string, values: string[]) => void) => {
    for (const [name, told] of Object.entries(values)) set(`projector.${name}`, Array.isArray(told) ? told : [told]);
  });
}
