/** How the Projector panel gets its pictures: projections as server jobs, frames, steps, and their quality. */
import { counted } from "../../../web/core/numbers.ts";
import { isAbort, messageOf } from "../../../web/core/request.ts";
import { progressText, someOf, spread } from "./frames.ts";
import { type Action, type Frame, Job } from "./jobs.ts";
import { type Knobs, type KnobValue, METHODS, type Projection, writeKnobs } from "./knobs.ts";
import { type Quality, qualityOf, type QualityPack } from "./quality.ts";
import { readRows, rowsSpec } from "./rows.ts";
import { PanelWithSelection } from "./selection.ts";
import { frameOf } from "./view.ts";
import type { Axis, Frame as Box } from "./axes.ts";
import type { PictureOf, Waiting } from "./panel_base.ts";
import type { AxesState } from "./settings.ts";

/** Slow methods start automatically up to this many points. */
const MOST_AT_ONCE = 20_000;
const GLIDE_MS = 450;
/** Neighbors of each point that a measure considers. */
const COUNT = 12;

export abstract class PanelWithProjection extends PanelWithSelection {
  /** How many projections have been requested. */
  requested = 0;
  /** The job's order, as text. */
  ordered = "";
  /** Which of several pictures is shown. */
  shownIndex: number | null | undefined = undefined;
  /** The scale at which the pictures of several steps are drawn. */
  scale: Box | null = null;
  measuring: AbortController | null = null;

  // ---- requests

  setProjection(projection: Projection): void {
    if (projection === this.state.projection) return;
    Object.assign(this.state, { projection, camera: "" });
    this.tell({ projection, camera: "" });
    this.controls.show();
    void this.project({});
  }

  setDimensions(dimensions: 2 | 3): void {
    if (dimensions === this.state.dimensions) return;
    this.state.dimensions = dimensions;
    this.state.camera = "";
    this.tell({ dims: dimensions === 3 ? "3" : "2", camera: "" });
    this.tools.show();
    this.controls.show();
    if (this.state.projection === "pca" && this.frame10) {
      this.showFrame(this.frame10, { glide: true, keepCamera: false });
      this.remeasure();
    } else void this.project({});
  }

  /** Puts a component along an axis; the one it replaces moves to where it was. */
  setComponent(axis: number, component: number): void {
    const components = [...this.state.components];
    const other = components.indexOf(component);
    if (other >= 0) components[other] = components[axis];
    components[axis] = component;
    this.state.components = components;
    this.tell({ components: components.map((one) => one + 1).join(",") });
    this.controls.show();
    if (!this.frame10) return;
    this.showFrame(this.frame10, { glide: true, keepCamera: true });
    this.remeasure();
  }

  setSphere(on: boolean): void {
    this.state.sphere = on;
    this.tell({ sphere: on });
    void this.changedSettings();
  }

  /** Sets whether only the isolated points are projected. */
  setOnly(on: boolean): void {
    this.state.only = on;
    this.tell({ only: on });
    void this.changedSettings();
  }

  setAligned(on: boolean): void {
    this.state.aligned = on;
    this.tell({ aligned: on });
    this.steps.show();
    void this.project({ keepCamera: true });
  }

  /** @param projection the method that the setting belongs to */
  setKnob(projection: Projection, name: string, value: KnobValue): void {
    const { state } = this;
    state.methods[projection][name] = value;
    this.tell({ [projection]: writeKnobs(projection, state.methods[projection]) });
    if (projection === state.projection) void this.changedSettings();
  }

  setSupervise(column: string): void {
    this.state.supervise = column;
    this.tell({ supervise: column });
    void this.changedSettings();
  }

  setAxes(axes: Partial<AxesState>): void {
    Object.assign(this.state.axes, axes);
    const { in: column, ...ends } = this.state.axes;
    this.tell({ ...ends, axesIn: column });
    this.controls.show();
    if (this.state.projection === "custom") void this.project({});
  }

