// @ts-nocheck
/** The run of a long projection in the left column: its buttons, how far it is, and its loss; and how far the picture can be trusted. */
import * as colours from "./colors.ts";
import * as parts from "./parts.ts";
import { format } from "./parts.ts";
import { METHODS } from "./settings.ts";

const MORE = 500;
const WIDTH = 216;
const HEIGHT = 46;

export class Running {
  panel;
  go;
  perturb;
  stop;
  more;
  facts;
  canvas: HTMLCanvasElement;
  bar;
  progress;
  notes;
  element;
  stale: any;

  /** @param panel of projector_panel.js */
  constructor(panel: any) {
    const { make, button } = parts;
    this.panel = panel;
    this.go = button("Run", "Begin, pause or go on (Space)", () => this.press(), "main");
    this.perturb = button(
      "Perturb",
      "Move every point a little, to get it out of a poor place",
      () => panel.act("perturb"),
    );
    this.stop = button("Stop", "End it; the picture stays", () => panel.act("cancel"));
    this.more = button(`+${MORE}`, `${MORE} more iterations`, () => panel.act("extend", MORE));
    this.facts = make("dl", { className: "pj-facts" });
    this.canvas = make("canvas", { className: "pj-loss", role: "img" }) as HTMLCanvasElement;
    this.canvas.width = WIDTH * 2;
    this.canvas.height = HEIGHT * 2;
    this.bar = make("i", {});
    this.progress = make("div", { className: "pj-progress", role: "progressbar", "aria-label": "Progress" }, this.bar);
    this.notes = make("div", { className: "pj-notes" });
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

  press() {
    if (this.stale) return this.panel.project({ run: true });
    return this.panel.pauseOrRun();
  }

  show() {
    const { panel } = this;
    const { job, state, dataset } = panel;
    const slow = METHODS[state.projection].slow;
    const frame = job?.frame;
    const at = job?.state;
    const works = at === "running" || at === "queued";
    this.element.hidden = !slow && !frame?.notes?.length && at !== "failed";
    for (const one of [this.go, this.perturb, this.stop, this.more, this.progress, this.facts]) one.hidden = !slow;
    void this.mark();
    this.go.disabled = panel.waiting === "few";
    this.perturb.disabled = at !== "running" && at !== "paused" && at !== "done";
    this.stop.disabled = !works && at !== "paused";
    this.more.disabled = !job || at === "failed" || at === "queued";
    this.progress.hidden = !slow || !frame?.total || at === "done";
    this.bar.style.width = `${frame?.total ? Math.min(frame.iteration / frame.total, 1) * 100 : 0}%`;
    this.progress.setAttribute(
      "aria-valuenow",
      String(Math.round(frame?.total ? (frame.iteration / frame.total) * 100 : 0)),
    );
    this.showFacts(frame);
    this.showLoss(job);
    const { make } = parts;
    const notes = [...(frame?.notes ?? [])];
    if (panel.waiting === "run") {
      notes.push(`${format.integer(dataset.count)} points take a while: press Run to begin.`);
    }
    if (panel.waiting === "few") notes.push("Two points at least are needed.");
    this.notes.replaceChildren(
      ...notes.map((note) => make("p", { className: "pj-note" }, note)),
      ...(at === "failed"
        ? [make("p", { className: "pj-note bad", role: "alert" }, frame.message || "It failed.")]
        : []),
    );
  }

  /** What the first button does now. */
  async mark() {
    const { panel } = this;
    const { job } = panel;
    this.stale = await panel.isStale();
    if (job !== panel.job) return;
    const at = job?.state;
    const text = this.stale
      ? "Run anew"
      : at === "running" || at === "queued"
      ? "Pause"
      : at === "paused"
      ? "Resume"
      : !job
      ? "Run"
      : "Run again";
    if (!this.stale && (at === "done" || at === "cancelled") && job) this.go.hidden = at === "done";
    this.go.textContent = text;
    this.go.title = this.stale ? "The picture is of other settings: work it out for these (Space)" : `${text} (Space)`;
    this.go.classList.toggle("on", this.stale || !job);
  }

  showFacts(frame: any) {
    const { make } = parts;
    const { integer, number, seconds } = format;
    const rows = [] as [string, string][];
    if (frame && METHODS[this.panel.state.projection].slow) {
      rows.push([
        "Iteration",
        frame.total ? `${integer(frame.iteration)} of ${integer(frame.total)}` : integer(frame.iteration ?? 0),
      ]);
      if (!frame.iteration && frame.phase && !this.panel.job.ended) rows.push(["Now", frame.phase]);
      if (frame.state === "running" && frame.iteration && frame.updates_per_second > 0) {
        rows.push(["Updates a second", frame.updates_per_second.toFixed(1)]);
      }
      if (frame.state === "running" && frame.seconds_left !== null && frame.seconds_left !== undefined) {
        rows.push(["Left", seconds(frame.seconds_left)]);
      }
      if (frame.loss !== null && frame.loss !== undefined) {
        rows.push([this.panel.state.projection === "tsne" ? "KL divergence" : "Loss", number(frame.loss)]);
      }
    }
    this.facts.replaceChildren(...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
  }

  showLoss(job: any) {
    const losses = job?.losses ?? [];
    this.canvas.hidden = losses.length < 3 || !METHODS[this.panel.state.projection].slow;
    if (this.canvas.hidden) return;
    const context = this.canvas.getContext("2d") as CanvasRenderingContext2D;
    const style = getComputedStyle(this.canvas);
    context.setTransform(2, 0, 0, 2, 0, 0);
    context.clearRect(0, 0, WIDTH, HEIGHT);
    const values = losses.map(([, loss]) => loss);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const [first, last] = [losses[0][0], losses[losses.length - 1][0]];
    const x = (iteration: number) => 1 + ((iteration - first) / Math.max(last - first, 1)) * (WIDTH - 2);
    const y = (loss: number) => 3 + (1 - (loss - low) / Math.max(high - low, 1e-12)) * (HEIGHT - 6);
    context.beginPath();
    for (const [iteration, loss] of losses) context.lineTo(x(iteration), y(loss));
    context.lineWidth = 1.5;
    context.lineJoin = "round";
    context.strokeStyle = style.getPropertyValue("--accent");
    context.stroke();
    this.canvas.title = `Loss from ${format.number(losses[0][1])} to ${format.number(losses[losses.length - 1][1])}`;
    this.canvas.setAttribute("aria-label", this.canvas.title);
  }
}

export class Trust {
  panel;
  element = parts.make("div", { className: "pj-trust" });

  /** @param panel of projector_panel.js */
  constructor(panel: any) {
    this.panel = panel;
  }

  show() {
    const { panel } = this;
    const { make, button, select } = parts;
    const { quality, job } = panel;
    if (!quality || quality.state === "running") {
      const text = quality
        ? `Being measured…${quality.progress ? ` ${Math.round(quality.progress * 100)} %` : ""}`
        : job && !job.ended
        ? "Measured when the projection is done."
        : "Not measured yet.";
      const ask = !quality && job?.frame && panel.picture
        ? [button("Measure now", "Measure how far this picture keeps neighbours", () => panel.measure(true), "small")]
        : [];
      return this.element.replaceChildren(make("p", { className: "pj-note" }, text), ...ask);
    }
    if (quality.state === "failed") {
      return this.element.replaceChildren(
        make("p", { className: "pj-note bad" }, quality.message),
        button("Try again", "Measure once more", () => panel.measure(true), "small"),
      );
    }
    const rows = [["@trustworthiness", quality.trustworthiness], ["@continuity", quality.continuity], [
      "@hit",
      quality.hit,
    ], ["@kept", quality.kept]].map(([name, value]) => [colours.TRUST[name][0], value, colours.TRUST[name][1]]) as [
      string,
      number | null,
      string,
    ][];
    const list = make(
      "div",
      { className: "pj-measures" },
      ...rows.filter(([, value]) => value !== null && value !== undefined).map(([name, value, help]) =>
        measure(name, value as number, help)
      ),
    );
    const colour = select(
      "Colour by trust",
      (name: string) => panel.setColour(name),
      "Colours every point by how far the picture can be trusted there",
    );
    const usable = Object.entries(colours.TRUST).filter(([name]) => quality.points[name]);
    colour.show(
      [["", "no"], ...usable.map(([name, [title]]) => [name, title.toLowerCase()])],
      panel.colourBy.startsWith("@") ? panel.colourBy : "",
    );
    const sample = quality.sampled && quality.sampled < (panel.job?.rows?.length ?? panel.dataset.count)
      ? ` Measured on ${format.integer(quality.sampled)} points.`
      : "";
    this.element.replaceChildren(
      make("p", { className: "pj-sentence" }, sentence(quality) + sample),
      list,
      parts.field("Colour by", "Colours every point by how far the picture can be trusted there.", colour),
      make(
        "p",
        { className: "pj-note" },
        `Of ${quality.count} neighbours each.${quality.column ? ` Hit by ${quality.column}.` : ""}`,
      ),
    );
  }
}

function measure(name: string, value: number, help: string) {
  const { make } = parts;
  const bar = make("i", {});
  bar.style.width = `${Math.max(Math.min(value, 1), 0) * 100}%`;
  return make(
    "div",
    { className: "pj-measure", title: help },
    make("span", {}, name),
    make("b", {}, value.toFixed(3)),
    make("div", { className: "pj-meter" }, bar),
  );
}

/** What the numbers mean, in words. */
function sentence({ trustworthiness, continuity, kept, count }: any) {
  const nearly = Math.round(kept * count);
  const keeps = `Of ${count} true neighbours the picture shows about ${nearly}.`;
  if (trustworthiness >= 0.95 && continuity >= 0.95) return `What lies together here belongs together. ${keeps}`;
  if (trustworthiness < continuity - 0.05) {
    return `Some points lie together here that are far apart in the data. ${keeps}`;
  }
  if (continuity < trustworthiness - 0.05) return `Some groups of the data are torn apart here. ${keeps}`;
  return trustworthiness >= 0.85
    ? `The large lines are right; single neighbours need not be. ${keeps}`
    : `Do not trust what lies together here. ${keeps}`;
}
