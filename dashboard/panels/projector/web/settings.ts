/** What the Projector panel has in the address (dashboard/panels/projector/settings.py). */
import { type Knobs, METHODS, readKnobs } from "./knobs.ts";
import { view } from "../../../web/page/view.ts";
import type { LabelMode } from "./labels.ts";

export { type Knob, type Knobs, type KnobValue, type Method, METHODS, readKnobs, writeKnobs } from "./knobs.ts";
export { readRows, type RowsSpec, rowsSpec, writeRows } from "./rows.ts";

/** Where own axes lead from and to, as "text:king", and the column that texts are searched in. */
export interface AxesState {
  left: string;
  right: string;
  down: string;
  up: string;
  in: string;
}

/** All that the address says; rows are still texts. */
export interface State {
  id: string;
  /** null for the newest */
  step: number | null;
  projection: string;
  dimensions: 2 | 3;
  /** which principal components lie along the axes, from 0 */
  components: number[];
  sphere: boolean;
  /** whether only isolated points are projected */
  only: boolean;
  /** whether all steps are projected together */
  aligned: boolean;
  /** settings by method */
  methods: Record<string, Knobs>;
  supervise: string;
  axes: AxesState;
  /** a column, "@..." for trust, "-" for one color, empty for what suits best */
  color: string;
  /** "auto", "on" or "off" */
  categorical: string;
  /** categories that are switched off */
  off: string[];
  size: string;
  label: string;
  labels: LabelMode;
  sprites: boolean;
  sequence: string;
  query: string;
  regex: boolean;
  in: string;
  metric: string;
  /** "original" or "picture" */
  space: string;
  neighbours: number;
  rows: string;
  /** -1 for none */
  focus: number;
  isolate: string;
  hidden: string;
  camera: string;
  spin: boolean;
  /** scale of the size of points */
  points: number;
  grid: boolean;
  perspective: boolean;
  sort: string;
  table: boolean;
  tableOf: string;
}

const MODES: readonly string[] = ["none", "selected", "some", "all"] satisfies LabelMode[];
const isMode = (text: string): text is LabelMode => MODES.includes(text);

const one = (name: string): string => view.values(`projector.${name}`)[0] ?? "";

export function read(): State {
  const components = one("components").split(",").map((part) => Number(part) - 1);
  const [step, labels] = [one("step"), one("labels")];
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
      Object.entries(METHODS).map(([name, { knobs }]) => [name, readKnobs(name, knobs.length ? one(name) : "")]),
    ),
    supervise: one("supervise"),
    axes: { left: one("left"), right: one("right"), down: one("down"), up: one("up"), in: one("axes_in") },
    color: one("color"),
    categorical: one("categorical") || "auto",
    off: view.values("projector.off"),
    size: one("size"),
    label: one("label"),
    labels: isMode(labels) ? labels : "some",
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
  view.update((_params, set) => {
    for (const [name, told] of Object.entries(values)) set(`projector.${name}`, Array.isArray(told) ? told : [told]);
  });
}
