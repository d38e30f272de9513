/** Ways from what went wrong to where it was made, inside the panel and to the other panels. */
import { profiledAtStep, showStep } from "../../../curves/web/profiled_steps.ts";
import { rangeOf } from "../../../curves/web/trace_steps.ts";
import { view } from "../../../web/page/view.ts";
import type { ObservationDetails } from "./messages.generated.ts";
import { settings } from "./settings.generated.ts";

type Page = (typeof settings.view.options)[number];

/** Opens a sub-view, as a step that the back button undoes. */
export function openPage(
  page: Page,
  others: (set: Parameters<Parameters<typeof view.update>[0]>[1]) => void = () => {},
) {
  view.update((_params, set) => {
    set(settings.view, page);
    others(set);
  }, true);
}

/** The list of executions with one of them selected, without filters that may hide it. */
export const toObservation = (number: number): void =>
  openPage("execution", (set) => {
    set(settings.at, String(number));
    set(settings.search, "");
    set(settings.phase, "");
    set(settings.bad, false);
    set(settings.steps, "");
    set(settings.tensor, "");
  });

/** All executions that made a tensor. */
export const toExecutionsOf = (tensor: number): void =>
  openPage("execution", (set) => {
    set(settings.tensor, String(tensor));
    set(settings.search, "");
    set(settings.phase, "");
    set(settings.bad, false);
  });

/** The row of a tensor in the map. */
export const toRow = (tensor: number): void =>
  openPage("map", (set) => {
    set(settings.tensor, String(tensor));
    set(settings.search, "");
    set(settings.phase, "");
  });

/** All executions of a step. */
export const toStep = (step: number): void =>
  openPage("execution", (set) => {
    set(settings.steps, `${step}:${step}`);
    set(settings.at, "");
    set(settings.search, "");
    set(settings.phase, "");
    set(settings.bad, false);
    set(settings.tensor, "");
  });

export const toLine = (path: string, line: number): void =>
  openPage("source", (set) => {
    set(settings.file, path);
    set(settings.line, String(line));
  });

/** A step on the curves of the run. */
export const toScalars = (run: string, step: number): void => void showStep(run, step);

/** A step on the Timeline; null where it was not profiled. */
export function toTimeline(run: string, step: number): (() => void) | null {
  const entry = profiledAtStep(run, step);
  if (!entry) return null;
  return () =>
    view.open("timeline", {
      "timeline.trace": [entry.trace],
      "timeline.range": [rangeOf(entry)],
      "timeline.slice": [],
    });
}

/** The operation or the module in the Graph; null where the log directory has no graph. */
export function toGraph({ graph, node }: ObservationDetails): (() => void) | null {
  if (!graph || !node) return null;
  return () => view.open("graph", { "graph.id": [graph], "graph.node": [node], "graph.search": [node] });
}
