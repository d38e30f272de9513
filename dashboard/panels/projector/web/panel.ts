// @ts-nocheck
/** The Projector panel in the browser: what is open, what it is coloured by, and the parts around the cloud. */
import * as keys from "./keys.ts";
import * as parts from "./parts.ts";
import { format } from "./parts.ts";
import * as sequences from "./polylines.ts";
import * as settings from "./settings.ts";
import { Api, Dataset } from "./data.ts";
import { Appearance } from "./appearance.ts";
import { Bookmarks } from "./bookmarks.ts";
import { Clusters } from "./clusters.ts";
import { Controls } from "./controls.ts";
import { Drop } from "./drop.ts";
import { Inspector } from "./inspector.ts";
import { Legend } from "./legend.ts";
import { Search } from "./search.ts";
import { Steps } from "./steps.ts";
import { Table } from "./table.ts";
import { Tools } from "./tools.ts";
import { createView } from "./view.ts";
import { storage } from "../../../web/core/dom.ts";
import { theme } from "./theme.ts";

const NEWS_MS = 5000;
const NARROW = 900;
const CAMERA_MS = 350;
const SLOW_MS = 300;
const MOST_DEFAULT_COLOURS = 50;

export class ProjectorPanel extends Appearance {
  root;
  outside;
  api;
  state = settings.read();
  dataset: any = null;
  theme;
  job: any = null;
  /** What is in the picture: coordinates of all points, and how many columns they have. */
  picture: { values: Float32Array; dimensions: number; key: string } | null = null;
  quality: any = null;
  selection = new Uint32Array(0);
  focus = -1;
  nearest: { row: number; rows: number[]; distances: number[]; metric: string; space: string } | null = null;
  isolated: Uint32Array | null = null;
  hidden: Set<number> = new Set();
  found: Uint32Array | null = null;
  embeddings: any[] = [];
  loading = 0;
  turn = 0;
  newsAt = -Infinity;
  newsTimer = 0;
  cameraTimer = 0;
  tip;
  message;
  status;
  news;
  cloud;
  legend;
  tools;
  stage;
  steps;
  controls;
  search;
  inspector;
  clusters;
  bookmarks;
  table;
  left;
  right;
  frame;
  view;
  drop;
  keys;
  sides = JSON.parse(storage.get("stepscope-projector-sides") || "{}");
  onWindow;
  observers;
  started: any;

  /**
   * @param tools the row above, beside the choice of the embedding
   * @param outside `choose` opens another embedding, `offer` lists those there are
   */
  constructor(
    host: HTMLElement,
    tools: HTMLElement,
    outside: { api: string; choose: (id: string) => void; offer: (embeddings: any[], unlisted: number) => void },
  ) {
    super();
    const { make } = parts;
    this.root = host;
    this.outside = outside;
    this.api = new Api(outside.api);
    this.theme = theme.read(host);
    this.tip = make("div", { className: "pj-tip", hidden: true });
    this.message = make("div", { className: "pj-message", role: "status" });
    this.status = make("div", { className: "pj-status", hidden: true });
    this.news = make("div", { className: "pj-news", role: "status", hidden: true });
    this.cloud = make("div", { className: "pj-cloud" });
    this.legend = new Legend(this);
    this.tools = new Tools(this);
    this.stage = make(
      "div",
      { className: "pj-stage" },
      this.cloud,
      this.tools.strip,
      this.legend.element,
      this.status,
      this.news,
      this.tip,
      this.message,
    );
    this.steps = new Steps(this);
    this.controls = new Controls(this);
    this.search = new Search(this);
    this.inspector = new Inspector(this);
    this.clusters = new Clusters(this);
    this.bookmarks = new Bookmarks(this);
    this.table = new Table(this);
    this.left = make(
      "aside",
      { className: "pj-left", "aria-label": "Projection" },
      this.controls.data,
      this.steps.element,
      ...this.controls.sections,
    );
    this.right = make(
      "aside",
      { className: "pj-right", "aria-label": "Inspector" },
      this.search.element,
      this.inspector.element,
      this.clusters.element,
      this.bookmarks.element,
    );
    this.frame = make("div", { className: "pj-frame" }, this.left, this.stage, this.right, this.table.element);
    host.replaceChildren(this.frame);
    tools.replaceChildren(this.tools.element);
    this.view = this.makeView();
    this.drop = new Drop(this);
    this.keys = keys.attach(this);
    this.onWindow = () => this.fit();
    window.addEventListener("resize", this.onWindow);
    this.observers = [new ResizeObserver(() => this.fit()), new MutationObserver(() => this.retheme())];
    if (tools.parentElement) (this.observers[0] as ResizeObserver).observe(tools.parentElement);
    (this.observers[1] as MutationObserver).observe(document.documentElement, {
      attributes: true,
      attributeFilter: ["data-mantine-color-scheme"],
    });
    this.fit();
    this.showAll();
  }

