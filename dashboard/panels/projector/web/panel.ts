/** The Projector panel in the browser: what is open, and the parts around the cloud. */
import { counted, integer } from "../../../web/core/numbers.ts";
import { make, storage } from "../../../web/core/dom.ts";
import { messageOf, MissingError } from "../../../web/core/request.ts";
import { Bookmarks } from "./bookmarks.ts";
import { Clusters } from "./clusters.ts";
import { Controls } from "./controls.ts";
import { Dataset } from "./data.ts";
import { Drop } from "./drop.ts";
import { Inspector } from "./inspector.ts";
import { Legend } from "./legend.ts";
import type { DatasetInfo, EmbeddingsAnswer } from "./messages.generated.ts";
import { type Outside, SIDES } from "./panel_base.ts";
import { button } from "./widgets.ts";
import { PanelWithProjection } from "./projection_session.ts";
import { Search } from "./search.ts";
import * as settings from "./settings.ts";
import { Steps } from "./steps.ts";
import { Table } from "./table.ts";
import { theme } from "./theme.ts";
import { Tools } from "./tools.ts";
import { createView } from "./view.ts";

const NEWS_MS = 5000;
const NARROW = 900;
const CAMERA_MS = 350;
const SLOW_MS = 300;

export class ProjectorPanel extends PanelWithProjection {
  readonly ended = new AbortController();
  readonly legend = new Legend(this);
  readonly tools = new Tools(this);
  readonly stage = make(
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
  readonly steps = new Steps(this);
  readonly controls = new Controls(this);
  readonly search = new Search(this);
  readonly inspector = new Inspector(this);
  readonly clusters = new Clusters(this);
  readonly bookmarks = new Bookmarks(this);
  readonly table = new Table(this);
  readonly left = make(
    "aside",
    { className: "pj-left", "aria-label": "Projection" },
    this.controls.data,
    this.steps.element,
    ...this.controls.sections,
  );
  readonly right = make(
    "aside",
    { className: "pj-right", "aria-label": "Inspector" },
    this.search.element,
    this.inspector.element,
    this.clusters.element,
    this.bookmarks.element,
  );
  readonly frame = make("div", { className: "pj-frame" }, this.left, this.stage, this.right, this.table.element);
  readonly view;
  readonly drop;
  turn = 0;
  newsAt = -Infinity;
  newsTimer = 0;
  cameraTimer = 0;
  /** Whether anything has been opened yet. */
  started = false;

  /** @param tools the row above, next to the embedding selector */
  constructor(host: HTMLElement, tools: HTMLElement, outside: Outside) {
    super(host, outside);
    host.replaceChildren(this.frame);
    tools.replaceChildren(this.tools.element);
    this.view = createView(this.cloud, {
      onHover: (row) => this.hover(row),
      onPick: (row, { add }) => this.pick(row, add),
      onSelect: (rows, how) => this.select(this.combined(rows, how), { by: "cloud" }),
      onCamera: () => this.cameraMoved(),
    });
    this.drop = new Drop(this);
    const { signal } = this.ended;
    window.addEventListener("resize", () => this.fit(), { signal });
    const [size, scheme] = [new ResizeObserver(() => this.fit()), new MutationObserver(() => this.retheme())];
    if (tools.parentElement) size.observe(tools.parentElement);
    scheme.observe(document.documentElement, { attributes: true, attributeFilter: ["data-mantine-color-scheme"] });
    for (const observer of [size, scheme]) signal.addEventListener("abort", () => observer.disconnect());
    this.fit();
    this.showAll();
  }

  destroy(): void {
    // Pending responses are no longer wanted.
    this.turn += 1;
    this.job?.leave();
    this.measuring?.abort();
    this.drop.close();
    this.steps.stop();
    clearTimeout(this.cameraTimer);
    clearTimeout(this.newsTimer);
    this.ended.abort();
    this.view.destroy();
  }

  // ---- what is open

  /** Opens the chosen embedding; the first one as the address specifies. */
  async open(id: string): Promise<void> {
    const { state } = this;
    const first = !this.started;
    const other = id !== state.id;
    if (!first && !other && this.dataset) return;
    if (other && (!first || state.id)) this.forget();
    this.started ||= Boolean(id);
    state.id = id;
    if (!id) {
      this.turn += 1;
      this.say("Looking for embeddings…", "busy");
      await this.look();
      const [one] = this.embeddings;
      if (!one) this.say("There is no embedding yet: log one with add_embedding, or drop a file here.");
      else if (!state.id && this.root.isConnected) this.outside.choose(one.id);
      return;
    }
    await this.load({});
    if (first) void this.look();
  }

  /** Discards what belongs to the previously open embedding. */
  forget(): void {
    const { state } = this;
    const texts = {
      color: "",
      categorical: "auto" as const,
      size: "",
      label: "",
      sequence: "",
      in: "",
      supervise: "",
      rows: "",
      isolate: "",
      hidden: "",
      camera: "",
      sort: "",
    };
    const ends = { left: "", right: "", down: "", up: "" };
    Object.assign(state, texts, { step: null, off: [], query: "", focus: -1, only: false, axes: { ...ends, in: "" } });
    this.selection = new Uint32Array(0);
    this.focus = -1;
    this.nearest = this.isolated = this.found = null;
    this.hidden = new Set();
    this.steps.stop();
    this.tell({ ...texts, ...ends, step: "", off: [], search: "", focus: "", axesIn: "", only: false });
    this.dataset = null;
    this.picture = null;
  }

  /**
   * Loads what is open and shows it.
   * @param how `keep`: keeps the camera, for another step or another state of the same embedding
   */
  async load({ keep = false }: { keep?: boolean }): Promise<void> {
    const turn = (this.turn += 1);
    const { state } = this;
    const began = performance.now();
    this.loading += 1;
    this.isMissing = false;
    this.setNews("");
    const patience = setInterval(() => this.wait(began), SLOW_MS);
    try {
      const info = await this.api.ask<DatasetInfo>("dataset", { id: state.id, step: state.step });
      if (turn !== this.turn) return;
      const before = this.dataset;
      this.dataset = new Dataset(this.api, info);
      if (before?.count !== this.dataset.count || before.id !== this.dataset.id) {
        this.picture = null;
        this.begin(this.dataset);
      }
      this.say("");
      this.showAll();
      void this.table.reload();
      this.relabel();
      const ready = Promise.all([
        this.recolor(),
        this.resize(),
        this.resprite(),
        this.resequence(),
        state.query ? this.search.run() : null,
      ]);
      const shown = keep && this.picture && this.showStep();
      if (!shown && turn === this.turn) void this.project({ keepCamera: keep || Boolean(state.camera) });
      await ready;
      if (turn === this.turn && this.focus >= 0) void this.findNearest();
    } catch (error) {
      if (turn !== this.turn) return;
      if (!keep) this.dataset = null;
      this.isMissing = error instanceof MissingError;
      this.say(messageOf(error), "bad", () => this.load({ keep }));
      this.showAll();
    } finally {
      clearInterval(patience);
      this.loading -= 1;
    }
  }

  wait(began: number): void {
    const seconds = Math.floor((performance.now() - began) / 1000);
    if (!this.picture) this.say(`Opening the embedding…${seconds ? ` ${seconds} s` : ""}`, "busy");
  }

  /** Another embedding is open, or the address specifies something else for it. */
  begin(dataset: Dataset): void {
    this.readSelection(dataset.count);
    this.quality = null;
  }

  /** Shows the open embedding with the settings that the address has now, and others that it may be too short for. */
  async restore(others: Partial<settings.State>): Promise<void> {
    const { id, step, table, tableOf } = this.state;
    this.state = { ...settings.read(), ...others, id, step, table, tableOf };
    if (!this.dataset) return;
    this.begin(this.dataset);
    this.picture = null;
    this.showAll();
    this.relabel();
    await Promise.all([this.recolor(), this.resize(), this.resprite(), this.search.run()]);
    void this.project({ keepCamera: Boolean(this.state.camera) });
    if (this.focus >= 0) void this.findNearest();
  }

  // ---- events from elsewhere

  /** Called when a file was dropped. */
  async opened(id: string): Promise<void> {
    await this.look();
    this.outside.choose(id);
  }

  /** Called when metadata was added. */
  joined(): void {
    Object.assign(this.state, { color: "", label: "" });
    this.tell({ color: "", label: "" });
    void this.load({});
  }

  /** Called when clusters have added a column: lists it and colors the points by it. */
  async addedColumn(name: string | undefined): Promise<void> {
    const { dataset } = this;
    if (!dataset) return;
    try {
      const info = await this.api.ask<DatasetInfo>("dataset", dataset.at);
      if (dataset !== this.dataset) return;
      dataset.info = info;
      if (name) {
        dataset.columns.delete(name);
        dataset.known.delete(name);
        await this.setColor(name);
      }
      this.showAll();
      void this.table.reload();
    } catch (error) {
      this.notify(messageOf(error));
    }
  }

  // ---- the view

  cameraMoved(): void {
    this.hideTip();
    clearTimeout(this.cameraTimer);
    this.cameraTimer = window.setTimeout(() => this.tellCamera(), CAMERA_MS);
  }

  tellCamera(): void {
    if (!this.picture) return;
    // A view not moved by hand fits everything, whatever the window size.
    this.state.camera = this.view.touched ? this.view.camera() : "";
    this.tell({ camera: this.state.camera });
  }

  fitCloud(): void {
    const near = this.focus >= 0 && this.nearest ? Uint32Array.from([this.focus, ...this.nearest.rows]) : this.isolated;
    this.view.fit(this.selection.length > 1 ? this.selection : near);
  }

  setSpin(on: boolean): void {
    this.state.spin = on;
    this.tell({ spin: on });
    this.view.setSpin(on && this.state.dimensions === 3);
    this.tools.show();
  }

  setPointScale(scale: number): void {
    this.state.points = scale;
    this.tell({ points: scale });
    this.view.setPointScale(scale);
  }

  setGrid(on: boolean): void {
    this.state.grid = on;
    this.tell({ grid: on });
    this.view.setGrid(on);
  }

  setPerspective(on: boolean): void {
    this.state.perspective = on;
    this.tell({ perspective: on });
    this.view.setPerspective(on);
  }

  showAll(): void {
    const { controls, steps, tools, legend, search, inspector, clusters, bookmarks, table } = this;
    for (const part of [controls, steps, tools, legend, search, inspector, clusters, bookmarks, table]) part.show();
    this.frame.classList.toggle("without", !this.dataset);
  }

  // ---- news

  /** Checks for new data in the log directory, and reports it if it concerns what is open. */
  refresh(): void {
    clearTimeout(this.newsTimer);
    const wait = this.newsAt + NEWS_MS - performance.now();
    if (wait > 0) this.newsTimer = window.setTimeout(() => this.refresh(), wait);
    else void this.look();
  }

  async look(): Promise<void> {
    this.newsAt = performance.now();
    try {
      const answer = await this.api.ask<EmbeddingsAnswer>("embeddings", {});
      this.embeddings = answer.embeddings;
      this.outside.offer(answer.embeddings, answer.unlisted);
      const { dataset, state } = this;
      if (!dataset) {
        if (this.isMissing && this.embeddings.some(({ id }) => id === state.id)) void this.load({});
        return;
      }
      const listed = this.embeddings.find((one) => one.id === dataset.id);
      if (!listed) return this.setNews("This embedding was removed.", false);
      const before = new Set(dataset.info.steps);
      const fresh = listed.steps.filter((step) => !before.has(step));
      if (fresh.length) {
        const newest = integer(Math.max(...fresh));
        return this.setNews(`${counted(fresh.length, "newer step")}, up to ${newest}.`);
      }
      const info = await this.api.ask<DatasetInfo>("dataset", dataset.at);
      if (dataset === this.dataset && info.digest !== dataset.info.digest) this.setNews("The file has changed.");
    } catch {
      // The next revision asks again.
    }
  }

  setNews(text: string, reload = true): void {
    // Keep the button, which the user may be pressing.
    if (text === (this.news.firstChild?.textContent ?? "")) return;
    this.news.hidden = !text;
    this.news.replaceChildren(
      text,
      ...(text && reload ? [button("Reload", "Reload the current data", () => this.reload(), "small")] : []),
    );
  }

  /** Shows the current data: the newest step if the newest was shown before. */
  reload(): void {
    if (this.state.step !== null && this.state.step === this.dataset?.info.steps.at(-1)) {
      this.state.step = null;
      this.tell({ step: "" });
    }
    void this.load({});
  }

  // ---- size and theme

  fit(): void {
    // Also called when the panel and what it observes are taken off the page.
    if (!this.root.isConnected) return this.destroy();
    const top = this.root.getBoundingClientRect().top + window.scrollY;
    this.root.style.height = `${Math.max(window.innerHeight - top - 8, 360)}px`;
    const width = this.root.clientWidth;
    const { left = width >= 700, right = width >= NARROW } = this.sides;
    const { classList } = this.frame;
    classList.toggle("narrow", width < NARROW);
    classList.toggle("no-left", !left);
    classList.toggle("no-right", !right);
    this.tools.show();
  }

  /** Shows or hides a column. */
  flip(side: "left" | "right"): void {
    this.sides[side] = this.frame.classList.contains(`no-${side}`);
    storage.set(SIDES, JSON.stringify(this.sides));
    this.fit();
  }

  retheme(): void {
    this.theme = theme.read(this.root);
    this.paint();
    this.controls.show();
  }
}

let shown: ProjectorPanel | null = null;

/** Returns the panel in its host, creating it if needed. */
export function mount(host: HTMLElement, tools: HTMLElement, outside: Outside): ProjectorPanel {
  if (shown?.root === host) return shown;
  shown?.destroy();
  return (shown = new ProjectorPanel(host, tools, outside));
}
export const panel = (): ProjectorPanel | null => (shown?.root.isConnected ? shown : null);
