/** The left column of the Projector panel: the data and its problems, the projection and its settings, run, trust. */
import { counted, integer } from "../../../web/core/numbers.ts";
import { hint } from "./commands.ts";
import { methodParts } from "./controls_methods.ts";
import { Running, Trust } from "./controls_run.ts";
import { METHODS } from "./knobs.ts";
import { check, fold, segmented } from "./widgets.ts";
import { icon, make } from "../../../web/core/dom.ts";
import type { DatasetInfo } from "./messages.generated.ts";
import type { ProjectorPanel } from "./panel.ts";
import { settings } from "./settings.generated.ts";

export class Controls {
  readonly panel: ProjectorPanel;
  readonly data = make("section", { className: "pj-data" });
  readonly methods;
  readonly about = make("p", { className: "pj-note" });
  readonly dimensions;
  readonly sphere;
  readonly only;
  readonly method = make("div", { className: "pj-method" });
  readonly running;
  readonly measures;
  readonly projection;
  readonly folded;
  readonly sections;
  /** The state that the method's settings were last drawn from. */
  drawn = "";
  /** Set until the user releases what was pressed. */
  held: AbortController | null = null;
  timer = 0;
  /** The shares of variance that are shown. */
  shared: number[] | null = null;

  constructor(panel: ProjectorPanel) {
    this.panel = panel;
    this.methods = segmented(
      "Projection",
      settings.projection.options.map((name) => {
        const { title, key, about } = METHODS[name];
        return [name, title, `${title} (${key}): ${about}`];
      }),
      (name) => panel.setProjection(name),
    );
    this.dimensions = segmented("Dimensions", [
      ["2", "2-D", hint("A flat view", "dimensions")],
      ["3", "3-D", hint("A view in 3-D", "dimensions")],
    ], (value) => panel.setDimensions(value === "3" ? 3 : 2));
    this.sphere = check(
      "Sphere the data",
      "Center the points and normalize each vector to length 1, so that only directions count.",
      (on) => panel.setSphere(on),
    );
    this.only = check(
      "Only isolated points",
      "Project only the isolated points.",
      (on) => panel.setOnly(on),
    );
    this.method.addEventListener("pointerdown", ({ target }) => this.hold(target));
    // Before the field's own listener: if its change comes from leaving it, the next field does not have the focus yet.
    this.method.addEventListener("change", () => this.later(), { capture: true });
    this.method.addEventListener("focusout", () => this.later());
    this.running = new Running(panel);
    this.measures = new Trust(panel);
    this.projection = make(
      "section",
      { className: "pj-section open" },
      make("h3", {}, "Projection"),
      this.methods,
      this.about,
      make("div", { className: "pj-row" }, this.dimensions, this.sphere),
      this.only,
      this.method,
      this.running.element,
    );
    this.folded = fold("trust", "Trust", true, this.measures.element);
    this.sections = [this.projection, this.folded];
  }

  show(): void {
    const { state, dataset, isolated } = this.panel;
    this.data.replaceChildren(...(dataset ? this.described(dataset.info) : []));
    this.projection.hidden = this.folded.hidden = !dataset;
    if (!dataset) return;
    const custom = state.projection === "custom";
    this.methods.show(state.projection);
    this.about.textContent = METHODS[state.projection].about;
    this.dimensions.show(custom ? "2" : String(state.dimensions));
    const space = this.dimensions.of("3");
    if (space) space.disabled = custom;
    this.sphere.show(state.sphere);
    this.only.hidden = !isolated && !state.only;
    this.only.show(state.only);
    this.showMethod();
    this.running.show();
    this.trust();
  }

  /** Does not rebuild a control before the user releases it: a drag or a click would be lost. */
  hold(target: EventTarget | null): void {
    this.held?.abort();
    const held = (this.held = new AbortController());
    const release = (event: Event) => {
      // Another field's change occurs because this one takes the focus from it.
      if (event.type === "change" && event.target !== target) return;
      held.abort();
      this.held = null;
      this.later();
    };
    // A drop-down list keeps its release events to itself.
    for (const name of ["pointerup", "pointercancel", "change", "keyup"]) {
      window.addEventListener(name, release, { capture: true, signal: held.signal });
    }
  }

  /** Shows the method's settings once the current event has had all its effects. */
  later(): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      this.showMethod();
    });
  }

  /** Shows the method's settings; fields in use are not rebuilt. */
  showMethod(): void {
    const { panel } = this;
    const { state, dataset } = panel;
    if (!dataset || this.held || this.timer) return;
    this.shared = this.shares();
    const drawn = JSON.stringify([
      state.projection,
      state.methods[state.projection],
      state.components,
      state.dimensions,
      state.supervise,
      state.axes,
      dataset.id,
      dataset.info.columns.length,
      panel.waiting,
      panel.theme.dark,
      this.shared,
    ]);
    const { activeElement } = document;
    const inside = activeElement && this.method.contains(activeElement) ? activeElement : null;
    if (drawn === this.drawn || inside?.matches("input:not([type=range])")) return;
    this.drawn = drawn;
    const label = inside?.getAttribute("aria-label");
    // Some have the same label.
    const alike = () => [...this.method.querySelectorAll<HTMLElement>(`[aria-label=${JSON.stringify(label)}]`)];
    const at = label ? alike().findIndex((one) => one === inside) : -1;
    this.method.replaceChildren(...methodParts(panel, dataset));
    if (at >= 0) alike()[at]?.focus();
  }

  shares(): number[] | null {
    return this.panel.frame10?.components?.ratios ?? null;
  }

  progress(): void {
    if (this.shares() !== this.shared) this.showMethod();
    this.running.show();
    if (this.panel.job?.state !== this.measures.shown) this.trust();
  }

  trust(): void {
    this.measures.show();
  }

  described({ count, dimensions, run, label, problems }: DatasetInfo): HTMLElement[] {
    const shape = make(
      "div",
      { className: "pj-shape" },
      make("b", {}, integer(count)),
      count === 1 ? " point of " : " points of ",
      make("b", {}, integer(dimensions)),
      dimensions === 1 ? " dimension" : " dimensions",
    );
    const place = [run && run !== "." ? run : "", label].filter(Boolean).join(" · ");
    const where = make("div", { className: "pj-note", title: `${run || ""} ${label}` }, make("bdi", {}, place));
    if (!problems.length) return [shape, where];
    const list = problems.map((problem) => {
      const times = make("span", { className: "pj-count" }, ` ×${integer(problem.count)}`);
      return make("li", {}, problem.message, problem.count > 1 ? times : "");
    });
    const notes = make(
      "details",
      { className: "pj-warn", open: this.data.querySelector("details")?.open ?? false },
      make("summary", {}, icon("alert", 13), ` ${counted(problems.length, "note")} about the data`),
      make("ul", { className: "pj-problems" }, ...list),
    );
    return [shape, where, notes];
  }
}
