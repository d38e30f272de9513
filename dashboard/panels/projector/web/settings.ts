/** The Projector panel's settings in the address, in the form its parts use. */
import type { Setting } from "../../../web/core/setting.ts";
import { view } from "../../../web/page/view.ts";
import { type Knobs, type Projection, readKnobs } from "./knobs.ts";
import { settings } from "./settings.generated.ts";

export { type Knob, type Knobs, type KnobValue, type Method, METHODS, readKnobs, writeKnobs } from "./knobs.ts";
export { readRows, type RowsSpec, rowsSpec, writeRows } from "./rows.ts";

/** Both ends of the custom axes, as "text:king", and the column in which texts are searched. */
export interface AxesState {
  left: string;
  right: string;
  down: string;
  up: string;
  in: string;
}

type All = typeof settings;
/** Values of all settings. */
type Values = { [Name in keyof All]: All[Name] extends Setting<infer T> ? T : never };
/** Values of some settings. */
export type Reported = Partial<Values>;
type ToldOtherwise =
  | "step"
  | "dims"
  | "components"
  | "tsne"
  | "umap"
  | "random"
  | keyof Omit<AxesState, "in">
  | "axesIn"
  | "search"
  | "neighbors"
  | "focus";

/** Everything in the address; rows are still text. */
export interface State extends Omit<Values, ToldOtherwise> {
  /** null for the newest */
  step: number | null;
  dimensions: 2 | 3;
  /** the principal components along the axes, from 0 */
  components: number[];
  /** settings by method */
  methods: Record<Projection, Knobs>;
  axes: AxesState;
  query: string;
  neighbors: number;
  /** -1 for none */
  focus: number;
}

const knobsIn = (method: Projection, text = ""): Knobs => readKnobs(method, text);

/** Component indices from 0; null unless there are three. */
function componentsIn(text: string): number[] | null {
  const found = text.split(",").map((part) => Number(part) - 1);
  return found.length === 3 && found.every((part) => Number.isInteger(part) && part >= 0) ? found : null;
}

function values(): Values {
  const found = Object.entries(settings).map(([name, setting]) => [name, view.read(setting as Setting<unknown>)]);
  return Object.fromEntries(found);
}

export function read(): State {
  const {
    step,
    dims,
    components,
    tsne,
    umap,
    random,
    left,
    right,
    down,
    up,
    axesIn,
    search,
    neighbors,
    focus,
    ...same
  } = values();
  return {
    ...same,
    step: /^-?\d+$/.test(step) ? Number(step) : null,
    dimensions: dims === "3" ? 3 : 2,
    components: componentsIn(components) ?? componentsIn(settings.components.default) ?? [],
    methods: {
      pca: knobsIn("pca"),
      tsne: knobsIn("tsne", tsne),
      umap: knobsIn("umap", umap),
      custom: knobsIn("custom"),
      random: knobsIn("random", random),
    },
    axes: { left, right, down, up, in: axesIn },
    query: search,
    neighbors: Number(neighbors) || Number(settings.neighbors.default),
    focus: /^\d+$/.test(focus) ? Number(focus) : -1,
  };
}

/** Writes settings to the address. */
export function tell(reported: Reported): void {
  view.update((_params, set) => {
    for (const [name, value] of Object.entries(reported)) set(settings[name as keyof All] as Setting<unknown>, value);
  });
}