  /** Reruns a fast method at once; a slow one reports that its picture was made with other settings. */
  async changedSettings(): Promise<void> {
    if (!METHODS[this.state.projection].slow) return await this.project({});
    this.controls.show();
  }

  /** Returns what the server is asked to compute for the current settings. */
  async order(dataset: NonNullable<typeof this.dataset>) {
    const { projection, methods, dimensions, axes, only, aligned, sphere, supervise } = this.state;
    const given = Object.entries(methods[projection]).filter(([, value]) => value !== null);
    const chosen: Knobs = Object.fromEntries(given);
    if (projection !== "pca" && projection !== "custom") chosen.dimensions = dimensions;
    const spec = (text: string) => rowsSpec(text, axes.in, dataset.count);
    const ends = projection === "custom" ? [[axes.left, axes.right], [axes.down, axes.up]] : [];
    const together = aligned && dataset.info.steps.length > 1 && projection !== "custom";
    const steps = together ? someOf(dataset.info.steps, dataset.step) : null;
    return {
      ...dataset.at,
      // Steps that are projected together share one order, whichever of them is shown.
      step: steps ? null : dataset.step,
      steps,
      projection,
      settings: chosen,
      sphere,
      supervise: chosen.supervision ? supervise || this.columnOfColors || null : null,
      rows: only && this.isolated ? await dataset.keyOf(this.isolated) : null,
      axes: ends.map(([left, right]) => ({ left: spec(left), right: spec(right) })).filter(({ left, right }) =>
        left && right
      ),
    };
  }

  /** The column that the points are colored by, if any. */
  get columnOfColors(): string {
    return this.colorBy.startsWith("@") ? "" : this.colorBy;
  }

  // ---- jobs

  /**
   * Starts the chosen projection, or finds it if it was started before.
   * @param how `run`: even if it takes long
   */
  async project({ keepCamera = false, run = false }: { keepCamera?: boolean; run?: boolean }): Promise<void> {
    const { dataset, state } = this;
    if (!dataset || !this.root.isConnected) return;
    const requested = (this.requested += 1);
    this.job?.leave();
    this.job =
      this.frame10 =
      this.stepsOfJob =
      this.scale =
        null;
    this.shownIndex = undefined;
    this.setQuality(null);
    const { slow } = METHODS[state.projection];
    const nowhere = state.projection === "custom" && !(state.axes.left && state.axes.right);
    this.waiting = nowhere ? "axes" : dataset.count < 2 && slow ? "few" : "";
    if (this.waiting) return this.hold(this.waiting);
    this.controls.show();
    this.showStatus();
    const job: Job = new Job(this.api, (frame) => this.job === job && this.onFrame(job, frame, keepCamera));
    this.job = job;
    try {
      const order = await this.order(dataset);
      if (requested !== this.requested) return;
      this.ordered = JSON.stringify(order);
      this.stepsOfJob = order.steps;
      if (order.steps) job.index = Math.max(order.steps.indexOf(dataset.step ?? NaN), 0);
      // Slow projections start only on request; known results are shown at once.
      const known = await job.start("project", {
        ...order,
        only_if_known: slow && !run && dataset.count > MOST_AT_ONCE,
      });
      if (!known && this.job === job) this.hold("run");
    } catch (error) {
      if (this.job === job && !isAbort(error)) job.fail(messageOf(error));
    }
  }

  /** Starts nothing until the user acts. */
  hold(reason: Waiting): void {
    this.waiting = reason;
    this.job = this.stepsOfJob = null;
    this.controls.show();
    this.showStatus();
    if (!this.picture) void this.showSomething();
  }

  /** Shows something while a long projection waits to be started: two principal components. */
  async showSomething(): Promise<void> {
    const { dataset } = this;
    const job = new Job(this.api, (frame) => {
      if (dataset !== this.dataset || this.job || !frame.coordinates) return;
      this.showFrame(frame, { glide: false, keepCamera: false, as: "pca" });
    });
    const none = { steps: null, settings: {}, supervise: null, rows: null, axes: [] };
    try {
      await job.start("project", { ...dataset?.at, ...none, projection: "pca", sphere: this.state.sphere });
    } catch (error) {
      if (!isAbort(error)) this.notify(messageOf(error));
    }
  }

