// @ts-nocheck
/** How the Projector panel gets its pictures: projections as jobs of the server, frames, steps, and their quality. */
import * as settings from "./settings.ts";
import { METHODS } from "./settings.ts";
import { Job } from "./jobs.ts";
import { format } from "./parts.ts";
import { frameOf } from "./view.ts";

/** Points up to which slow methods start by themselves. */
const MOST_AT_ONCE = 20_000;
const GLIDE_MS = 450;
const COUNT = 12;
export const SHOWN_COMPONENTS = 10;
const MOST_STEPS = 200;

export const projecting = {
  // ---- what is asked for

  setProjection(this: any, projection: string) {
    if (!METHODS[projection] || projection === this.state.projection) return;
    this.state.projection = projection;
    this.tell({ projection });
    this.controls.show();
    void this.project({});
  },

  setDimensions(this: any, dimensions: number) {
    if (dimensions === this.state.dimensions) return;
    this.state.dimensions = dimensions;
    this.state.camera = "";
    this.tell({ dims: String(dimensions), camera: "" });
    this.tools.show();
    this.controls.show();
    if (this.state.projection === "pca" && this.frame10) {
      this.showFrame(this.frame10, { glide: true, keepCamera: false });
      return this.remeasure();
    }
    void this.project({});
  },

  setComponent(this: any, axis: number, component: number) {
    const components = [...this.state.components];
    const other = components.indexOf(component);
    if (other >= 0) components[other] = components[axis];
    components[axis] = component;
    this.state.components = components;
    this.tell({ components: components.map((one) => one + 1).join(",") });
    this.controls.show();
    if (!this.frame10) return;
    this.showFrame(this.frame10, { glide: true, keepCamera: true });
    void this.remeasure();
  },

  setSphere(this: any, on: boolean) {
    this.state.sphere = on;
    this.tell({ sphere: on ? "on" : "off" });
    void this.changedSettings();
  },

  /** Only the isolated points are projected. */
  setOnly(this: any, on: boolean) {
    this.state.only = on;
    this.tell({ only: on ? "on" : "off" });
    void this.changedSettings();
  },

  setAligned(this: any, on: boolean) {
    this.state.aligned = on;
    this.tell({ aligned: on ? "on" : "off" });
    this.steps.show();
    void this.project({ keepCamera: true });
  },

  /** @param projection that it is a setting of */
  setKnob(this: any, projection: string, name: string, value: any) {
    const { state } = this;
    state.methods[projection][name] = value;
    this.tell({ [projection]: settings.writeKnobs(projection, state.methods[projection]) });
    if (projection === state.projection) void this.changedSettings();
  },

  setSupervise(this: any, column: string) {
    this.state.supervise = column;
    this.tell({ supervise: column });
    void this.changedSettings();
  },

  setAxes(this: any, axes: Record<string, string>) {
    Object.assign(this.state.axes, axes);
    const { left, right, down, up, in: column } = this.state.axes;
    this.tell({ left, right, down, up, axes_in: column });
    this.controls.show();
    if (this.state.projection === "custom") void this.project({});
  },

  /** Fast methods follow at once; a slow one says that its picture is of other settings. */
  changedSettings(this: any) {
    if (!METHODS[this.state.projection].slow) return this.project({});
    this.controls.show();
    return null;
  },

  /** What the server is asked to work out, for the settings as they are. */
  async order(this: any) {
    const { state, dataset } = this;
    const { projection } = state;
    const chosen = Object.fromEntries(
      Object.entries(state.methods[projection]).filter(([, value]) => value !== null && value !== undefined),
    );
    if (projection !== "pca" && projection !== "custom") chosen.dimensions = state.dimensions;
    const spec = (text: string) => settings.rowsSpec(text, state.axes.in, dataset.count);
    const axes = projection === "custom"
      ? [[state.axes.left, state.axes.right], [state.axes.down, state.axes.up]].map(([left, right]) => ({
        left: spec(left),
        right: spec(right),
      })).filter(({ left, right }) => left && right)
      : [];
    const rows = state.only && this.isolated ? await dataset.keyOf(this.isolated) : null;
    const steps = state.aligned && (dataset.info.steps ?? []).length > 1 && projection !== "custom"
      ? someOf(dataset.info.steps, dataset.step)
      : null;
    // Steps that are projected together are one order, whichever of them is shown.
    return {
      ...dataset.at,
      step: steps ? null : dataset.step,
      steps,
      projection,
      settings: chosen,
      sphere: state.sphere,
      supervise: chosen.supervision ? state.supervise || this.colouredColumn() || null : null,
      rows,
      axes,
    };
  },

  /** The column that the points are coloured by, where it is one. */
  colouredColumn(this: any) {
    const name = this.colourBy;
    return name.startsWith("@") ? "" : name;
  },

  // ---- jobs

  /**
   * Begins the projection that is chosen, or finds it where it was begun before.
   * @param how `run`: also where it is a long one
   */
  async project(this: any, { keepCamera = false, run = false }: { keepCamera?: boolean; run?: boolean }) {
    const { dataset, state } = this;
    if (!dataset || !this.root.isConnected) return;
    const asked = (this.asked = (this.asked ?? 0) + 1);
    this.job?.leave();
    this.job = null;
    this.frame10 = null;
    this.stepsOfJob = null;
    this.shownIndex = undefined;
    this.scale = null;
    this.setQuality(null);
    const method = METHODS[state.projection];
    this.waiting = "";
    if (state.projection === "custom" && !(state.axes.left && state.axes.right)) this.waiting = "axes";
    else if (dataset.count < 2 && method.slow) this.waiting = "few";
    if (this.waiting) return this.hold(this.waiting);
    this.controls.show();
    this.showStatus();
    const job = new Job(this.api, (frame: any) => this.job === job && this.onFrame(frame, keepCamera));
    this.job = job;
    try {
      const order = await this.order();
      if (asked !== this.asked) return;
      this.ordered = JSON.stringify(order);
      this.stepsOfJob = order.steps;
      if (order.steps) job.index = Math.max(order.steps.indexOf(dataset.step), 0);
      // What takes long begins when it is asked for; what is known already is shown at once.
      const known = await job.start("project", {
        ...order,
        only_if_known: method.slow && !run && dataset.count > MOST_AT_ONCE,
      });
      if (!known && this.job === job) this.hold("run");
    } catch (error) {
      if (this.job !== job || error.name === "AbortError") return;
      job.fail(error.message);
    }
  },

  /** Nothing is begun until somebody does something. */
  hold(this: any, reason: "axes" | "few" | "run") {
    this.waiting = reason;
    this.job = this.stepsOfJob = null;
    this.controls.show();
    this.showStatus();
    if (!this.picture) void this.project0();
  },

  /** Something to look at while a long projection waits for its start: two principal components. */
  async project0(this: any) {
    const { dataset } = this;
    const job = new Job(this.api, (frame: any) => {
      if (dataset !== this.dataset || this.job || !frame.coordinates) return;
      this.showFrame(frame, { glide: false, keepCamera: false, as: "pca" });
    });
    try {
      await job.start("project", {
        ...dataset.at,
        steps: null,
        projection: "pca",
        settings: {},
        sphere: this.state.sphere,
        supervise: null,
        rows: null,
        axes: [],
      });
    } catch (error) {
      if (error.name !== "AbortError") this.notify(error.message);
    }
  },

  /** Whether what is chosen is what is in the picture. */
  async isStale(this: any) {
    return Boolean(this.job && this.ordered && JSON.stringify(await this.order()) !== this.ordered);
  },

  /** @param frame of projector_jobs.js */
  async onFrame(this: any, frame: any, keepCamera: boolean) {
    const { job } = this;
    if (frame.coordinates) {
      const other = this.shownIndex !== job.index;
      this.shownIndex = job.index;
      this.showFrame(frame, { glide: other || job.updates === 1, keepCamera: keepCamera || job.updates > 1 });
      if (other && job.ended) this.setQuality(null);
      // Neighbours in the picture are those of another one now; while it moves they are left alone.
      if (this.state.space === "picture" && this.focus >= 0 && (job.ended || this.nearest?.space !== "picture")) {
        void this.findNearest();
      }
    }
    if (frame.state === "failed" && !this.picture) this.say(frame.message || "The projection failed.", "bad");
    if (frame.state === "done" && !this.quality) void this.measure(false);
    this.showStatus();
    this.controls.progress();
    this.steps.show();
  },

  /** Draws a frame: of a principal component analysis the components that are chosen. */
  showFrame(
    this: any,
    frame: any,
    { glide, keepCamera, as = this.state.projection }: { glide: boolean; keepCamera: boolean; as?: string },
  ) {
    const { state, dataset, view } = this;
    const columns = frame.dimensions;
    const { coordinates } = frame;
    if (!coordinates || !columns) return;
    if (as === "pca") this.frame10 = frame;
    if (this.job) this.job.rows = frame.rows ?? null;
    const dimensions = as === "custom"
      ? Math.min(columns, 2)
      : as === "pca"
      ? state.dimensions
      : Math.min(Math.max(columns, 2), 3);
    const picked = as === "pca" ? state.components.slice(0, dimensions) : [0, 1, 2].slice(0, Math.max(dimensions, 2));
    const shown = Math.max(dimensions, 2);
    const values = spread(
      coordinates,
      columns,
      picked.map((component) => (component < columns ? component : -1)),
      frame.rows ?? null,
      dataset.count,
      shown,
    );
    const fresh = !this.picture || this.picture.dimensions !== shown;
    const same = this.picture && this.picture.dimensions === shown && this.picture.key === as;
    this.picture = { values, dimensions: shown, key: as };
    this.say("");
    // Steps stand beside each other at one scale.
    if (!this.stepsOfJob || frame.state !== "done") this.scale = null;
    else this.scale ??= frameOf?.(values, shown, frame.rows ?? null) ?? null;
    view?.setPoints(values, shown, {
      animate: glide && !fresh ? GLIDE_MS : 0,
      keepCamera: Boolean((keepCamera && !fresh) || same),
      frame: this.scale,
      rows: frame.rows ?? null,
    });
    view?.setAxes?.(this.axes(frame, picked, as));
    if (fresh) {
      this.dress();
      if (state.camera) view?.setCamera(state.camera);
    }
    if (state.spin) view?.setSpin?.(shown === 3);
  },

  axes(this: any, frame: any, picked: number[], as: string) {
    if (as === "pca") {
      return picked.map((component) => ({
        name: `PC ${component + 1}`,
        share: frame.components?.ratios?.[component] ?? null,
      }));
    }
    if (as !== "custom") return [];
    const said = (text: string) => {
      const rest = text.slice(text.indexOf(":") + 1);
      return text.startsWith("rows:")
        ? format.counted(settings.readRows(rest, this.dataset.count).length, "point")
        : rest.slice(0, 40);
    };
    const { left, right, down, up } = this.state.axes;
    const named = [[left, right], [down, up]].filter(([one, other]) => one && other).map(([one, other]) => ({
      name: `${said(one)} → ${said(other)}`,
      share: null,
    }));
    return named.length === 1 ? [...named, { name: "what varies most besides", share: null }] : named;
  },

  /** Tells a view that has points for the first time everything else. */
  dress(this: any) {
    const { points, grid, perspective } = this.state;
    this.view?.setPointScale?.(points);
    this.view?.setGrid?.(grid);
    if (!perspective) this.view?.setPerspective?.(false);
    this.paint();
    this.relabel();
    this.view?.setSelection(this.selection);
    this.showFocus();
    this.tools.applyTool();
  },

  /**
   * Follows the picture of the step that is chosen, of a job of several.
   * @returns whether there is such a job
   */
  showStep(this: any): boolean {
    const { job } = this;
    if (!job || !this.stepsOfJob || !this.state.aligned || this.job.state === "failed") return false;
    const index = this.stepsOfJob.indexOf(this.dataset.step);
    if (index < 0) return false;
    job.watch(index);
    this.setQuality(null);
    return true;
  },

  async act(this: any, action: "pause" | "resume" | "perturb" | "cancel" | "extend", iterations?: number) {
    try {
      await this.job?.act(action, iterations);
    } catch (error) {
      if (error.name !== "AbortError") this.notify(error.message);
    }
  },

  /** Pauses, goes on, begins. */
  pauseOrRun(this: any) {
    if (!METHODS[this.state.projection].slow) return;
    const state = this.job?.state;
    if (state === "running" || state === "queued") return this.act("pause");
    if (state === "paused") return this.act("resume");
    return this.project({ run: true });
  },

  /** What the job is at, in the corner of the cloud. */
  showStatus(this: any) {
    const { job, picture, state } = this;
    const frame = job?.frame;
    let text = frame ? progressText(frame, METHODS[state.projection].title) : "";
    const failed = frame?.state === "failed";
    // The left column says why.
    if ((failed && !this.frame.classList.contains("no-left")) || this.waiting) {
      text = picture && picture.key !== state.projection ? `Still the picture of ${METHODS[picture.key].title}` : "";
    }
    this.status.textContent = text;
    this.status.hidden = !text;
  },

  /** How routes are told which picture is meant: the job, which of its steps, and which components are shown. */
  pictureOf(this: any) {
    const { job, state, picture } = this;
    const components = picture?.key === "pca"
      ? state.components.slice(0, picture.dimensions).filter((one: number) => one < (this.frame10?.dimensions ?? 0))
        .join(",")
      : null;
    return { job: job?.key, frame: job?.index ?? null, components };
  },

  // ---- trust

  setQuality(this: any, quality: any) {
    const changed = this.quality !== quality;
    if (!quality) this.measuring?.abort();
    this.quality = quality;
    if (!changed) return;
    this.controls.trust();
    if (this.colourBy.startsWith("@")) void this.recolour();
  },

  /** Another picture of the same job is shown. */
  remeasure(this: any) {
    this.setQuality(null);
    if (this.job?.state === "done") void this.measure(false);
    if (this.state.space === "picture" && this.focus >= 0) void this.findNearest();
  },

  /**
   * Measures how far the picture keeps neighbours.
   * @param asked by hand; large data is only measured then
   */
  async measure(this: any, asked: boolean) {
    const { job, dataset } = this;
    if (!job?.key || !dataset || dataset.count < 3) return;
    if (!asked && dataset.count > MOST_AT_ONCE && !this.colourBy.startsWith("@")) return;
    this.measuring?.abort();
    const abort = (this.measuring = new AbortController());
    this.setQuality({ state: "running", progress: 0 });
    const labelled = this.colouring.sort === "categories" ? this.colouredColumn() : "";
    try {
      for (;;) {
        const pack = await this.api.ask("quality", { ...this.pictureOf(), count: COUNT, column: labelled, wait: 10 }, {
          signal: abort.signal,
          quiet: true,
        });
        if (this.job !== job || abort.signal.aborted) return;
        if (pack.state === "done") return this.setQuality(qualityOf(pack, job.rows ?? null, dataset.count, labelled));
        if (pack.state === "failed" || pack.state === "cancelled") {
          throw new Error(pack.message || "The picture could not be measured.");
        }
        this.setQuality({ state: "running", progress: pack.progress ?? 0 });
      }
    } catch (error) {
      if (error.name !== "AbortError" && this.job === job) this.setQuality({ state: "failed", message: error.message });
    }
  },
};

