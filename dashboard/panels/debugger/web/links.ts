/** Links from what went wrong to where it was made, within the panel and to other panels. */
import { profiledAtStep, showStep } from "../../../curves/web/profiled_steps.ts";
import { rangeOf } from "../../../curves/web/trace_steps.ts";
import { type Api, messageOf } from "../../../web/core/request.ts";
import { say } from "../../../web/page/layout.ts";
import { view } from "../../../web/page/view.ts";
import type { GraphPlace } from "./messages.generated.ts";
import { settings } from "./settings.generated.ts";

type Write = Parameters<Parameters<typeof view.update>[0]>[1];
type Page = (typeof settings.view.options)[number];

/** Opens a sub-view as a step that the back button undoes. */
export function openPage(
  page: Page,
  others: (set: Write) => void = () => {},
) {
  view.update((_params, set) => {
    set(settings.view, page);
    others(set);
  }, true);
}

const FILTERS = [settings.search, settings.phase, settings.operation, settings.module, settings.device] as const;

/** Clears all filters of executions. */
export function clearFilters(set: Write): void {
  for (const filter of FILTERS) set(filter, "");
  set(settings.bad, false);
  set(settings.steps, "");
  set(settings.tensor, "");
}

/** Opens the list of executions with one of them selected, without filters that may hide it. */
export const toObservation = (number: number): void =>
  openPage("execution", (set) => {
    clearFilters(set);
    set(settings.at, String(number));
  });

/** Lists all executions that made a tensor. */
export const toExecutionsOf = (tensor: number): void =>
  openPage("execution", (set) => {
    clearFilters(set);
    set(settings.tensor, String(tensor));
  });

/** Shows the row of a tensor in the map. */
export const toRow = (tensor: number): void =>
  openPage("map", (set) => {
    set(settings.tensor, String(tensor));
    set(settings.search, "");
    set(settings.phase, "");
  });

/** Lists all executions of a step. */
export const toStep = (step: number): void =>
  openPage("execution", (set) => {
    clearFilters(set);
    set(settings.steps, `${step}:${step}`);
    set(settings.at, "");
  });

export const toLine = (path: string, line: number): void =>
  openPage("source", (set) => {
    set(settings.file, path);
    set(settings.line, String(line));
  });

/** Shows a step on the curves of the run. */
export const toScalars = (run: string, step: number): void => void showStep(run, step);

/** Returns an action that shows a step on the Timeline, or null if the step was not profiled. */
export function toTimeline(run: string, step: number): (() => void) | null {
  const known = profiledAtStep(run, step);
  if (!known) return null;
  return () => {
    // A better one may have become known since.
    const entry = profiledAtStep(run, step) ?? known;
    view.open("timeline", {
      "timeline.trace": [entry.trace],
      "timeline.range": [rangeOf(entry)],
      "timeline.slice": [],
    });
  };
}

/** Shows the operation or module in the Graph. */
export async function toGraph(api: Api, id: string, number: number): Promise<void> {
  const place = () => [...view.values("tab"), view.read(settings.view), view.read(settings.at)].join("\n");
  const before = place();
  try {
    const { graph, node, problem } = await api.ask<GraphPlace>("graph_place", { id, number });
    // If the user has gone elsewhere in the meantime, stay there.
    if (place() !== before) return;
    if (problem) say(problem);
    else view.open("graph", { "graph.id": [graph], "graph.node": [node], "graph.search": [], "graph.function": [] });
  } catch (error) {
    say(messageOf(error));
  }
}