  makeView() {
    if (!createView) {
      this.say("The drawing of the cloud could not be loaded. Reload the page.", "bad");
      return null;
    }
    return createView(this.cloud, {
      onHover: (row: number) => this.hover(row),
      onPick: (row: number, { add }: { add: boolean }) => this.pick(row, add),
      onSelect: (rows: Uint32Array, how: { add: boolean; remove: boolean }) =>
        this.select(this.combined(rows, how), { by: "cloud" }),
      onCamera: () => this.cameraMoved(),
      onStats: () => {},
    });
  }

  destroy() {
    // What is on its way is not wanted any more.
    this.turn += 1;
    this.job?.leave();
    this.measuring?.abort();
    this.keys.close();
    this.drop.close();
    this.steps.stop();
    clearTimeout(this.cameraTimer);
    clearTimeout(this.newsTimer);
    window.removeEventListener("resize", this.onWindow);
    for (const observer of this.observers) observer.disconnect();
    this.view?.destroy();
  }

  // ---- what is open

  /** Opens the embedding that was chosen; the first one as the address asks for it. */
  async open(id: string) {
    const first = !this.started;
    if (!first && id === this.state.id && this.dataset) return;
    if (!first ? id !== this.state.id : this.state.id && this.state.id !== id) this.forget();
    this.started ||= Boolean(id);
    this.state.id = id;
    if (!id) {
      this.turn += 1;
      this.say("Looking for embeddings…", "busy");
      await this.look();
      const [one] = this.embeddings;
      if (one && !this.state.id && this.root.isConnected) return this.outside.choose(one.id);
      return one ? undefined : this.say("There is no embedding yet: log one with add_embedding, or drop a file here.");
    }
    await this.load({});
    if (first) void this.look();
  }

  /** Takes back what belongs to the embedding that was open. */
  forget() {
    const { state } = this;
    Object.assign(state, {
      step: null,
      color: "",
      categorical: "auto",
      off: [],
      size: "",
      label: "",
      sequence: "",
      query: "",
      in: "",
      supervise: "",
      rows: "",
      focus: -1,
      isolate: "",
      hidden: "",
      camera: "",
      sort: "",
      axes: { left: "", right: "", down: "", up: "", in: "" },
      only: false,
    });
    this.selection = new Uint32Array(0);
    this.focus = -1;
    this.nearest = this.isolated = this.found = null;
    this.hidden = new Set();
    this.steps.stop();
    this.tell({
      step: "",
      color: "",
      categorical: "auto",
      off: [],
      size: "",
      label: "",
      sequence: "",
      search: "",
      in: "",
      supervise: "",
      rows: "",
      focus: "",
      isolate: "",
      hidden: "",
      camera: "",
      sort: "",
      left: "",
      right: "",
      down: "",
      up: "",
      axes_in: "",
      only: "off",
    });
    this.dataset = null;
    this.picture = null;
  }

  /**
   * Reads what is open, and shows it.
   * @param how `keep`: another step or another state of the same embedding, the camera stays
   */
  async load({ keep = false }: { keep?: boolean }) {
    const turn = (this.turn += 1);
    const { state } = this;
    const began = performance.now();
    this.loading += 1;
    this.setNews("");
    const patience = setInterval(() => this.wait(began), SLOW_MS);
    try {
      const info = await this.api.ask("dataset", { id: state.id, step: state.step });
      if (turn !== this.turn) return;
      const before = this.dataset;
      this.dataset = new Dataset(this.api, info);
      if (!before || before.count !== this.dataset.count || before.id !== this.dataset.id) {
        this.picture = null;
        this.begin();
      }
      this.say("");
      this.showAll();
      this.table.reload();
      const ready = Promise.all([
        this.recolour(),
        this.resize(),
        this.relabel(),
        this.resprite(),
        this.resequence(),
        state.query ? this.search.run() : null,
      ]);
      const shown = keep && this.picture && this.showStep();
      if (!shown && turn === this.turn) void this.project({ keepCamera: keep || Boolean(state.camera) });
      await ready;
      if (turn === this.turn && this.focus >= 0) void this.findNearest();
    } catch (error) {
      if (turn === this.turn) {
        if (!keep) this.dataset = null;
        this.say(error.message, "bad");
        this.showAll();
      }
    } finally {
      clearInterval(patience);
      this.loading -= 1;
    }
  }