/**
 * Coordinates of all points: chosen columns of those that were projected, the rest in their middle.
 * @param picked -1 for a column of zeros
 * @param rows of the points that were projected; null for all
 */
function spread(
  coordinates: Float32Array,
  columns: number,
  picked: number[],
  rows: Uint32Array | null,
  count: number,
  dimensions: number,
) {
  const held = Math.floor(coordinates.length / columns);
  if (!rows && columns === dimensions && picked.every((component, at) => component === at)) return coordinates;
  const values = new Float32Array(count * dimensions);
  for (let axis = 0; axis < dimensions; axis += 1) {
    const component = picked[axis] ?? -1;
    if (component < 0) continue;
    let sum = 0;
    for (let at = 0; at < held; at += 1) sum += coordinates[at * columns + component];
    if (rows) { for (let row = 0; row < count; row += 1) values[row * dimensions + axis] = sum / Math.max(held, 1); }
    for (let at = 0; at < held; at += 1) {
      values[(rows ? rows[at] : at) * dimensions + axis] = coordinates[at * columns + component];
    }
  }
  return values;
}

function qualityOf(pack: any, rows: Uint32Array | null, count: number, column: string) {
  const whole = (values: Float32Array | undefined) => {
    if (!values || !rows) return values;
    const all = new Float32Array(count).fill(NaN);
    rows.forEach((row, at) => (all[row] = values[at]));
    return all;
  };
  const of = Object.fromEntries((pack.arrays_of ?? []).map((name: string, at: number) => [name, pack.arrays[at]]));
  return {
    state: "done",
    trustworthiness: pack.trustworthiness,
    continuity: pack.continuity,
    hit: pack.hit ?? null,
    kept: pack.neighbours_kept,
    count: pack.count,
    sampled: pack.sampled,
    column,
    points: {
      "@trustworthiness": whole(of.trustworthiness),
      "@continuity": whole(of.continuity),
      "@hit": whole(of.hit),
      "@kept": whole(of.neighbours_kept),
    },
  };
}

