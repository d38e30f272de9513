/** The Timeline panel in the browser: opens traces, owns the view state, and redraws when something changes. */
import { stepsOf } from "../../../curves/web/profiled_steps.ts";
import { make, storage } from "../../../web/core/dom.ts";
import { retryButton } from "../../../web/cards/loading.ts";
import { Api, messageOf } from "../../../web/core/request.ts";
import { ahead } from "./ahead.ts";
import { Area } from "./area.ts";
import { Colors, type Mode, type Step } from "./colors.ts";
import { type Alignment, Together } from "./compare_traces.ts";
import { Source } from "./data.ts";
import * as details from "./details.ts";
import * as draw from "./draw.ts";
import * as geometry from "./geometry.ts";
import type { DrawnSlice, Point, Scene } from "./geometry.ts";
import * as input from "./input.ts";
import * as labels from "./labels.ts";
import { Lanes } from "./lanes.ts";
import { type Band, layout, type Rows } from "./layout.ts";
import * as legend from "./legend.ts";
import * as losses from "./losses.ts";
import type { TraceSummary } from "./messages.generated.ts";
import { type Overlay, Overlays } from "./overlays.ts";
import type { TimelinePanel } from "./panel.ts";
import { penOf } from "./widgets.ts";
import { Raster } from "./raster.ts";
import * as rulers from "./rulers.ts";
import { type Found, type Match, Search } from "./search.ts";
import { Selection } from "./selection.ts";
import * as theme from "./theme.ts";
import { Tip } from "./tip.ts";
import * as timelineTools from "./tools.ts";
import { Report } from "./url_sync.ts";
import { Viewport } from "./viewport.ts";

/** Unless the user widens the column, names take no more than this share. */
const LABEL_WIDTH = { least: 90, most: 520, usual: 210, share: 0.28 };
const LABEL_WIDTH_KEY = "stepscope.timeline.labels";
/** Pinned lanes leave at least this share of the height to the others. */
const MOST_PINNED = 0.6;

/** The initial view. */
export interface Wish {
  start?: number;
  end?: number;
  area?: string;
  slice?: number;
  search?: string;
  match?: Match;
  color?: Mode;
  compare?: string[];
  align?: Alignment;
  overlays?: string[];
  lanes?: string;
}

/** How the panel reaches the page around it. */
export interface Surroundings {
  /** The base address of the routes. */
  api: string;
  /** The address of Perfetto; empty if it is not offered. */
  perfetto: string;
  /** Puts settings into the address. */
  tell: (values: Record<string, string[]>) => void;
}

const OVERLAYS: readonly Overlay[] = ["critical", "idle"];
/** From the earliest start to the latest end. */
const whole = (extents: [number, number][]): [number, number] => [
  Math.min(...extents.map(([start]) => start)),
  Math.max(...extents.map(([, end]) => end)),
];

export abstract class PanelBase {
  abstract relayout(): void;
  abstract setFilter(text: string): void;
  abstract scrollBy(by: number, pinned?: boolean): boolean;
  abstract point(at: Point | null): void;

