/** The projection methods, their settings, and how the address encodes them. */
import type { settings } from "./settings.generated.ts";

const METRICS: [value: string, text: string][] = [["euclidean", "Euclidean"], ["cosine", "Cosine"]];

/** null lets the method choose */
export type KnobValue = number | string | null;
export type Knobs = Record<string, KnobValue>;

/** one setting of a method */
export interface Knob {
  /** as the server calls it */
  name: string;
  label: string;
  help: string;
  /** "log" is a slider over powers */
  sort: "range" | "log" | "number" | "choice";
  /** the default */
  value: KnobValue;
  minimum?: number;
  maximum?: number;
  step?: number;
  options?: [value: string, text: string][];
  /** whether it is folded away by default */
  more?: boolean;
}

const SEED: Knob = {
  name: "seed",
  label: "Seed",
  help: "Random seed: the same seed gives the same view.",
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
    "How strongly points with the same value in the column are pulled together, from 0 to 100. The view then partly reflects these labels.",
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

export interface Method {
  title: string;
  key: string;
  about: string;
  /** whether it takes long enough to be paused */
  slow: boolean;
  knobs: Knob[];
}

/** The ways to project points. */
export type Projection = (typeof settings.projection.options)[number];

export const METHODS: Record<Projection, Method> = {
  pca: {
    title: "PCA",
    key: "1",
    about: "The directions of greatest variance. Distances and directions are meaningful; fine structure is lost.",
    slow: false,
    knobs: [],
  },
  tsne: {
    title: "t-SNE",
    key: "2",
    slow: true,
    about: "Keeps neighbors together. Cluster sizes and distances between clusters mean little.",
    knobs: [
      {
        name: "perplexity",
        label: "Perplexity",
        help: "Roughly how many neighbors each point considers: 5 shows small groups, 100 the overall structure.",
        sort: "range",
        value: 30,
        minimum: 2,
        maximum: 100,
        step: 1,
      },
      {
        name: "iterations",
        label: "Iterations",
        help: "How long it runs; the view settles in about a thousand.",
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
        help: "How far points move per iteration; leave empty to choose by the number of points.",
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
        help: "How much stronger neighbors attract at the beginning, so that groups come apart.",
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
        help: "How many iterations the exaggeration lasts.",
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
    about:
      "Keeps neighbors together, and more of the overall structure than t-SNE. Distances between clusters mean little.",
    knobs: [
      {
        name: "neighbors",
        label: "Neighbors",
        help: "How many neighbors each point considers: few show detail, many the overall structure.",
        sort: "range",
        value: 15,
        minimum: 2,
        maximum: 200,
        step: 1,
      },
      {
        name: "minimum_distance",
        label: "Minimum distance",
        help: "How closely points may be packed in the view.",
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
        help: "How long it runs; leave empty to choose by the number of points.",
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
        help: "The scale of the whole view.",
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
        help: "How far points move per epoch.",
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
        help: "How many points each point is pushed away from per update.",
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
    about: "Your own axes: each leads from the center of some points to the center of others.",
    slow: false,
    knobs: [],
  },
  random: {
    title: "Random",
    key: "5",
    about: "Random directions: a baseline without any projection method.",
    slow: false,
    knobs: [{ ...SEED, more: false }],
  },
};

/** The maximum that a range offers: a point cannot have more neighbors than there are other points. */
export function mostOf({ name, minimum = 0, maximum = Infinity }: Knob, count: number): number {
  const others = name === "perplexity" ? Math.floor((count - 1) / 3) : name === "neighbors" ? count - 1 : Infinity;
  return Math.max(Math.min(maximum, others), minimum);
}

/** Parses typed text as a number; the default if it is not one. */
export function typedValue(
  { name, value, step = 1, minimum = -Infinity, maximum = Infinity }: Knob,
  text: string,
): KnobValue {
  const number = Number(text);
  if (text.trim() === "" || !Number.isFinite(number)) return value;
  const inside = Math.min(Math.max(number, minimum), maximum);
  return step >= 1 && name !== "learning_rate" ? Math.round(inside) : inside;
}

/** Writes the values that differ from their defaults: "perplexity:50,metric:cosine". */
export const writeKnobs = (method: Projection, values: Knobs): string =>
  METHODS[method].knobs.filter(({ name, value }) => values[name] !== value)
    .map(({ name }) => `${name}:${values[name] ?? ""}`).join(",");

export function readKnobs(method: Projection, text: string): Knobs {
  const given = new Map(
    text.split(",").map((part): [string, string] => {
      const at = part.indexOf(":");
      return [part.slice(0, at), part.slice(at + 1)];
    }),
  );
  return Object.fromEntries(METHODS[method].knobs.map((knob) => [knob.name, readKnob(knob, given.get(knob.name))]));
}

function readKnob(knob: Knob, text: string | undefined): KnobValue {
  if (text === undefined) return knob.value;
  if (knob.sort === "choice") return knob.options?.some(([value]) => value === text) ? text : knob.value;
  if (text.trim() === "" || !Number.isFinite(Number(text))) return knob.value;
  return Math.min(Math.max(Number(text), knob.minimum ?? -Infinity), knob.maximum ?? Infinity);
}