  wait(began: number) {
    const seconds = Math.floor((performance.now() - began) / 1000);
    if (!this.picture) this.say(`Opening the embedding…${seconds ? ` ${seconds} s` : ""}`, "busy");
  }

  /** Takes rows out of the address, now that it is known how many there are; finds what to colour by. */
  begin() {
    const { state, dataset } = this;
    const { readRows } = settings;
    this.selection = readRows(state.rows, dataset.count);
    this.focus = state.focus >= 0 && state.focus < dataset.count
      ? state.focus
      : this.selection.length === 1
      ? this.selection[0]
      : -1;
    this.isolated = state.isolate ? readRows(state.isolate, dataset.count) : null;
    if (this.isolated && !this.isolated.length) this.isolated = null;
    this.hidden = new Set(readRows(state.hidden, dataset.count));
    this.nearest = this.found = null;
    this.quality = null;
  }

  /** The column that is named for a purpose; by itself the best there is. "-" is none. */
  columnFor(chosen: string, purpose: "color" | "label") {
    const columns = this.dataset?.columnInfos ?? [];
    if (chosen === "-") return "";
    if (chosen && (chosen.startsWith("@") || this.dataset?.infoOf(chosen))) return chosen;
    const usable = columns.filter((column: any) => !sequences.NEXT_COLUMNS.includes(column.name));
    // Of a name that many points share, the one they are coloured by tells most.
    if (purpose === "label") {
      return usable.find((column: any) =>
        column.kind === "text" && (column.categories === null || column.categories > MOST_DEFAULT_COLOURS)
      )?.name ?? (this.columnFor("", "color") || (usable[0]?.name ?? ""));
    }
    const grouped = usable.filter((column: any) =>
      column.categories !== null && column.categories > 1 &&
      (column.kind === "text" || column.categories <= MOST_DEFAULT_COLOURS)
    );
    const few = grouped.filter((column: any) => column.categories <= MOST_DEFAULT_COLOURS);
    const named = few.find((column: any) => /label|class|categor|type|cluster|target/i.test(column.name));
    // Every text its own colour tells nothing.
    const many = grouped.find((column: any) => column.categories * 2 <= this.dataset.count);
    return (named ?? few[0] ?? many ??
      usable.find((column: any) => column.kind === "number" && column.minimum !== column.maximum))?.name ?? "";
  }

  get colourBy() {
    return this.dataset ? this.columnFor(this.state.color, "color") : "";
  }

  get labelBy() {
    return this.dataset ? this.columnFor(this.state.label, "label") : "";
  }

  // ---- the view

  cameraMoved() {
    this.hideTip();
    clearTimeout(this.cameraTimer);
    this.cameraTimer = window.setTimeout(() => this.tellCamera(), CAMERA_MS);
  }

  tellCamera() {
    if (!this.view || !this.picture) return;
    // What was not moved by hand fits everything, in a window of any size.
    this.state.camera = this.view.touched ? this.view.camera() : "";
    this.tell({ camera: this.state.camera });
  }

  fitCloud() {
    const rows = this.selection.length > 1
      ? this.selection
      : this.focus >= 0 && this.nearest
      ? Uint32Array.from([this.focus, ...this.nearest.rows])
      : this.isolated;
    this.view?.fit(rows);
  }

  setSpin(on: boolean) {
    this.state.spin = on;
    this.tell({ spin: on ? "on" : "off" });
    this.view?.setSpin?.(on && this.state.dimensions === 3);
    this.tools.show();
  }

  setPointScale(scale: number) {
    this.state.points = scale;
    this.tell({ points: String(scale) });
    this.view?.setPointScale?.(scale);
  }

  setGrid(on: boolean) {
    this.state.grid = on;
    this.tell({ grid: on ? "on" : "off" });
    this.view?.setGrid?.(on);
  }

  setPerspective(on: boolean) {
    this.state.perspective = on;
    this.tell({ perspective: on ? "on" : "off" });
    this.view?.setPerspective?.(on);
  }

  // ---- words

