/** The curve of the selected row: a figure over steps, its bad points, and the value where it was kept. */
import { make, stepText } from "../../../web/core/dom.ts";
import { counted, integer } from "../../../web/core/numbers.ts";
import { type Api, isAbort, messageOf } from "../../../web/core/request.ts";
import { retryButton } from "../../../web/cards/loading.ts";
import { type Chart, create, redrawAll } from "../../../web/lines/chart.ts";
import type { Mark } from "../../../web/lines/scene.ts";
import { toExecutionsOf, toObservation } from "./links.ts";
import type { Curve, SpreadAnswer } from "./messages.generated.ts";
import { badText } from "./raster.ts";
import type { State } from "./state.ts";
import { figureText, kindOf } from "./texts.ts";
import { histogramOf } from "./value.ts";
import { button, healthDot } from "./widgets.ts";

type Answer = Curve & { arrays: (Float32Array | Float64Array)[] };
const LIGHT = "#3b5bdb";
const DARK = "#8ea5ff";
const BAD = { light: "#c2255c", dark: "#ff7ba8" };

export class CurveBox {
  readonly element = make("section", { className: "debugger-details debugger-curve", "aria-label": "Selected tensor" });
  #api: Api;
  #head = make("div", {});
  #plot = make("div", { className: "debugger-plot" });
  #foot = make("div", {});
  #spread = make("section", { className: "debugger-value", "aria-label": "Histogram" });
  #spreading: AbortController | null = null;
  #step: number | null = null;
  #id = "";
  #chart: Chart | null = null;
  #key = "";
  #scheme = "";
  #asking: AbortController | null = null;
  #shown: Answer | null = null;

  constructor(api: Api, ended: AbortSignal) {
    this.#api = api;
    ended.addEventListener("abort", () => {
      this.#asking?.abort();
      this.#chart?.destroy();
    });
    this.element.append(this.#head, this.#plot, this.#foot, this.#spread);
  }

  facts = () => ({
    tensor: this.#shown?.tensor.number ?? null,
    points: this.#shown ? this.#shown.arrays[this.#shown.steps].length : 0,
  });

  /** Draws a line at a step and shows how the elements were distributed there. */
  point(step: number | null): void {
    this.#step = step;
    this.#chart?.showCursor(step);
    void this.#spreadOut();
  }

  /** Requests the distribution of the shown tensor's elements at the chosen step, or at the last one. */
  async #spreadOut(): Promise<void> {
    const shown = this.#shown;
    if (!shown) return;
    this.#spreading?.abort();
    const { signal } = this.#spreading = new AbortController();
    const asked = { id: this.#id, tensor: shown.tensor.number, step: this.#step };
    try {
      const found = await this.#api.ask<SpreadAnswer>("spread", asked, { signal });
      if (signal.aborted) return;
      const title = found.missing ? "Histogram" : `Histogram at step ${stepText(found.step)}`;
      const bars = histogramOf(found.edges, found.counts, found);
      this.#spread.replaceChildren(
        make("h3", {}, title),
        ...(found.missing ? [make("p", { className: "debugger-none" }, found.missing)] : bars),
      );
    } catch (error) {
      if (isAbort(error)) return;
      this.#spread.replaceChildren(make("p", { className: "debugger-none" }, messageOf(error)));
    }
  }