  readonly root: HTMLElement;
  readonly settings: Surroundings;
  readonly api: Api;
  /** The traces from top to bottom; the first defines the time axis. */
  sources: Source[] = [];
  viewport = new Viewport([0, 1], [0, 1]);
  readonly lanes = new Lanes();
  readonly colors = new Colors();
  readonly overlays = new Overlays();
  readonly together: Together;
  rows: Rows = layout([], this.lanes);
  scroll = 0;
  pinScroll = 0;
  /** The width the user set; otherwise the names determine it. */
  labelWidth = Number(storage.get(LABEL_WIDTH_KEY)) || null;
  /** The width the names need, as far as known. */
  neededWidth = LABEL_WIDTH.usual;
  /** Whether a drag selects an area instead of panning. */
  choosing = false;
  matches: Found | null = null;
  hover: DrawnSlice | null = null;
  cursor: Point | null = null;
  box: [number, number] | null = null;
  drop: number | null = null;
  marked: [number, number] | null = null;
  dirty = true;
  drawn = draw.nothing();
  frames = 0;
  drawMs = 0;
  readonly canvas = make("canvas", {
    className: "timeline-canvas",
    tabIndex: 0,
    role: "application",
    "aria-label": "Timeline of slices; press ? for keys",
  });
  readonly overlay = make("canvas", { className: "timeline-overlay" });
  readonly pen = penOf(this.canvas, { alpha: false });
  readonly overlayPen = penOf(this.overlay);
  readonly raster = new Raster();
  readonly strips = { key: "", canvas: make("canvas") };
  readonly cursorLine = make("div", { className: "timeline-cursor" });
  readonly hoverFrame = make("div", { className: "timeline-hover" });
  /** Whether the user was told why an overlay shows nothing. */
  explained = false;
  /** Whether the overlay has anything on it. */
  overlaid = false;
  readonly tip: Tip;
  readonly message = make("div", { className: "timeline-message", role: "status" });
  readonly busy = make("div", { className: "timeline-busy" });
  readonly legend = make("div", { className: "timeline-legend" });
  readonly filter: ReturnType<typeof timelineTools.laneFilter>;
  readonly stage: HTMLElement;
  readonly strip = make("div", { className: "timeline-strip" });
  readonly drawer = make("div", { className: "timeline-drawer" });
  readonly search: Search;
  readonly selection: Selection;
  readonly area: Area;
  readonly report = new Report((range) => this.settings.tell({ "timeline.range": [range] }));
  readonly buttons: { show: () => void };
  readonly input: ReturnType<typeof input.attach>;
  /** Aborted when the panel is destroyed. */
  readonly life = new AbortController();
  then = performance.now();
  frame: number;
  wanted: string | null = null;
  /** Counts openings, so that late answers can be recognized. */
  opening = 0;
  /** The initial view requested for a trace that could not be shown. */
  unanswered: Wish | null = null;
  theme: theme.Theme;
  ratio = 1;
  width = 0;
  height = 0;

  /** @param tools where the buttons go */
  constructor(host: HTMLElement, tools: HTMLElement, settings: Surroundings) {
    this.root = host;
    this.settings = settings;
    this.api = new Api(settings.api);
    // Only TimelinePanel instances are ever created.
    const panel = this as unknown as TimelinePanel;
    this.together = new Together(panel);
    this.tip = new Tip(panel);
    this.filter = timelineTools.laneFilter(panel);
    this.stage = make(
      "div",
      { className: "timeline-stage" },
      this.canvas,
      this.overlay,
      this.cursorLine,
      this.hoverFrame,
      this.filter.element,
      this.legend,
      this.tip.element,
      this.message,
      this.busy,
    );
    this.search = new Search(panel);
    this.selection = new Selection(panel);
    this.area = new Area(panel);
    host.replaceChildren(this.strip, this.stage, this.drawer);
    this.buttons = timelineTools.fill(panel, tools);
    this.input = input.attach(panel, this.canvas, this.life.signal);
    this.theme = theme.read(host);
    this.observe();
    this.fillHeight();
    this.resize();
    this.frame = requestAnimationFrame((now) => this.tick(now));
  }

  /** Observes the page's size and theme. */
  observe() {
    const size = new ResizeObserver(() => this.resize());
    size.observe(this.stage);
    const scheme = new MutationObserver(() => this.retheme());
    scheme.observe(document.documentElement, { attributes: true, attributeFilter: ["data-mantine-color-scheme"] });
    const { signal } = this.life;
    signal.addEventListener("abort", () => [size, scheme].forEach((observer) => observer.disconnect()));
    window.addEventListener("resize", () => this.fillHeight(), { signal });
  }

  /** Whether there is something to draw. */
  get ready() {
    return this.sources.length > 0;
  }

  reset() {
    for (const source of this.sources) source.close();
    this.sources = [];
    this.matches =
      this.hover =
      this.cursor =
      this.box =
      this.drop =
      this.marked =
        null;
    this.selection.reset();
    this.area.clear();
    this.together.reset();
    this.report.forget();
    this.search.run();
    this.strip.replaceChildren();
    this.tip.hide();
  }

  destroy() {
    cancelAnimationFrame(this.frame);
    this.life.abort();
    for (const source of this.sources) source.close();
    // Pending work must not continue for a panel that is no longer visible.
    this.sources = [];
    this.wanted = null;
    this.opening += 1;
  }

  // ---- traces