  /** Whether the picture was made with other settings than those chosen. */
  async isStale(): Promise<boolean> {
    const { dataset } = this;
    return Boolean(dataset && this.job && this.ordered && JSON.stringify(await this.order(dataset)) !== this.ordered);
  }

  onFrame(job: Job, frame: Frame, keepCamera: boolean): void {
    if (frame.coordinates) {
      const other = this.shownIndex !== job.index;
      this.shownIndex = job.index;
      this.showFrame(frame, { glide: other || job.updates === 1, keepCamera: keepCamera || job.updates > 1 });
      this.setQuality(null);
      // Neighbors in the projection are now those of another one; while it moves, they are left alone.
      if (this.state.space === "picture" && this.focus >= 0 && (job.ended || this.nearest?.space !== "picture")) {
        void this.findNearest();
      }
    }
    if (frame.state === "failed" && !this.picture) this.say(frame.message || "The projection failed.", "bad");
    if (frame.state === "done" && !this.quality) void this.measure(false);
    this.showStatus();
    this.controls.progress();
    this.steps.show();
  }

  /** Draws a frame; for a principal component analysis, the chosen components. */
  showFrame(
    frame: Partial<Frame>,
    { glide, keepCamera, as = this.state.projection }: { glide: boolean; keepCamera: boolean; as?: Projection },
  ): void {
    const { state, dataset, view } = this;
    const { coordinates, dimensions: columns, rows = null } = frame;
    if (!dataset || !coordinates || !columns) return;
    if (as === "pca") this.frame10 = frame;
    if (this.job) this.job.rows = rows;
    const shown = as === "pca" ? state.dimensions : as === "custom" || columns < 3 ? 2 : 3;
    const picked = (as === "pca" ? state.components : [0, 1, 2]).slice(0, shown);
    const known = picked.map((component) => (component < columns ? component : -1));
    const values = spread(coordinates, columns, known, rows, dataset.count);
    const fresh = this.picture?.dimensions !== shown;
    const same = !fresh && this.picture?.key === as;
    this.picture = { values, dimensions: shown, key: as };
    this.say("");
    // All steps are drawn at one scale.
    if (!this.stepsOfJob || frame.state !== "done") this.scale = null;
    else this.scale ??= frameOf(values, shown, rows);
    view.setPoints(values, shown, {
      animate: glide && !fresh ? GLIDE_MS : 0,
      keepCamera: (keepCamera && !fresh) || same,
      frame: this.scale,
      rows,
    });
    view.setAxes(this.axesOf(frame, picked, as));
    if (fresh) {
      this.dress();
      if (state.camera) view.setCamera(state.camera);
    }
    view.setSpin(state.spin && shown === 3);
  }

  /** @param components along X, Y and Z */
  axesOf(frame: Partial<Frame>, components: readonly number[], as: Projection): Axis[] {
    if (as === "pca") {
      return components.map((component) => ({
        name: `PC ${component + 1}`,
        share: frame.components?.ratios[component] ?? null,
      }));
    }
    if (as !== "custom") return [];
    const count = this.dataset?.count ?? 0;
    const said = (text: string) => {
      const rest = text.slice(text.indexOf(":") + 1);
      return text.startsWith("rows:") ? counted(readRows(rest, count).length, "point") : rest.slice(0, 40);
    };
    const { left, right, down, up } = this.state.axes;
    const named = [[left, right], [down, up]].filter(([one, other]) => one && other).map(([one, other]) => ({
      name: `${said(one)} → ${said(other)}`,
      share: null,
    }));
    return named.length === 1 ? [...named, { name: "greatest remaining variance", share: null }] : named;
  }

