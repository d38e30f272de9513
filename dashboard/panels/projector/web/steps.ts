/** The steps of an embedding: a slider, and playing them one after another while points keep their places. */
import { counted, integer } from "../../../web/core/numbers.ts";
import * as parts from "./widgets.ts";
import { icon, iconButton, make } from "../../../web/core/dom.ts";
import type { Dataset } from "./data.ts";
import type { Frame } from "./jobs.ts";
import type { Reported, State } from "./settings.ts";

const SETTLE_MS = 160;
const PLAY_MS = 900;
const PLAY = "Play the steps (Space)";

/** The parts of the panel that steps use. */
export interface StepsPanel {
  readonly state: State;
  readonly dataset: Dataset | null;
  /** how many embeddings are loading */
  readonly loading: number;
  readonly job: { readonly ended: boolean; readonly frame: Frame | null } | null;
  /** steps that are projected together */
  readonly stepsOfJob?: number[] | null;
  setAligned(on: boolean): void;
  tell(reported: Reported): void;
  load(how: { keep?: boolean }): Promise<void>;
}

export class Steps {
  readonly panel: StepsPanel;
  timer = 0;
  playing = 0;
  play = iconButton("play", PLAY, () => this.flip(), 13);
  slider = make("input", { type: "range", className: "slider-input", min: 0, step: 1, "aria-label": "Step" });
  at = make("output", { className: "pj-count" });
  aligned;
  note = make("p", { className: "pj-note" });
  element;

  constructor(panel: StepsPanel) {
    this.panel = panel;
    this.aligned = parts.check(
      "Keep points in place",
      "Every step is projected so that points stay as close as possible to their previous positions; what moves has changed.",
      (on: boolean) => panel.setAligned(on),
    );
    this.element = make(
      "section",
      { className: "pj-steps", hidden: true },
      make("div", { className: "pj-row" }, this.play, this.slider, this.at),
      this.aligned,
      this.note,
    );
    this.slider.addEventListener("input", () => {
      this.stop();
      const index = Number(this.slider.value);
      this.say(this.steps[index]);
      this.timer = window.setTimeout(() => {
        this.timer = 0;
        void this.go(index);
      }, SETTLE_MS);
    });
  }

  get steps(): number[] {
    return this.panel.dataset?.info.steps ?? [];
  }

  /** The index of the step that is shown or loading. */
  get index() {
    const { dataset, state, loading } = this.panel;
    const at = this.steps.indexOf((loading ? state.step : null) ?? dataset?.step ?? NaN);
    return at < 0 ? this.steps.length - 1 : at;
  }

  show() {
    const { steps, panel } = this;
    this.element.hidden = steps.length < 2;
    if (steps.length < 2) return;
    this.slider.max = String(steps.length - 1);
    // Keep the user's choice until it is requested.
    if (!this.timer) {
      this.slider.value = String(this.index);
      this.say(steps[this.index]);
    }
    this.aligned.show(panel.state.aligned, panel.state.projection === "custom");
    const { stepsOfJob: together, job } = panel;
    this.note.textContent = together && job?.frame && !job.ended
      ? `${integer(job.frame.frames_done ?? 0)} of ${counted(together.length, "step")} projected`
      : "";
  }

  say(step: number | undefined) {
    this.at.textContent = step === undefined ? "" : `step ${integer(step)}`;
  }

  async go(index: number) {
    const { panel, steps } = this;
    const step = steps[index];
    if (step === undefined || (step === panel.dataset?.step && step === (panel.state.step ?? step))) return;
    panel.state.step = step;
    // The last step follows the training, unless it was chosen by name.
    panel.tell({ step: String(step) });
    await panel.load({ keep: true });
    // If it could not be loaded, it is no longer the step.
    this.show();
  }

  flip() {
    if (this.playing) this.stop();
    else void this.run();
  }

  stop() {
    clearTimeout(this.timer);
    this.timer = this.playing = 0;
    this.offer("play", PLAY);
  }

  /** Shows what the button does now. */
  offer(name: string, title: string) {
    this.play.replaceChildren(icon(name, 13));
    this.play.title = this.play.ariaLabel = title;
  }

  async run() {
    const { panel, steps } = this;
    if (steps.length < 2) return;
    this.stop();
    const from = Number(this.slider.value);
    const turn = (this.playing = performance.now());
    this.offer("pause", "Pause (Space)");
    if (!panel.state.aligned && panel.state.projection !== "custom") panel.setAligned(true);
    for (
      let index = from === steps.length - 1 ? 0 : from + 1;
      this.playing === turn && index < steps.length;
      index += 1
    ) {
      const began = performance.now();
      await this.go(index);
      await new Promise((resolve) => setTimeout(resolve, Math.max(PLAY_MS - (performance.now() - began), 50)));
    }
    if (this.playing === turn) this.stop();
  }
}