  /** Shows a trace. Opening the one already shown changes nothing. */
  async open(id: string | null, initialView: Wish = {}) {
    if (id === this.wanted) return;
    this.wanted = id;
    const own = this.opening += 1;
    this.unanswered = null;
    this.reset();
    // Applied before the trace is loaded, because anything chosen or typed while it opens is newer.
    if (initialView.color) this.setColor(initialView.color);
    for (const which of OVERLAYS) if (initialView.overlays?.includes(which)) this.turn(which, true);
    if (initialView.search) this.search.set(initialView.search, initialView.match);
    this.relayout();
    if (!id) return this.say("Choose a trace above.");
    this.say("Opening the trace…", true);
    try {
      const summary = await ahead.summary(this.api, id);
      if (this.opening !== own) return;
      if ("problem" in summary) {
        this.unanswered = initialView;
        this.say(summary.problem);
      } else await this.show(summary, initialView);
    } catch (error) {
      if (this.opening !== own) return;
      this.unanswered = initialView;
      this.say(messageOf(error), false, () => this.openAgain());
    }
  }

  /** Retries a trace that could not be shown: the traces in the log directory have changed. */
  async openAgain() {
    if (!this.unanswered) return;
    const id = this.wanted;
    this.wanted = null;
    // Anything chosen or typed since is newer than the address.
    await this.open(id, { ...this.unanswered, search: undefined, color: undefined, overlays: undefined });
  }

  async show(summary: TraceSummary, initialView: Wish) {
    const source = this.addSource(summary);
    const { requested } = this.selection;
    this.scroll = this.pinScroll = 0;
    this.showLosses();
    this.say(
      summary.slices || summary.counters.length ? "" : "The file was read, but this trace has no slices.",
    );
    this.viewport = new Viewport([0, summary.end], this.sources[0].work);
    if (initialView.lanes) this.setFilter(initialView.lanes);
    this.lanes.remember(summary);
    this.lanes.foldDeep = false;
    this.relayout();
    if (this.contentHeight >= this.height) {
      this.lanes.foldDeep = true;
      this.relayout();
    }
    if (initialView.start != null && initialView.end != null && initialView.end > initialView.start) {
      this.viewport.go(initialView.start, initialView.end, 0, true);
    }
    this.report.known(this.viewport);
    this.search.run();
    this.resize();
    if (initialView.compare?.length) {
      if (initialView.align && initialView.align !== "start") this.together.by = initialView.align;
      await this.together.addAll(initialView.compare);
      if (this.sources[0] !== source) return;
    }
    if (this.colors.mode === "difference" && this.sources.length < 2) this.setColor("name");
    if (initialView.area && this.selection.requested === requested && !this.area.chosen) {
      await this.area.restore(initialView.area);
    }
    // The range from the address stays in view unless the slice is outside it.
    if (initialView.slice != null && initialView.slice < summary.slices && this.selection.requested === requested) {
      this.selection.select(initialView.slice, { reveal: initialView.start == null ? "always" : "outside", source });
    }
  }

  addSource(summary: TraceSummary): Source {
    const source = new Source(this.api, summary, () => this.changed(), (problem) => this.notify(problem));
    source.place = this.sources.length;
    source.carry(this.colors.value);
    // Where the trace's steps are on its run's curves; null if that cannot be determined.
    source.joined = stepsOf(source.id).catch(() => null);
    this.sources = [...this.sources, source];
    this.colors.measure(this.sources);
    return source;
  }

  /** Shows which parts of the traces could not be shown as stored. */
  showLosses() {
    this.strip.replaceChildren(
      ...this.sources.map((source) => losses.strip(source, this.sources.length > 1)).filter((line) => line !== null),
    );
  }

  /** Updates everything after traces were added, removed or moved. */
  sourcesChanged() {
    this.showLosses();
    this.viewport.reach(
      whole(this.sources.map((source) => source.extent)),
      whole(this.sources.map((source) => source.work)),
    );
    this.colors.measure(this.sources);
    this.relayout();
    this.search.run();
    this.resize();
  }

  /** Number of the step of the first trace nearest to the middle of the screen. */
  middleStep(): number | null {
    const { steps } = this.sources[0].summary;
    const middle = (this.viewport.start + this.viewport.end) / 2;
    const distance = ([, , start, length]: Step) => Math.abs(start + length / 2 - middle);
    return steps.length ? steps.reduce((best, step) => (distance(step) < distance(best) ? step : best))[0] : null;
  }

  // ---- address

