/** Everything known about one observation: its figures, its inputs and consumers, its stack and code. */
import { onKnown } from "../../../curves/web/profiled_steps.ts";
import { make, stepText, when } from "../../../web/core/dom.ts";
import { type Api, isAbort, messageOf } from "../../../web/core/request.ts";
import { toExecutionsOf, toGraph, toLine, toObservation, toRow, toScalars, toTimeline } from "./links.ts";
import { nameOf } from "./map_draw.ts";
import type { CodeLine, ObservationDetails, Related } from "./messages.generated.ts";
import type { State } from "./state.ts";
import { deviceText, figureText, kindOf, short, shortPath } from "./texts.ts";
import { ValueView } from "./value.ts";
import { button, codeLink, healthDot } from "./widgets.ts";

export class Details {
  readonly element = make("section", {
    className: "debugger-details",
    "aria-label": "Selected execution",
    tabIndex: 0,
  });
  shown: ObservationDetails | null = null;
  #api: Api;
  #asking: AbortController | null = null;
  #key = "";
  #showing: Promise<void> = Promise.resolve();
  #value: ValueView;
  #profiled = () => {};

  constructor(api: Api, ended: AbortSignal) {
    this.#api = api;
    this.#value = new ValueView(api);
    onKnown(() => this.#profiled(), ended);
  }

  /** Shows an observation; null empties the box and shows a hint. Resolves once it, or a newer one, is shown. */
  show(state: State, number: number | null, hint: string): Promise<void> {
    const key = `${state.id} ${state.version} ${number}`;
    if (key !== this.#key) {
      this.#key = key;
      this.#showing = this.#load(state, number, hint);
    }
    return this.#showing;
  }

  async #load({ id, run, curves }: State, number: number | null, hint: string): Promise<void> {
    this.#asking?.abort();
    if (number === null) {
      this.shown = null;
      this.element.replaceChildren(make("p", { className: "debugger-hint" }, hint));
      return;
    }
    const asking = this.#asking = new AbortController();
    try {
      const found = await this.#api.ask<ObservationDetails>("observation", { id, number }, { signal: asking.signal });
      // A newer observation is being shown by now.
      if (asking.signal.aborted) return await this.#showing;
      this.shown = found;
      this.#draw(id, run, curves, found);
    } catch (error) {
      if (isAbort(error) || asking.signal.aborted) return await this.#showing;
      [this.shown, this.#key] = [null, ""];
      this.element.replaceChildren(make("p", { className: "debugger-hint" }, messageOf(error)));
    }
  }

  #draw(id: string, run: string, curves: boolean, found: ObservationDetails): void {
    const { tensor, health, step, wall } = found;
    const title = make("h2", { title: tensor.name }, tensor.name);
    this.element.dataset.health = health;
    this.element.dataset.number = String(found.number);
    const links = [
      button("Health map", "Show its row in the health map", () => toRow(tensor.number), "debugger"),
      button("All executions", "List every execution that made this tensor", () => toExecutionsOf(tensor.number)),
      ...(curves
        ? [button("Scalars", `Show step ${stepText(step)} on the curves`, () => toScalars(run, step), "scalars")]
        : []),
      ...(found.graph
        ? [button("Graph", "Show it in the graph", () => void toGraph(this.#api, id, found.number), "graph")]
        : []),
    ];
    const row = make("div", { className: "debugger-links" }, ...links);
    // Which steps were profiled may only become known later.
    this.#profiled = () => {
      const timeline = toTimeline(run, step);
      if (!timeline) return;
      this.#profiled = () => {};
      row.append(button("Timeline", "Show this step on the Timeline", timeline, "timeline"));
    };
    this.#profiled();
    const at = wall === null ? "" : `, ${when(Number(wall))}`;
    const on = found.device && `, on ${deviceText(found.device, [])}`;
    this.element.replaceChildren(
      make("header", {}, healthDot(health), title),
      make("p", { className: "debugger-kind" }, kindOf(tensor)),
      make(
        "p",
        { className: "debugger-when" },
        `Step ${stepText(step)}${at}, execution ${stepText(found.number)}${on}`,
      ),
      make("p", { className: `debugger-said ${health}` }, found.verdict),
      row,
      ...code(found),
      ...related("First non-finite value inside", found.inside ? [found.inside] : [], ""),
      ...related("Inputs", found.inputs, "None of its inputs was watched."),
      figures(found),
      ...related("Consumers", found.consumers, ""),
      ...stackOf(found.stack),
      ...(found.has_value ? [this.#value.element] : []),
    );
    if (found.has_value) void this.#value.show(id, found.number);
  }
}

function code({ excerpt }: ObservationDetails): HTMLElement[] {
  if (!excerpt) return [];
  const { path, first, line, lines } = excerpt;
  const rows = lines.map((text, at) =>
    make(
      "div",
      { className: first + at === line ? "here" : "" },
      make("span", { className: "number" }, String(first + at)),
      make("code", {}, text || " "),
    )
  );
  const open = make("button", {
    type: "button",
    className: "debugger-link",
    title: `${path}: show it in Source`,
  }, `${shortPath(path, 3)}:${line}`);
  open.addEventListener("click", () => toLine(path, line));
  return [
    make("h3", {}, "Produced at ", open),
    make("div", { className: "debugger-excerpt", tabIndex: 0, role: "group", "aria-label": "Lines of code" }, ...rows),
  ];
}

function related(title: string, all: readonly Related[], nothing: string): HTMLElement[] {
  if (!all.length) return nothing ? [make("h3", {}, title), make("p", { className: "debugger-none" }, nothing)] : [];
  const rows = all.map(({ tensor, observation, health, minimum, maximum, nan }) => {
    const range = observation === null ? "not observed near this step" : `${short(minimum)} to ${short(maximum)}`;
    const said = health === "nan" ? `${short(nan)} NaN` : minimum === null && observation !== null ? "" : range;
    const row = make(
      "button",
      {
        type: "button",
        className: "debugger-related",
        disabled: observation === null,
        title: `${tensor.name}: ${kindOf(tensor)}`,
      },
      healthDot(health),
      make("span", { className: "name" }, nameOf(tensor)),
      make("span", { className: "op" }, tensor.op),
      make("span", { className: "said" }, said),
    );
    if (observation !== null) row.addEventListener("click", () => toObservation(observation));
    return row;
  });
  return [make("h3", {}, `${title} `, make("span", { className: "count" }, String(all.length))), ...rows];
}

function figures({ figures: all }: ObservationDetails): HTMLElement {
  const cells = all.map(({ name, value }) =>
    make("div", {}, make("dt", {}, figureText(name)), make("dd", { title: String(value) }, short(value)))
  );
  return make("dl", { className: "debugger-figures" }, ...cells);
}

function stackOf(stack: readonly CodeLine[]): HTMLElement[] {
  if (!stack.length) {
    return [make("h3", {}, "Stack"), make("p", { className: "debugger-none" }, "No stack was recorded.")];
  }
  // The innermost call comes first, since readers look for where it happened; runs of library calls are folded.
  const rows: HTMLElement[] = [];
  let inside: CodeLine[] = [];
  const fold = () => {
    if (inside.length < 3) rows.push(...inside.map(frame));
    else {
      const summary = make("summary", {}, `${inside.length} calls inside libraries`);
      rows.push(make("li", {}, make("details", {}, summary, make("ol", {}, ...inside.map(frame)))));
    }
    inside = [];
  };
  for (const line of stack.toReversed()) {
    if (line.library) inside.push(line);
    else {
      fold();
      rows.push(frame(line));
    }
  }
  fold();
  return [make("h3", {}, "Stack, innermost first"), make("ol", { className: "debugger-stack" }, ...rows)];
}

const frame = (line: CodeLine): HTMLElement =>
  make(
    "li",
    { className: line.library ? "library" : "" },
    codeLink(line),
    make("span", { className: "function" }, ` ${line.function}`),
    make("code", {}, line.code),
  );
