/** A long projection's run in the left column (buttons, progress, and loss), and how far the picture can be trusted. */
import { integer } from "../../../web/core/numbers.ts";
import { TRUST } from "./colors.ts";
import { hint } from "./commands.ts";
import { factsOf } from "./frames.ts";
import { METHODS } from "./knobs.ts";
import { button, complaint, field, format, type Option, remark, select } from "./widgets.ts";
import { sentence } from "./quality.ts";
import { make } from "../../../web/core/dom.ts";
import type { Job, JobState } from "./jobs.ts";
import type { ProjectorPanel } from "./panel.ts";
import type { Measured } from "./quality.ts";

const MORE = 500;
const WIDTH = 216;
const HEIGHT = 46;

export class Running {
  readonly panel: ProjectorPanel;
  readonly go;
  readonly perturb;
  readonly stop;
  readonly more;
  readonly facts = make("dl", { className: "pj-facts" });
  readonly canvas = make("canvas", { className: "pj-loss", role: "img", width: WIDTH * 2, height: HEIGHT * 2 });
  readonly bar = make("i");
  readonly progress;
  readonly notes = make("div", { className: "pj-notes" });
  readonly element;
  /** Whether the picture was made with other settings. */
  stale = false;

  constructor(panel: ProjectorPanel) {
    this.panel = panel;
    this.go = button("Run", hint("Start, pause or resume", "run"), () => this.press(), "main");
    this.perturb = button(
      "Perturb",
      "Move every point slightly to escape a local minimum",
      () => panel.act("perturb"),
    );
    this.stop = button("Stop", "Stop; the view stays", () => panel.act("cancel"));
    this.more = button(`+${MORE}`, `${MORE} more iterations`, () => panel.act("extend", MORE));
    this.progress = make("div", { className: "pj-progress", role: "progressbar", "aria-label": "Progress" }, this.bar);
    this.element = make(
      "div",
      { className: "pj-run" },
      make("div", { className: "pj-row" }, this.go, this.perturb, this.stop, this.more),
      this.progress,
      this.facts,
      this.canvas,
      this.notes,
    );
  }

  press(): void {
    if (this.stale) void this.panel.project({ run: true });
    else void this.panel.pauseOrRun();
  }

  show(): void {
    const { job, state, dataset, waiting } = this.panel;
    const { slow } = METHODS[state.projection];
    const frame = job?.frame ?? null;
    const at = job?.state;
    this.element.hidden = !slow && !frame?.notes.length && at !== "failed";
    for (const one of [this.go, this.perturb, this.stop, this.more, this.facts]) one.hidden = !slow;
    void this.mark();
    this.go.disabled = waiting === "few";
    this.perturb.disabled = at !== "running" && at !== "paused" && at !== "done";
    this.stop.disabled = at !== "running" && at !== "queued" && at !== "paused";
    this.more.disabled = !job || at === "failed" || at === "queued";
    this.progress.hidden = !slow || !frame?.total || at === "done";
    const share = frame?.total ? frame.iteration / frame.total : 0;
    this.bar.style.width = `${Math.min(share, 1) * 100}%`;
    this.progress.setAttribute("aria-valuenow", String(Math.round(share * 100)));
    const facts = frame && slow ? factsOf(frame, state.projection === "tsne" ? "KL divergence" : "Loss") : [];
    this.facts.replaceChildren(...facts.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
    this.showLoss(slow ? job : null);
    const notes = [...(frame?.notes ?? [])];
    if (waiting === "run" && dataset) {
      notes.push(`${integer(dataset.count)} points take a while. Press Run to start.`);
    }
    if (waiting === "few") notes.push("At least two points are needed.");
    this.notes.replaceChildren(
      ...notes.map((note) => remark(note)),
      ...(at === "failed" ? [complaint(frame?.message || "The projection failed.")] : []),
    );
  }

  /** Shows what the first button does now. */
  async mark(): Promise<void> {
    const { panel } = this;
    const { job } = panel;
    this.stale = await panel.isStale();
    if (job !== panel.job) return;
    const at = job?.state;
    const texts: Partial<Record<string, string>> = { running: "Pause", queued: "Pause", paused: "Resume" };
    const text = this.stale ? "Run again" : !at ? "Run" : texts[at] ?? "Run again";
    if (!this.stale && (at === "done" || at === "cancelled")) this.go.hidden = at === "done";
    this.go.textContent = text;
    this.go.title = hint(this.stale ? "The view was made with other settings; run with these" : text, "run");
    this.go.classList.toggle("on", this.stale || !job);
  }

  showLoss(job: Job | null): void {
    const losses = job?.losses ?? [];
    this.canvas.hidden = losses.length < 3;
    const context = this.canvas.getContext("2d");
    if (this.canvas.hidden || !context) return;
    context.setTransform(2, 0, 0, 2, 0, 0);
    context.clearRect(0, 0, WIDTH, HEIGHT);
    const values = losses.map(([, loss]) => loss);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const [[first, began], [last, now]] = [losses[0], losses[losses.length - 1]];
    const x = (iteration: number) => 1 + ((iteration - first) / Math.max(last - first, 1)) * (WIDTH - 2);
    const y = (loss: number) => 3 + (1 - (loss - low) / Math.max(high - low, 1e-12)) * (HEIGHT - 6);
    context.beginPath();
    for (const [iteration, loss] of losses) context.lineTo(x(iteration), y(loss));
    context.lineWidth = 1.5;
    context.lineJoin = "round";
    context.strokeStyle = getComputedStyle(this.canvas).getPropertyValue("--accent");
    context.stroke();
    this.canvas.title = `Loss from ${format.number(began)} to ${format.number(now)}`;
    this.canvas.setAttribute("aria-label", this.canvas.title);
  }
}

export class Trust {
  readonly panel: ProjectorPanel;
  readonly element = make("div", { className: "pj-trust" });
  /** The state of the job that is shown. */
  shown: JobState | undefined;