  tellSlice(index: number | null) {
    this.settings.tell({ "timeline.slice": index === null ? [] : [String(index)] });
  }

  tellSearch(text: string, match: string) {
    if (this.ready) this.settings.tell({ "timeline.search": [text], "timeline.match": [text ? match : "text"] });
  }

  tellTraces() {
    this.settings.tell({
      "timeline.compare": [...new Set([...this.together.ids.slice(1), ...this.together.coming])],
      "timeline.align": [this.sources.length > 1 ? this.together.by : "start"],
    });
  }

  get contentHeight() {
    return this.rows.height + rulers.BELOW;
  }

  // ---- appearance

  setColor(mode: Mode) {
    this.colors.mode = mode;
    for (const source of this.sources) source.carry(this.colors.value);
    this.settings.tell({ "timeline.color": [this.colors.mode] });
    this.buttons.show();
    this.changed();
  }

  turn(which: Overlay, on: boolean = !this.overlays[which]) {
    this.overlays.turn(which, on, this.sources);
    this.explained = false;
    this.settings.tell({ "timeline.overlay": OVERLAYS.filter((each) => this.overlays[each]) });
    this.buttons.show();
    this.changed();
  }

  setChoosing(choosing: boolean) {
    this.choosing = choosing;
    this.buttons.show();
  }

  /** @param again given if retrying may help */
  say(text: string, busy: boolean = false, again?: () => unknown) {
    this.message.textContent = text;
    if (again) this.message.append(retryButton(again));
    this.message.classList.toggle("busy", busy);
    this.message.style.display = text ? "flex" : "none";
  }

  /** Shows a message that leaves the picture as it is. */
  notify(text: string, sort: "problem" | "info" = "problem") {
    this.stage.querySelector(".timeline-note")?.remove();
    const note = make("div", { className: `timeline-note ${sort}` }, text);
    note.setAttribute("role", sort === "info" ? "status" : "alert");
    this.stage.append(note);
    setTimeout(() => note.remove(), sort === "info" ? 2500 : 6000);
  }

  // ---- size and theme

  fillHeight() {
    const top = this.root.getBoundingClientRect().top + window.scrollY;
    this.root.style.height = `${Math.max(window.innerHeight - top - 16, 380)}px`;
  }

  retheme() {
    this.theme = theme.read(this.root);
    this.paintSwatches();
    this.changed();
  }

  paintSwatches() {
    for (const swatch of this.drawer.querySelectorAll<HTMLElement>(".timeline-swatch[data-name]")) {
      swatch.style.background = this.theme.color(swatch.dataset.name ?? "");
    }
    for (const bars of this.drawer.querySelectorAll<HTMLCanvasElement>("canvas.timeline-bars")) {
      details.paintBars(bars, this.theme);
    }
  }

  resize() {
    const { width, height } = this.stage.getBoundingClientRect();
    this.ratio = window.devicePixelRatio || 1;
    this.width = width;
    this.height = height;
    for (const canvas of [this.canvas, this.overlay]) {
      const [w, h] = [Math.round(width * this.ratio), Math.round(height * this.ratio)];
      if (canvas.width !== w || canvas.height !== h) {
        canvas.width = w;
        canvas.height = h;
      }
    }
    this.scrollBy(0);
    this.filter.place(this);
    this.changed();
    if (this.ready) this.draw();
  }

  /** @param width null for the width the names need */
  setLabelWidth(width: number | null) {
    this.labelWidth = width;
    storage.set(LABEL_WIDTH_KEY, width === null ? "" : String(Math.round(this.left)));
    this.filter.place(this);
    this.changed();
  }

  get left() {
    const { least, usual, most, share } = LABEL_WIDTH;
    const width = this.labelWidth ?? Math.max(usual, Math.min(this.neededWidth, (this.width || 800) * share));
    return Math.round(Math.min(Math.max(width, least), most, (this.width || 800) * 0.4));
  }

  /** The state that drawing needs. */
  get scene(): Scene {
    return { ...this.sceneOn(this.pen), raster: this.raster, strips: this.strips };
  }

