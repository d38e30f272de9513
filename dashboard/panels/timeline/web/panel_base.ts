/** The Timeline panel in the browser: opens traces, owns the state of the view, redraws when something changed. */
import * as colours from "./colours.ts";
import { Colours } from "./colours.ts";
import * as data from "./data.ts";
import * as details from "./details.ts";
import * as draw from "./draw.ts";
import * as geometry from "./geometry.ts";
import * as input from "./input.ts";
import * as labels from "./labels.ts";
import * as layout from "./layout.ts";
import * as losses from "./losses.ts";
import * as rulers from "./rulers.ts";
import * as theme from "./theme.ts";
import * as timelineTools from "./tools.ts";
import { Area } from "./area.ts";
import { Lanes } from "./lanes.ts";
import { Overlays } from "./overlays.ts";
import { Raster } from "./raster.ts";
import { Report } from "./url_sync.ts";
import { Search } from "./search.ts";
import { Selection } from "./selection.ts";
import { Tip } from "./tip.ts";
import { Together } from "./compare_traces.ts";
import { Viewport } from "./viewport.ts";
import { ahead } from "./ahead.ts";
import { stepsOf } from "../../../curves/web/profiled_steps.ts";
import { storage } from "../../../web/core/dom.ts";
import { messageOf } from "../../../web/core/request.ts";
import type { Source } from "./data.ts";
import type { Band } from "./layout.ts";
import type { TimelinePanel } from "./panel.ts";
import type { Scene } from "./geometry.ts";

const LABEL_WIDTH = { least: 90, most: 520, usual: 210 };
const LABEL_WIDTH_KEY = "stepscope.timeline.labels";
/** Pinned lanes leave at least this share of the height to the others. */
const MOST_PINNED = 0.6;

/** what is to be seen first */
export interface Wish {
  start?: number;
  end?: number;
  slice?: number;
  search?: string;
  match?: "text" | "regex" | "name";
  colour?: string;
  compare?: string[];
  align?: string;
  overlays?: string[];
  lanes?: string;
}

export abstract class PanelBase {
  abstract relayout(): void;
  abstract setFilter(text: string): void;
  abstract scrollBy(by: number, pinned?: boolean): boolean;
  abstract point(at: { x: number; y: number } | null): void;

  root;
  tools;
  settings;
  /** The traces from top to bottom; the first gives the time. */
  sources: Source[] = [];
  viewport = new Viewport([0, 1], [0, 1]);
  lanes = new Lanes();
  colours = new Colours();
  overlays = new Overlays();
  together;
  rows;
  scroll = 0;
  pinScroll = 0;
  labelWidth = Number(storage.get(LABEL_WIDTH_KEY)) || LABEL_WIDTH.usual;
  /** Whether a drag chooses an area instead of moving. */
  choosing = false;
  matches: any = null;
  hover: any = null;
  cursor: { x: number; y: number } | null = null;
  box: [number, number] | null = null;
  drop: number | null = null;
  marked: [number, number] | null = null;
  dirty = true;
  drawn = { slices: 0, merged: 0, windows: new Set() };
  frames = 0;
  drawMs = 0;
  canvas: HTMLCanvasElement;
  overlay: HTMLCanvasElement;
  pen: CanvasRenderingContext2D;
  raster = new Raster();
  strips;
  cursorLine;
  hoverFrame;
  /** Whether it was said why an overlay shows nothing. */
  explained = false;
  /** Whether the overlay has anything on it. */
  overlaid = false;
  tip;
  message;
  busy;
  legend;
  filter;
  stage;
  strip;
  drawer;
  search;
  selection;
  area;
  report;
  buttons;
  input;
  observers;
  onWindow;
  then;
  frame;
  wanted: string | null = null;
  theme: any;
  ratio = 1;
  width = 0;
  height = 0;