  tell(values: Record<string, string | string[]>) {
    // Another panel may have the page by now.
    if (this.root.isConnected) settings.tell(values);
  }

  say(text: string, sort: "" | "busy" | "bad" = "") {
    this.message.textContent = text;
    this.message.className = `pj-message ${sort}`;
    this.message.hidden = !text;
  }

  /** Something that leaves the picture as it is. */
  notify(text: string, sort: "problem" | "info" = "problem") {
    if (!text) return;
    this.stage.querySelector(".pj-toast")?.remove();
    const note = parts.make("div", { className: `pj-toast ${sort}`, role: sort === "info" ? "status" : "alert" }, text);
    this.stage.append(note);
    setTimeout(() => note.remove(), sort === "info" ? 2500 : 7000);
  }

  showAll() {
    this.controls.show();
    this.steps.show();
    this.tools.show();
    this.legend.show();
    this.search.show();
    this.inspector.show();
    this.clusters.show();
    this.bookmarks.show();
    this.table.show();
    this.frame.classList.toggle("without", !this.dataset);
  }

  // ---- news

  /** New data in the log directory: says so where it concerns what is open. */
  refresh() {
    clearTimeout(this.newsTimer);
    const wait = this.newsAt + NEWS_MS - performance.now();
    if (wait > 0) this.newsTimer = window.setTimeout(() => this.refresh(), wait);
    else void this.look();
  }

  async look() {
    this.newsAt = performance.now();
    try {
      const { embeddings, unlisted } = await this.api.ask("embeddings", {});
      this.embeddings = embeddings;
      this.outside.offer(embeddings, unlisted);
      const { dataset } = this;
      const listed = dataset && this.embeddings.find((one) => one.id === dataset.id);
      if (!dataset || !dataset.info) return;
      if (!listed) return this.setNews("This embedding is no longer there.", false);
      const before = new Set(dataset.info.steps ?? []);
      const fresh = (listed.steps ?? []).filter((step: number) => !before.has(step));
      if (fresh.length) {
        return this.setNews(
          `${format.counted(fresh.length, "newer step")}, up to ${format.integer(Math.max(...fresh))}.`,
        );
      }
      const info = await this.api.ask("dataset", dataset.at);
      if (dataset === this.dataset && info.digest !== dataset.info.digest) this.setNews("The file has changed.");
    } catch {
      // The next revision asks again.
    }
  }

  setNews(text: string, reload: boolean = true) {
    // The button that may be under the hand stays.
    if (text === (this.news.firstChild?.textContent ?? "")) return;
    this.news.hidden = !text;
    this.news.replaceChildren(
      text,
      ...(text && reload ? [parts.button("Reload", "Show what is there now", () => this.reload(), "small")] : []),
    );
  }

  /** Shows what is there now: the newest step where that was shown. */
  reload() {
    const steps = this.dataset?.info.steps ?? [];
    if (this.state.step !== null && this.state.step === steps[steps.length - 1]) {
      this.state.step = null;
      this.tell({ step: "" });
    }
    return this.load({ keep: false });
  }

  // ---- size and theme

  fit() {
    // Hears of it too when it is taken off the page, with what it observes.
    if (!this.root.isConnected) return this.destroy();
    const top = this.root.getBoundingClientRect().top + window.scrollY;
    this.root.style.height = `${Math.max(window.innerHeight - top - 8, 360)}px`;
    const width = this.root.clientWidth;
    this.frame.classList.toggle("narrow", width < NARROW);
    const { left = width >= 700, right = width >= NARROW } = this.sides;
    this.frame.classList.toggle("no-left", !left);
    this.frame.classList.toggle("no-right", !right);
    this.tools?.show();
  }

  /** Shows or hides a column. */
  flip(side: "left" | "right") {
    this.sides[side] = this.frame.classList.contains(`no-${side}`);
    storage.set("stepscope-projector-sides", JSON.stringify(this.sides));
    this.fit();
  }

  retheme() {
    this.theme = theme.read(this.root);
    this.paint();
    this.controls.show();
  }
}

let shown: ProjectorPanel | null = null;

/** Puts the panel into its host, or finds it there. */
export const mount = (host: HTMLElement, tools: HTMLElement, outside: any) => {
  if (shown && shown.root === host) return shown;
  shown?.destroy();
  shown = new ProjectorPanel(host, tools, outside);
  return shown;
};
export const panel = () => (shown && shown.root.isConnected ? shown : null);