  /** A scene on a canvas or a substitute for one; without pixels, every slice is a shape. */
  sceneOn(context: CanvasRenderingContext2D): Scene {
    const pinTop = rulers.heights(this.sources).top;
    return {
      context,
      raster: null,
      strips: null,
      ratio: this.ratio,
      theme: this.theme,
      width: this.width,
      height: this.height,
      left: this.left,
      pinTop,
      top: pinTop + Math.min(this.rows.pinnedHeight, (this.height - pinTop) * MOST_PINNED),
      scroll: this.scroll,
      pinScroll: this.pinScroll,
      viewport: this.viewport,
      sources: this.sources,
      rows: this.rows,
      selection: this.selection.slice,
      matches: this.matches,
      colors: this.colors,
      overlays: this.overlays,
      together: this.together,
    };
  }

  // ---- drawing

  changed() {
    this.dirty = true;
  }

  tick(now: number) {
    if (!this.root.isConnected) return this.destroy();
    this.frame = requestAnimationFrame((next) => this.tick(next));
    const held = this.input.tick(now, now - this.then);
    this.then = now;
    if (this.viewport.tick(now) || held) this.changed();
    if (this.dirty) this.draw();
    if (this.ready) this.report.tick(this.viewport, now);
  }

  draw() {
    this.dirty = false;
    const context = this.pen;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.fillStyle = this.theme.body;
    context.fillRect(0, 0, this.width, this.height);
    this.busy.style.display = this.sources.some((source) => source.loading) ? "block" : "none";
    this.filter.element.style.display = this.ready ? "" : "none";
    // A stage that is hidden, or that another panel has just replaced, has no size.
    if (!this.ready || !this.canvas.width || !this.canvas.height) return;
    const started = performance.now();
    const scene = this.scene;
    this.request(scene);
    this.paint(scene);
    const meaning = this.colors.legend(this.theme, [...this.drawn.windows]);
    legend.show(this.legend, this.theme, {
      ...meaning,
      entries: [...(meaning.entries ?? []), ...this.overlays.legend(this.theme, this.sources)],
    });
    const nothing = this.explained ? "" : this.overlays.nothing(this.sources);
    if (nothing) {
      this.explained = true;
      this.notify(nothing, "info");
    }
    if (this.cursor && !this.box) this.point(this.cursor);
    else this.drawOverlay();
    this.frames += 1;
    this.drawMs = performance.now() - started;
  }

  /** Paints everything except what follows the mouse. */
  paint(scene: Scene) {
    rulers.ruler(scene);
    this.drawn = draw.lanes(scene);
    labels.draw(scene);
    rulers.minimap(scene);
    rulers.scrollbar(scene);
  }

  drawOverlay() {
    rulers.pointer(this.scene, this.cursorLine, this.hoverFrame, this.box ? null : this.cursor, this.hover);
    const something = this.box || this.marked || this.area.chosen || this.drop || this.selection.slice;
    if (!something && !this.overlaid) return;
    this.overlaid = Boolean(something);
    this.overlayPen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.paintOverlay(this.overlayPen);
  }

  /** Paints what follows the mouse, and the selection. */
  paintOverlay(context: CanvasRenderingContext2D) {
    rulers.overlay(this.sceneOn(context), {
      box: this.box,
      mark: this.marked,
      area: this.area.chosen,
      drop: this.drop,
    });
  }

  /** Requests the data for the range that is visible, or will be when the animation ends. */
  request(scene: Scene) {
    const [start, end] = this.viewport.target;
    const visible = [...geometry.visibleBands(scene, false), ...geometry.visibleBands(scene, true)];
    const pixels = scene.width - scene.left;
    for (const source of this.sources) {
      const mine = visible.filter((b) => b.source === source);
      const range = source.own({ start, end });
      source.want(range, pixels, mine.filter((b) => b.lane >= 0).map((b) => b.lane));
      source.wantCounters(range, pixels, mine.filter((b) => b.counter >= 0).map((b) => b.counter));
    }
    this.overlays.want(scene, { start, end });
  }

  // ---- where things are

  timeAt(x: number) {
    return this.viewport.start + ((x - this.left) / (this.width - this.left)) * this.viewport.span;
  }

  minimapTime(x: number) {
    return this.viewport.low + ((x - this.left) / (this.width - this.left)) * this.viewport.length;
  }

  insideMinimapView(x: number) {
    const time = this.minimapTime(x);
    const [start, end] = this.viewport.target;
    return time >= start && time <= end && end - start < this.viewport.length * 0.98;
  }

  bandAt(at: Point): Band | null {
    return geometry.bandAtY(this.scene, at.y);
  }
}