  /** Applies everything else to a view that has points for the first time. */
  dress(): void {
    const { view } = this;
    const { points, grid, perspective } = this.state;
    view.setPointScale(points);
    view.setGrid(grid);
    view.setPerspective(perspective);
    this.paint();
    this.relabel();
    view.setSelection(this.selection);
    this.showFocus();
    this.tools.applyTool();
  }

  /**
   * Follows the picture of the chosen step, in a job with several.
   * @returns whether there is such a job
   */
  showStep(): boolean {
    const { job } = this;
    if (!job || !this.stepsOfJob || !this.state.aligned || job.state === "failed") return false;
    const index = this.stepsOfJob.indexOf(this.dataset?.step ?? NaN);
    if (index < 0) return false;
    job.watch(index);
    this.setQuality(null);
    return true;
  }

  async act(action: Action, iterations?: number): Promise<void> {
    try {
      await this.job?.act(action, iterations);
    } catch (error) {
      if (!isAbort(error)) this.notify(messageOf(error));
    }
  }

  /** Pauses, resumes, or starts. */
  async pauseOrRun(): Promise<void> {
    if (!METHODS[this.state.projection].slow) return;
    const state = this.job?.state;
    if (state === "running" || state === "queued") await this.act("pause");
    else if (state === "paused") await this.act("resume");
    else await this.project({ run: true });
  }

  /** Shows the job's progress in the corner of the cloud. */
  showStatus(): void {
    const { picture, state } = this;
    const frame = this.job?.frame;
    let text = frame ? progressText(frame, METHODS[state.projection].title) : "";
    // The left column gives the reason.
    if ((frame?.state === "failed" && !this.frame.classList.contains("no-left")) || this.waiting) {
      text = picture && picture.key !== state.projection ? `Still showing ${METHODS[picture.key].title}` : "";
    }
    this.status.textContent = text;
    this.status.hidden = !text;
  }

  pictureOf(): PictureOf {
    const { job, state, picture } = this;
    const most = this.frame10?.dimensions ?? 0;
    const components = picture?.key === "pca"
      ? state.components.slice(0, picture.dimensions).filter((one) => one < most).join(",")
      : null;
    return { job: job?.key, frame: job?.index ?? null, components };
  }

  // ---- trust

  setQuality(quality: Quality | null): void {
    const changed = this.quality !== quality;
    if (!quality) this.measuring?.abort();
    this.quality = quality;
    if (!changed) return;
    this.controls.trust();
    if (this.colorBy.startsWith("@")) void this.recolor();
  }

  /** Called when another picture of the same job is shown. */
  remeasure(): void {
    this.setQuality(null);
    if (this.job?.state === "done") void this.measure(false);
    if (this.state.space === "picture" && this.focus >= 0) void this.findNearest();
  }

  /**
   * Measures how well the picture keeps neighbors.
   * @param requested by the user; large data is only measured then
   */
  async measure(requested: boolean): Promise<void> {
    const { job, dataset } = this;
    if (!job?.key || !dataset || dataset.count < 3) return;
    if (!requested && dataset.count > MOST_AT_ONCE && !this.colorBy.startsWith("@")) return;
    this.measuring?.abort();
    const { signal } = (this.measuring = new AbortController());
    this.setQuality({ state: "running", progress: 0 });
    const column = this.coloring.sort === "categories" ? this.columnOfColors : "";
    try {
      for (;;) {
        const query = { ...this.pictureOf(), count: COUNT, column, wait: 10 };
        const pack = await this.api.ask<QualityPack>("quality", query, { signal, quiet: true });
        if (this.job !== job || signal.aborted) return;
        if (pack.state === "done") return this.setQuality(qualityOf(pack, job.rows, dataset.count, column));
        if (pack.state === "failed" || pack.state === "cancelled") {
          throw new Error(pack.message || "The view could not be measured.");
        }
        this.setQuality({ state: "running", progress: pack.progress ?? 0 });
      }
    } catch (error) {
      if (!isAbort(error) && this.job === job) this.setQuality({ state: "failed", message: messageOf(error) });
    }
  }
}