  /**
   * @param tools where the buttons go
   * @param settings `tell` puts settings into the address
   */
  constructor(
    host: HTMLElement,
    tools: HTMLElement,
    settings: { api: string; perfetto: string; tell: (values: Record<string, string[]>) => void },
  ) {
    const { element } = details;
    this.root = host;
    this.tools = tools;
    this.settings = settings;
    // What belongs to it is made of the whole panel, of which this is the base.
    const panel = this as unknown as TimelinePanel;
    this.together = new Together(panel);
    this.rows = layout.layout([], this.lanes);

    this.canvas = element("canvas", "timeline-canvas") as HTMLCanvasElement;
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-label", "Timeline of slices; press ? for keys");
    this.overlay = element("canvas", "timeline-overlay") as HTMLCanvasElement;
    this.pen = this.canvas.getContext("2d", { alpha: false })!;
    this.strips = { key: "", canvas: document.createElement("canvas") };
    this.cursorLine = element("div", "timeline-cursor");
    this.hoverFrame = element("div", "timeline-hover");
    this.tip = new Tip(panel);
    this.message = element("div", "timeline-message");
    this.message.setAttribute("role", "status");
    this.busy = element("div", "timeline-busy");
    this.legend = element("div", "timeline-legend");
    this.filter = timelineTools.laneFilter(panel);
    this.stage = element(
      "div",
      "timeline-stage",
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
    this.strip = element("div", "timeline-strip");
    this.drawer = element("div", "timeline-drawer");
    this.search = new Search(panel);
    this.selection = new Selection(panel);
    this.area = new Area(panel);
    this.report = new Report((range: string) => this.settings.tell({ "timeline.range": [range] }));
    host.replaceChildren(this.strip, this.stage, this.drawer);
    this.buttons = timelineTools.fill(panel, tools);

    this.input = input.attach(panel, this.canvas);
    this.observers = [new ResizeObserver(() => this.resize()), new MutationObserver(() => this.retheme())];
    (this.observers[0] as ResizeObserver).observe(this.stage);
    (this.observers[1] as MutationObserver).observe(document.documentElement, {
      attributes: true,
      attributeFilter: ["data-mantine-color-scheme"],
    });
    this.onWindow = () => this.fillHeight();
    window.addEventListener("resize", this.onWindow);
    this.fillHeight();
    this.retheme();
    this.resize();
    this.then = performance.now();
    this.frame = requestAnimationFrame((now) => this.tick(now));
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
    this.input.close();
    for (const source of this.sources) source.close();
    // What is under way must not go on for a panel that nobody sees.
    this.sources = [];
    this.wanted = null;
    window.removeEventListener("resize", this.onWindow);
    for (const observer of this.observers) observer.disconnect();
  }

  // ---- traces

  /** Shows a trace. Opening the one that is shown changes nothing. */
  async open(id: string | null, wish: Wish = {}) {
    if (id === this.wanted) return;
    this.wanted = id;
    this.reset();
    // Before the trace is there, as what is chosen and typed while it opens is later.
    if (wish.colour) this.setColour(wish.colour);
    for (const which of ((wish.overlays || []) as ("critical" | "idle")[])) this.turn(which, true);
    if (wish.search) this.search.set(wish.search, wish.match);
    this.relayout();
    if (!id) return this.say("Choose a trace above.");
    this.say("Opening the trace…", true);
    try {
      const summary = await ahead.summary(this.settings.api, id);
      if (this.wanted !== id) return;
      if (summary.problem) this.say(summary.problem);
      else await this.show(summary, wish);
    } catch (error) {
      if (this.wanted === id) this.say(messageOf(error));
    }
  }

  async show(summary: any, wish: Wish) {
    const source = this.addSource(summary);
    const { asked } = this.selection;
    this.scroll = this.pinScroll = 0;
    this.showLosses();
    this.say(
      summary.slices || summary.counters.length
        ? ""
        : "This trace has no slices: the file was read, and there is nothing in it to draw.",
    );
    this.viewport = new Viewport([0, summary.end], this.sources[0].work);
    if (wish.lanes) this.setFilter(wish.lanes);
    this.lanes.remember(summary);
    this.lanes.foldDeep = false;
    this.relayout();
    if (this.contentHeight >= this.height) {
      this.lanes.foldDeep = true;
      this.relayout();
    }
    if (wish.start != null && wish.end != null && wish.end > wish.start) {
      this.viewport.go(wish.start, wish.end, 0, true);
    }
    this.report.known(this.viewport);
    this.search.run();
    this.resize();
    if (wish.compare?.length) {
      if (["step", "clock", "collectives"].includes(wish.align || "")) this.together.by = wish.align as string;
      await this.together.addAll(wish.compare);
      if (this.sources[0] !== source) return;
    }
    if (this.colours.mode === "difference" && this.sources.length < 2) this.setColour("name");
    // What the address shows stays in view; a slice elsewhere is gone to.
    if (wish.slice != null && wish.slice < summary.slices && this.selection.asked === asked) {
      this.selection.select(wish.slice, { reveal: wish.start == null ? "always" : "outside", source });
    }
  }

  /** @param summary answer of the route `trace` */
  addSource(summary: any) {
    const source = new data.Source(this.settings.api, summary, () => this.changed(), (m: string) => this.notify(m));
    source.place = this.sources.length;
    source.carry(this.colours.value);
    // Where the trace's steps are on the curves of its run; nothing where that cannot be known.
    source.joined = stepsOf(source.id).catch(() => null);
    this.sources = [...this.sources, source];
    this.colours.measure(this.sources);
    return source;
  }

  /** What of the traces could not be shown as stored. */
  showLosses() {
    this.strip.replaceChildren(
      ...this.sources.map((source) => losses.strip(source, this.sources.length > 1)).filter((line) => line !== null),
    );
  }

  /** Traces have come, gone or moved. */
  sourcesChanged() {
    this.showLosses();
    const whole = (
      extents: [number, number][],
    ) => [Math.min(...extents.map((e) => e[0])), Math.max(...extents.map((e) => e[1]))];
    this.viewport.reach(
      whole(this.sources.map((source) => source.extent)),
      whole(this.sources.map((source) => source.work)),
    );
    this.colours.measure(this.sources);
    this.relayout();
    this.search.run();
    this.resize();
  }

  /** Number of the step of the first trace nearest to the middle of the screen. */
  middleStep(): number | null {
    const { steps } = this.sources[0].summary;
    const middle = (this.viewport.start + this.viewport.end) / 2;
    const distance = (step: any) => Math.abs(step[2] + step[3] / 2 - middle);
    return steps.length
      ? steps.reduce((best: any, step: any) => (distance(step) < distance(best) ? step : best))[0]
      : null;
  }

  // ---- what the address says

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

  // ---- looks

  setColour(mode: string) {
    this.colours.mode = mode in colours.MODES ? (mode as colours.Mode) : "name";
    for (const source of this.sources) source.carry(this.colours.value);
    this.settings.tell({ "timeline.colour": [this.colours.mode] });
    this.buttons.show();
    this.changed();
  }

  turn(which: "critical" | "idle", on: boolean = !this.overlays[which]) {
    this.overlays.turn(which, on, this.sources);
    this.explained = false;
    this.settings.tell({ "timeline.overlay": (["critical", "idle"] as const).filter((each) => this.overlays[each]) });
    this.buttons.show();
    this.changed();
  }

  setChoosing(choosing: boolean) {
    this.choosing = choosing;
    this.buttons.show();
  }

  say(text: string, busy: boolean = false) {
    this.message.textContent = text;
    this.message.classList.toggle("busy", busy);
    this.message.style.display = text ? "flex" : "none";
  }

  /** Something that leaves the picture as it is. */
  notify(text: string, sort: "problem" | "info" = "problem") {
    this.stage.querySelector(".timeline-note")?.remove();
    const note = details.element("div", `timeline-note ${sort}`, text);
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
    for (const swatch of this.drawer.querySelectorAll(".timeline-swatch[data-name]")) {
      (swatch as HTMLElement).style.background = this.theme.colour((swatch as HTMLElement).dataset.name);
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

  setLabelWidth(width: number) {
    this.labelWidth = width;
    storage.set(LABEL_WIDTH_KEY, String(Math.round(this.left)));
    this.filter.place(this);
    this.changed();
  }

  get left() {
    return Math.round(
      Math.min(Math.max(this.labelWidth, LABEL_WIDTH.least), LABEL_WIDTH.most, (this.width || 800) * 0.4),
    );
  }

  /** What drawing needs to know. */
  get scene(): Scene {
    return { ...this.sceneOn(this.pen), raster: this.raster, strips: this.strips };
  }

  /** A scene on a canvas or what stands for one; without pixels, every slice is a shape. */
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
      colours: this.colours,
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
    if (!this.ready) return;
    const started = performance.now();
    const scene = this.scene;
    this.request(scene);
    this.paint(scene);
    const legend = this.colours.legend(this.theme, [...this.drawn.windows]);
    colours.showLegend(this.legend, this.theme, {
      ...legend,
      entries: [...(legend.entries || []), ...this.overlays.legend(this.theme, this.sources)],
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

  /** All but what follows the mouse. */
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
    const context = this.overlay.getContext("2d") as CanvasRenderingContext2D;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.paintOverlay(context);
  }

  /** What follows the mouse, and what is chosen. */
  paintOverlay(context: CanvasRenderingContext2D) {
    rulers.overlay(this.sceneOn(context), {
      box: this.box,
      mark: this.marked,
      area: this.area.chosen,
      drop: this.drop,
    });
  }

  /** Asks for what is visible, or will be when the animation ends. */
  request(scene: Scene) {
    const [start, end] = this.viewport.target;
    const visible = [...geometry.visibleBands(scene, false), ...geometry.visibleBands(scene, true)];
    const pixels = scene.width - scene.left;
    for (const source of this.sources) {
      const mine = visible.filter((b: Band) => b.source === source);
      const range = source.own({ start, end });
      source.want(range, pixels, mine.filter((b: Band) => b.lane >= 0).map((b: Band) => b.lane));
      source.wantCounters(range, pixels, mine.filter((b: Band) => b.counter >= 0).map((b: Band) => b.counter));
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

  bandAt(at: { x: number; y: number }) {
    return geometry.bandAtY(this.scene, at.y);
  }
}
