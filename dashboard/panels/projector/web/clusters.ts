/** Clusters: k-means and HDBSCAN, each of which creates a column to color points by. */
import * as parts from "./widgets.ts";
import { make } from "../../../web/core/dom.ts";
import { messageOf } from "../../../web/core/request.ts";
import { Job } from "./jobs.ts";
import type { Api, Dataset } from "./data.ts";
import type { Frame } from "./jobs.ts";

/** The parts of the panel that clusters use. */
export interface ClustersPanel {
  readonly api: Api;
  readonly dataset: Dataset | null;
  /** the job of the picture, which of its frames, and which components are shown */
  pictureOf(): { job?: string; frame: number | null; components: string | null };
  addedColumn(name: string | undefined): Promise<void>;
}

const number = (label: string, least: number, most: number, value: number) =>
  make("input", { type: "number", className: "pj-input small", min: least, max: most, value, "aria-label": label });

export class Clusters {
  readonly panel: ClustersPanel;
  method = "kmeans";
  methods;
  count = number("How many clusters", 2, 1000, 8);
  least = number("Minimum cluster size", 2, 100_000, 15);
  countRow = parts.field("Clusters", "The number of clusters.", this.count);
  leastRow = parts.field("Minimum size", "Smaller clusters count as noise.", this.least);
  on = parts.select("What is clustered", () => {}, "The data, or the current view");
  go = parts.button("Find clusters", "Adds a column of clusters and colors by it", () => this.run(), "main");
  note = make("p", { className: "pj-note", role: "status" });
  element;
  job: Job | null = null;

  constructor(panel: ClustersPanel) {
    this.panel = panel;
    this.methods = parts.segmented(
      "Method",
      [
        ["kmeans", "k-means", "A fixed number of clusters; every point gets one"],
        ["hdbscan", "HDBSCAN", "Clusters where points are dense; the rest is noise"],
      ],
      (value: string) => {
        this.method = value;
        this.show();
      },
    );
    this.on.show([["points", "in the data"], ["picture", "in the view"]], "points");
    this.element = parts.fold(
      "clusters",
      "Clusters",
      false,
      this.methods,
      this.countRow,
      this.leastRow,
      parts.field("Where", "The data, or the current view.", this.on),
      make("div", { className: "pj-row" }, this.go, this.note),
    );
  }

  show() {
    this.element.hidden = !this.panel.dataset;
    this.methods.show(this.method);
    this.countRow.hidden = this.method !== "kmeans";
    this.leastRow.hidden = this.method !== "hdbscan";
    this.go.textContent = this.job ? "Stop" : "Find clusters";
  }

  say(text: string) {
    this.note.textContent = text;
  }

  async run() {
    const { panel } = this;
    const { dataset } = panel;
    if (this.job) return this.stop(this.job);
    if (!dataset) return;
    const least = Math.round(Number((this.method === "kmeans" ? this.count : this.least).value));
    if (!(least >= 2)) return this.say("Enter a number of at least 2.");
    const { job: on, frame, components } = panel.pictureOf();
    const picture = this.on.value === "picture";
    if (picture && !on) return this.say("There is no view yet. Run a projection first.");
    const job = new Job(panel.api, (frame: Frame) => void (this.job === job && this.took(frame, dataset)));
    this.job = job;
    this.say("Looking…");
    this.show();
    try {
      await job.start("clusters", {
        ...dataset.at,
        method: this.method,
        settings: this.method === "kmeans" ? { count: least } : { minimum_size: least },
        ...(picture ? { on, frame, components: components ? components.split(",").map(Number) : null } : {}),
      });
    } catch (error) {
      job.fail(messageOf(error));
    }
  }

  stop(job: Job) {
    job.act("cancel").catch(() => {});
    job.leave();
    this.job = null;
    this.say("");
    this.show();
  }

  async took(frame: Frame, dataset: Dataset) {
    const { panel } = this;
    if (frame.state === "running") return this.say("Looking…");
    if (frame.state === "queued") return this.say(frame.message || "Waiting…");
    this.job = null;
    this.show();
    this.say(frame.state === "done" ? "" : frame.message || "No clusters were found.");
    if (frame.state !== "done" || dataset !== panel.dataset) return;
    await panel.addedColumn(frame.column);
    if (frame.column) this.say(`Column “${frame.column}”`);
  }
}