  constructor(panel: ProjectorPanel) {
    this.panel = panel;
  }

  show(): void {
    const { panel } = this;
    const { quality, job, picture } = panel;
    this.shown = job?.state;
    const ask = (text: string, title: string) => button(text, title, () => panel.measure(true), "small");
    if (quality?.state === "done") this.element.replaceChildren(...this.measured(quality));
    else if (quality?.state === "failed") {
      this.element.replaceChildren(remark(quality.message, "bad"), ask("Try again", "Measure again"));
    } else if (quality) {
      const share = quality.progress ? ` ${Math.round(quality.progress * 100)}%` : "";
      this.element.replaceChildren(remark(`Measuring…${share}`));
    } else {
      const text = job && !job.ended ? "Measured when the projection is done." : "Not measured yet.";
      // While the picture moves, measures of it would be outdated at once.
      const still = job?.frame && picture && job.state !== "running";
      const now = still ? [ask("Measure now", "Measure how well this view keeps neighbors")] : [];
      this.element.replaceChildren(remark(text), ...now);
    }
  }

  measured(quality: Measured): HTMLElement[] {
    const { panel } = this;
    const { trustworthiness, continuity, hit, kept, points, sampled, count, column } = quality;
    const values = { "@trustworthiness": trustworthiness, "@continuity": continuity, "@hit": hit, "@kept": kept };
    const measures = Object.entries(values).flatMap(([name, value]) => (value === null ? [] : [meter(name, value)]));
    const help = "Color every point by how far the view can be trusted there";
    const color = select("Color by trust", (name) => void panel.setColor(name), help);
    const rated = Object.entries(TRUST).filter(([name]) => points[name]);
    color.show(
      [["", "none"], ...rated.map(([name, [title]]): Option => [name, title.toLowerCase()])],
      panel.colorBy.startsWith("@") ? panel.colorBy : "",
    );
    const all = panel.job?.rows?.length ?? panel.dataset?.count ?? 0;
    const sample = sampled && sampled < all ? ` Measured on ${integer(sampled)} points.` : "";
    return [
      make("p", { className: "pj-sentence" }, sentence(quality) + sample),
      make("div", { className: "pj-measures" }, ...measures),
      field("Color by", `${help}.`, color),
      remark(`Based on ${count} nearest neighbors each${column ? `; hit = same ${column}` : ""}.`),
    ];
  }
}

/** Shows one of the measures of `TRUST`. */
function meter(measure: string, value: number): HTMLElement {
  const [name, help] = TRUST[measure];
  const bar = make("i");
  bar.style.width = `${Math.max(Math.min(value, 1), 0) * 100}%`;
  return make(
    "div",
    { className: "pj-measure", title: help },
    make("span", {}, name),
    make("b", {}, value.toFixed(3)),
    make("div", { className: "pj-meter" }, bar),
  );
}