/** At most so many steps as are projected together, evenly chosen, the one that is shown among them. */
function someOf(steps: number[], shown: number | null) {
  if (steps.length <= MOST_STEPS) return steps;
  const chosen = new Set(
    Array.from({ length: MOST_STEPS - 1 }, (_, at) => steps[Math.round((at * (steps.length - 1)) / (MOST_STEPS - 2))]),
  );
  if (shown !== null) chosen.add(shown);
  return [...chosen].sort((a, b) => a - b);
}

/** What a job is at, in one line. */
export function progressText(frame: any, title: string) {
  const { integer, seconds } = format;
  const rate = frame.iteration && frame.updates_per_second > 0
    ? ` · ${frame.updates_per_second.toFixed(frame.updates_per_second < 10 ? 1 : 0)} a second`
    : "";
  const left = frame.seconds_left !== null && frame.seconds_left !== undefined
    ? ` · ${seconds(frame.seconds_left)} left`
    : "";
  const at = frame.total
    ? `iteration ${integer(frame.iteration)} of ${integer(frame.total)}`
    : frame.iteration
    ? `iteration ${integer(frame.iteration)}`
    : frame.phase || "";
  const phase = frame.phase && frame.total && !["done", "iterations"].includes(frame.phase) ? ` · ${frame.phase}` : "";
  switch (frame.state) {
    case "queued":
      return `${title}: ${frame.message || "waiting for its turn"}`;
    case "running":
      return `${title}: ${at || "working"}${phase}${rate}${left}`;
    case "paused":
      return `${title}: paused at ${at}`;
    case "cancelled":
      return `${title}: stopped at ${at}`;
    case "failed":
      return `${title}: ${frame.message || "failed"}`;
    default:
      return "";
  }
}
