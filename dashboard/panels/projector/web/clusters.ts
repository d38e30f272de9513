/** Clusters: k-means and HDBSCAN, each of which makes a column that points can be coloured by. */
import * as parts from "./parts.ts";
import { Job } from "./jobs.ts";

export class Clusters {
  panel;
  method = "kmeans";
  methods;
  count: HTMLInputElement;
  least: HTMLInputElement;
  countRow;
  leastRow;
  on;
  go;
  note;
  element;
  job: any;

  /** @param panel of projector_panel.js */
  constructor(panel: any) {
    const { make, segmented, select, button, field, fold } = parts;
    this.panel = panel;
    this.methods = segmented("Method", [[
      "kmeans",
      "k-means",
      "So many groups as are asked for; every point belongs to one",
    ], ["hdbscan", "HDBSCAN", "Groups where points lie dense; the rest is noise"]], (value: string) => {
      this.method = value;
      this.show();
    });
    this.count = make("input", {
      type: "number",
      className: "pj-input small",
      min: 2,
      max: 1000,
      value: "8",
      "aria-label": "How many clusters",
    }) as HTMLInputElement;
    this.least = make("input", {
      type: "number",
      className: "pj-input small",
      min: 2,
      max: 100_000,
      value: "15",
      "aria-label": "Least size of a cluster",
    }) as HTMLInputElement;
    this.countRow = field("Clusters", "How many groups are made.", this.count);
    this.leastRow = field("Least size", "Smaller groups are noise.", this.least);
    this.on = select("What is clustered", () => {}, "The data itself, or the picture as it is");
    this.on.show([["points", "in the data"], ["picture", "in the picture"]], "points");
    this.go = button("Find clusters", "Makes a column of clusters, and colours by it", () => this.run(), "main");
    this.note = make("p", { className: "pj-note", role: "status" });
    this.element = fold(
      "clusters",
      "Clusters",
      false,
      this.methods,
      this.countRow,
      this.leastRow,
      field("Where", "The data itself, or the picture as it is.", this.on),
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

  async run() {
    const { panel } = this;
    const { dataset } = panel;
    if (this.job) {
      this.job.act("cancel").catch(() => {});
      this.job.leave();
      this.job = null;
      this.note.textContent = "";
      return this.show();
    }
    if (!dataset) return;
    const settings = this.method === "kmeans"
      ? { count: Math.round(Number(this.count.value)) }
      : { minimum_size: Math.round(Number(this.least.value)) };
    if (!Object.values(settings).every((value) => value >= 2)) {
      return void (this.note.textContent = "Give a number of 2 or more.");
    }
    const { job: key, frame, components } = panel.pictureOf();
    const picture = this.on.value === "picture";
    if (picture && !key) return void (this.note.textContent = "There is no picture yet.");
    const job = (this.job = new Job(panel.api, (frame: any) => this.job === job && this.took(frame, dataset)));
    this.note.textContent = "Looking…";
    this.show();
    try {
      await job.start("clusters", {
        ...dataset.at,
        method: this.method,
        settings,
        ...(picture ? { on: key, frame, components: components ? components.split(",").map(Number) : null } : {}),
      });
    } catch (error) {
      job.fail(error.message);
    }
  }

  async took(frame: any, dataset: any) {
    const { panel } = this;
    if (frame.state === "queued" || frame.state === "running") {
      return void (this.note.textContent = frame.state === "queued" ? frame.message || "Waiting…" : "Looking…");
    }
    this.job = null;
    this.show();
    this.note.textContent = frame.state === "done" ? "" : frame.message || "No clusters were made.";
    if (frame.state !== "done" || dataset !== panel.dataset) return;
    await panel.addedColumn(frame.column);
    if (frame.column) this.note.textContent = `Column “${frame.column}”`;
  }
}