  async show(state: State, tensor: number | null, figure: string, steps: string): Promise<void> {
    const key = JSON.stringify([state.id, state.version, tensor, figure, steps]);
    if (this.#scheme !== state.scheme && this.#shown) {
      this.#scheme = state.scheme;
      this.#draw(this.#shown, state);
      redrawAll();
    }
    if (key === this.#key) return;
    this.#key = key;
    this.#scheme = state.scheme;
    this.#asking?.abort();
    if (tensor === null) {
      this.#shown = null;
      return;
    }
    const asking = this.#asking = new AbortController();
    const [first, last] = steps.split(":");
    try {
      const asked = { id: state.id, tensor, figure, first, last };
      const found = await this.#api.ask<Answer>("curve", asked, { signal: asking.signal });
      if (asking.signal.aborted) return;
      this.#shown = found;
      this.#id = state.id;
      this.#draw(found, state);
      this.#chart?.showCursor(this.#step);
      void this.#spreadOut();
    } catch (error) {
      if (isAbort(error) || asking.signal.aborted) return;
      this.#fail(error, () => {
        this.#key = "";
        return this.show(state, tensor, figure, steps);
      });
    }
  }

  /** Reports why there is no curve, and hides the curve of any other tensor. */
  #fail(error: unknown, again: () => unknown): void {
    this.#shown = null;
    this.#spreading?.abort();
    this.#head.replaceChildren(
      make("p", { className: "debugger-hint" }, messageOf(error), " ", retryButton(again, "quiet")),
    );
    this.#plot.hidden = true;
    this.#foot.replaceChildren();
    this.#spread.replaceChildren();
  }

  #draw(found: Answer, state: State): void {
    const { tensor, first_bad, latest } = found;
    const bad = found.arrays[found.bad];
    const worst = ["good", "not_finite", "infinite", "nan"][Math.max(0, ...bad)];
    const said = `${figureText(found.figure)} of ${counted(found.observations, "value")}` +
      (found.not_finite ? `, ${integer(found.not_finite)} of them not finite` : "");
    this.#head.replaceChildren(
      make("header", {}, healthDot(worst), make("h2", { title: tensor.name }, tensor.name)),
      make("p", { className: "debugger-kind" }, kindOf(tensor)),
      make("p", { className: "debugger-when" }, said),
      make(
        "div",
        { className: "debugger-links" },
        ...(first_bad === null ? [] : [
          button(
            "First non-finite",
            "Show its first execution that is not finite",
            () => toObservation(first_bad),
            "alert",
          ),
        ]),
        ...(latest === null ? [] : [button("Latest", "Show its last execution", () => toObservation(latest))]),
        button("All executions", "List every execution that made this tensor", () => toExecutionsOf(tensor.number)),
      ),
    );
    this.#plot.hidden = false;
    this.#chart ??= create(this.#plot, {});
    const steps = found.arrays[found.steps];
    const [high, low, mean] = [found.high, found.low, found.mean].map((at) => found.arrays[at]);
    const sizes = [...mean].filter((value) => Number.isFinite(value) && value > 0);
    const wide = sizes.length > 1 && Math.min(...[...low].filter((value) => !Number.isNaN(value))) >= 0 &&
      Math.max(...sizes) / Math.min(...sizes) > 50;
    const color = state.scheme === "dark" ? DARK : LIGHT;
    const marks: Mark[] = [];
    steps.forEach((step, at) => {
      if (bad[at] && marks.length < 400) {
        marks.push({
          x: step,
          edge: "bottom",
          shape: "triangle-up",
          color: BAD[state.scheme],
          title: `Step ${stepText(step)}: ${badText(bad[at])}`,
        });
      }
    });
    this.#chart.setModel({
      lines: [{
        id: "figure",
        label: figureText(found.figure),
        color,
        axis: "y",
        x: steps,
        y: mean,
        low: found.exact ? null : low,
        high: found.exact ? null : high,
      }],
      marks,
      x: { scale: "linear", range: null, integer: true },
      y: { scale: wide ? "log" : "linear", range: null },
      empty: "Nothing finite was measured",
    });
    this.#foot.replaceChildren(
      ...(found.exact ? [] : [
        make(
          "p",
          { className: "debugger-none" },
          "Each point covers several steps: the line is the mean, the band the minimum to maximum.",
        ),
      ]),
      ...(marks.length
        ? [make("p", { className: "debugger-none" }, "Triangles at the bottom mark what is not finite.")]
        : []),
    );
  }
}
