// @ts-nocheck
/** The left column of the Projector panel: the data and its problems, the projection with its settings, its run, its trust. */
import * as projectorParts from "./parts.ts";
import { format } from "./parts.ts";
import { METHODS } from "./settings.ts";
import { Running, Trust } from "./controls_run.ts";
import { elements } from "../../../web/core/dom.ts";
import { methodParts } from "./controls_methods.ts";

export class Controls {
  panel;
  data;
  methods;
  about;
  dimensions;
  sphere;
  only;
  method;
  running;
  measures;
  projection;
  folded;
  sections;
  drawn = "";
  /** Until the hand lets go of what it has pressed. */
  held: AbortController | null = null;
  timer = 0;
  shared: any;

  /** @param panel of projector_panel.js */
  constructor(panel: any) {
    const { make, segmented, check, fold } = projectorParts;
    this.panel = panel;
    this.data = make("section", { className: "pj-data" });
    this.methods = segmented(
      "Projection",
      Object.entries(METHODS).map((
        [name, method],
      ) => [name, method.title, `${method.title} (${method.key}): ${method.about}`]),
      (name: string) => panel.setProjection(name),
    );
    this.about = make("p", { className: "pj-note" });
    this.dimensions = segmented("Dimensions", [["2", "2-D", "A flat picture (D)"], [
      "3",
      "3-D",
      "A picture in space (D)",
    ]], (value: string) => panel.setDimensions(Number(value)));
    this.sphere = check(
      "Sphere the data",
      "The middle of all points is taken away and every vector is made one long, so that only directions count.",
      (on: boolean) => panel.setSphere(on),
    );
    this.only = check(
      "Only isolated points",
      "The projection sees only the points that are isolated.",
      (on: boolean) => panel.setOnly(on),
    );
    this.method = make("div", { className: "pj-method" });
    this.method.addEventListener("pointerdown", (event: PointerEvent) => this.hold(event));
    // Before the field's own listener: where its change comes from leaving it, the next one does not have the focus yet.
    this.method.addEventListener("change", () => this.later(), { capture: true });
    this.method.addEventListener("focusout", () => this.later());
    this.running = new Running(panel);
    this.measures = new Trust(panel);
    const shape = make("div", { className: "pj-row" }, this.dimensions, this.sphere);
    this.projection = make(
      "section",
      { className: "pj-section open" },
      make("h3", {}, "Projection"),
      this.methods,
      this.about,
      shape,
      this.only,
      this.method,
      this.running.element,
    );
    this.folded = fold("trust", "Trust", true, this.measures.element);
    this.sections = [this.projection, this.folded];
  }

  show() {
    const { panel } = this;
    const { state, dataset } = panel;
    this.showData();
    this.projection.hidden = this.folded.hidden = !dataset;
    if (!dataset) return;
    const method = METHODS[state.projection];
    this.methods.show(state.projection);
    this.about.textContent = method.about;
    this.dimensions.show(state.projection === "custom" ? "2" : String(state.dimensions));
    this.dimensions.of("3").disabled = state.projection === "custom";
    this.sphere.show(state.sphere);
    this.only.hidden = !panel.isolated && !state.only;
    this.only.show(state.only);
    this.showMethod();
    this.running.show();
    this.trust();
  }

  /** What is under the hand is not made anew before it lets go: a drag or a click would be lost. */
  hold({ target }: PointerEvent) {
    this.held?.abort();
    const held = (this.held = new AbortController());
    const release = (event: Event) => {
      // That of another field comes because this one takes the focus from it.
      if (event.type === "change" && event.target !== target) return;
      held.abort();
      this.held = null;
      this.later();
    };
    // A list of choices keeps what lets go of it to itself.
    for (const name of ["pointerup", "pointercancel", "change", "keydown"]) {
      window.addEventListener(name, release, { capture: true, signal: held.signal });
    }
  }

  /** Shows the settings of the method when the event that is under way has had all its effects. */
  later() {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      this.showMethod();
    });
  }

  /** The settings of the method; fields that are in use are not made anew. */
  showMethod() {
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
    const typing = document.activeElement?.matches("input:not([type=range])") &&
      this.method.contains(document.activeElement);
    if (drawn === this.drawn || typing) return;
    this.drawn = drawn;
    const held = document.activeElement?.getAttribute("aria-label");
    // Some are called alike.
    const alike = () => [...this.method.querySelectorAll(`[aria-label=${JSON.stringify(held)}]`)];
    const at = held ? alike().indexOf(document.activeElement) : -1;
    this.method.replaceChildren(...methodParts(panel));
    if (at >= 0) alike()[at]?.focus();
  }

  shares() {
    return this.panel.frame10?.components?.ratios ?? null;
  }

  progress() {
    if (this.shares() !== this.shared) this.showMethod();
    this.running.show();
  }

  trust() {
    this.measures.show();
  }

  showData() {
    const { dataset } = this.panel;
    const { make } = projectorParts;
    const { integer } = format;
    if (!dataset) return void this.data.replaceChildren();
    const { info } = dataset;
    const shape = make(
      "div",
      { className: "pj-shape" },
      make("b", {}, integer(info.count)),
      info.count === 1 ? " point of " : " points of ",
      make("b", {}, integer(info.dimensions)),
      info.dimensions === 1 ? " dimension" : " dimensions",
    );
    const where = make(
      "div",
      { className: "pj-note", title: `${info.run || ""} ${info.label}` },
      make("bdi", {}, [info.run && info.run !== "." ? info.run : "", info.label].filter(Boolean).join(" · ")),
    );
    const problems = info.problems ?? [];
    const parts = [shape, where];
    if (problems.length) {
      const total = problems.length;
      const list = make(
        "ul",
        { className: "pj-problems" },
        ...problems.map((problem: any) =>
          make(
            "li",
            {},
            problem.message,
            problem.count > 1 ? make("span", { className: "pj-count" }, ` ×${integer(problem.count)}`) : "",
          )
        ),
      );
      parts.push(
        make(
          "details",
          { className: "pj-warn", open: this.data.querySelector("details")?.open ?? false },
          make("summary", {}, elements.icon("alert", 13), ` ${total} ${total === 1 ? "note" : "notes"} about the data`),
          list,
        ),
      );
    }
    this.data.replaceChildren(...parts);
  }
}
