/** The Timeline panel in the browser: opens traces, owns the state of the view, redraws when something changed. */
import * as colours from "./colours.js";
import { Colours } from "./colours.js";
import * as data from "./data.js";
import * as details from "./details.js";
import * as draw from "./draw.js";
import * as geometry from "./geometry.js";
import * as input from "./input.js";
import * as labels from "./labels.js";
import * as layout from "./layout.js";
import * as losses from "./losses.js";
import * as rulers from "./rulers.js";
import * as theme from "./theme.js";
import * as timelineTools from "./tools.js";
import { Area } from "./area.js";
import { Lanes } from "./lanes.js";
import { Overlays } from "./overlays.js";
import { Raster } from "./raster.js";
import { Report } from "./url_sync.js";
import { Search } from "./search.js";
import { Selection } from "./selection.js";
import { Tip } from "./tip.js";
import { Together } from "./compare_traces.js";
import { Viewport } from "./viewport.js";
import { ahead } from "./ahead.js";
import { stepsOf } from "../../../curves/web/profiled_steps.js";
import { storage } from "../../../web/core/dom.js";

const LABEL_WIDTH = { least: 90, most: 520, usual: 210 };
const LABEL_WIDTH_KEY = "stepscope.timeline.labels";
/** Pinned lanes leave at least this share of the height to the others. */
const MOST_PINNED = 0.6;

/**
 * @typedef {object} Wish what is to be seen first
 * @property {number} [start]
 * @property {number} [end]
 * @property {number} [slice]
 * @property {string} [search]
 * @property {"text" | "regex" | "name"} [match]
 * @property {string} [colour]
 * @property {string[]} [compare]
 * @property {string} [align]
 * @property {string[]} [overlays]
 * @property {string} [lanes]
 */

export class TimelinePanel {
  /**
   * @param {HTMLElement} host
   * @param {HTMLElement} tools where the buttons go
   * @param {{api: string, perfetto: string, tell: (values: Record<string, string[]>) => void}} settings `tell` puts settings into the address
   */
  constructor(host, tools, settings) {
    const { element } = details;
    this.root = host;
    this.tools = tools;
    this.settings = settings;
    /** The traces from top to bottom; the first gives the time. @type {any[]} */
    this.sources = [];
    this.viewport = new Viewport([0, 1], [0, 1]);
    this.lanes = new Lanes();
    this.colours = new Colours();
    this.overlays = new Overlays();
    this.together = new Together(this);
    this.rows = layout.layout([], this.lanes);
    this.scroll = 0;
    this.pinScroll = 0;
    this.labelWidth = Number(storage.get(LABEL_WIDTH_KEY)) || LABEL_WIDTH.usual;
    /** Whether a drag chooses an area instead of moving. */
    this.choosing = false;
    this.matches = /** @type {any} */ (null);
    this.hover = /** @type {any} */ (null);
    this.cursor = /** @type {{x: number, y: number} | null} */ (null);
    this.box = /** @type {[number, number] | null} */ (null);
    this.drop = /** @type {number | null} */ (null);
    this.marked = /** @type {[number, number] | null} */ (null);
    this.dirty = true;
    this.drawn = { slices: 0, merged: 0, windows: new Set() };
    this.frames = 0;
    this.drawMs = 0;

    this.canvas = /** @type {HTMLCanvasElement} */ (element("canvas", "timeline-canvas"));
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-label", "Timeline of slices; press ? for keys");
    this.overlay = /** @type {HTMLCanvasElement} */ (element("canvas", "timeline-overlay"));
    /** @type {CanvasRenderingContext2D} */
    this.pen = /** @type {any} */ (this.canvas.getContext("2d", { alpha: false }));
    this.raster = new Raster();
    this.strips = { key: "", canvas: document.createElement("canvas") };
    this.cursorLine = element("div", "timeline-cursor");
    this.hoverFrame = element("div", "timeline-hover");
    /** Whether it was said why an overlay shows nothing. */
    this.explained = false;
    /** Whether the overlay has anything on it. */
    this.overlaid = false;
    this.tip = new Tip(this);
    this.message = element("div", "timeline-message");
    this.message.setAttribute("role", "status");
    this.busy = element("div", "timeline-busy");
    this.legend = element("div", "timeline-legend");
    this.filter = timelineTools.laneFilter(this);
    this.stage = element("div", "timeline-stage", this.canvas, this.overlay, this.cursorLine, this.hoverFrame, this.filter.element, this.legend, this.tip.element, this.message, this.busy);
    this.strip = element("div", "timeline-strip");
    this.drawer = element("div", "timeline-drawer");
    this.search = new Search(this);
    this.selection = new Selection(this);
    this.area = new Area(this);
    this.report = new Report((/** @type {string} */ range) => this.settings.tell({ "timeline.range": [range] }));
    host.replaceChildren(this.strip, this.stage, this.drawer);
    this.buttons = timelineTools.fill(this, tools);

    this.input = input.attach(this, this.canvas);
    this.observers = [new ResizeObserver(() => this.resize()), new MutationObserver(() => this.retheme())];
    /** @type {ResizeObserver} */ (this.observers[0]).observe(this.stage);
    /** @type {MutationObserver} */ (this.observers[1]).observe(document.documentElement, {
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
    this.matches = this.hover = this.cursor = this.box = this.drop = this.marked = null;
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

  /**
   * Shows a trace. Opening the one that is shown changes nothing.
   * @param {string | null} id
   * @param {Wish} [wish]
   */
  async open(id, wish = {}) {
    if (id === this.wanted) return;
    this.wanted = id;
    this.reset();
    // Before the trace is there, as what is chosen and typed while it opens is later.
    if (wish.colour) this.setColour(wish.colour);
    for (const which of /** @type {("critical" | "idle")[]} */ (wish.overlays || [])) this.turn(which, true);
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
      if (this.wanted === id) this.say(error.message);
    }
  }

  /** @param {any} summary @param {Wish} wish */
  async show(summary, wish) {
    const source = this.addSource(summary);
    const { asked } = this.selection;
    this.scroll = this.pinScroll = 0;
    this.showLosses();
    this.say(summary.slices || summary.counters.length ? "" : "This trace has no slices: the file was read, and there is nothing in it to draw.");
    this.viewport = new Viewport([0, summary.end], this.sources[0].work);
    if (wish.lanes) this.setFilter(wish.lanes);
    this.lanes.remember(summary);
    this.lanes.foldDeep = false;
    this.relayout();
    if (this.contentHeight >= this.height) {
      this.lanes.foldDeep = true;
      this.relayout();
    }
    if (wish.start != null && wish.end != null && wish.end > wish.start) this.viewport.go(wish.start, wish.end, 0, true);
    this.report.known(this.viewport);
    this.search.run();
    this.resize();
    if (wish.compare?.length) {
      if (["step", "clock", "collectives"].includes(wish.align || "")) this.together.by = /** @type {string} */ (wish.align);
      await this.together.addAll(wish.compare);
      if (this.sources[0] !== source) return;
    }
    if (this.colours.mode === "difference" && this.sources.length < 2) this.setColour("name");
    // What the address shows stays in view; a slice elsewhere is gone to.
    if (wish.slice != null && wish.slice < summary.slices && this.selection.asked === asked) this.selection.select(wish.slice, { reveal: wish.start == null ? "always" : "outside", source });
  }

  /** @param {any} summary answer of the route `trace` */
  addSource(summary) {
    const source = new data.Source(this.settings.api, summary, () => this.changed(), (/** @type {string} */ m) => this.notify(m));
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
    this.strip.replaceChildren(...this.sources.map((source) => losses.strip(source, this.sources.length > 1)).filter((line) => line !== null));
  }

  /** Traces have come, gone or moved. */
  sourcesChanged() {
    this.showLosses();
    const whole = (/** @type {[number, number][]} */ extents) => [Math.min(...extents.map((e) => e[0])), Math.max(...extents.map((e) => e[1]))];
    this.viewport.reach(whole(this.sources.map((source) => source.extent)), whole(this.sources.map((source) => source.work)));
    this.colours.measure(this.sources);
    this.relayout();
    this.search.run();
    this.resize();
  }

  /** Number of the step of the first trace nearest to the middle of the screen. @returns {number | null} */
  middleStep() {
    const { steps } = this.sources[0].summary;
    const middle = (this.viewport.start + this.viewport.end) / 2;
    const distance = (/** @type {any} */ step) => Math.abs(step[2] + step[3] / 2 - middle);
    return steps.length ? steps.reduce((/** @type {any} */ best, /** @type {any} */ step) => (distance(step) < distance(best) ? step : best))[0] : null;
  }

  // ---- what the address says

  /** @param {number | null} index */
  tellSlice(index) {
    this.settings.tell({ "timeline.slice": index === null ? [] : [String(index)] });
  }

  /** @param {string} text @param {string} match */
  tellSearch(text, match) {
    if (this.ready) this.settings.tell({ "timeline.search": [text], "timeline.match": [text ? match : "text"] });
  }

  tellTraces() {
    this.settings.tell({ "timeline.compare": [...new Set([...this.together.ids.slice(1), ...this.together.coming])], "timeline.align": [this.sources.length > 1 ? this.together.by : "start"] });
  }

  get contentHeight() {
    return this.rows.height + rulers.BELOW;
  }

  // ---- looks

  /** @param {string} mode */
  setColour(mode) {
    this.colours.mode = mode in colours.MODES ? mode : "name";
    for (const source of this.sources) source.carry(this.colours.value);
    this.settings.tell({ "timeline.colour": [this.colours.mode] });
    this.buttons.show();
    this.changed();
  }

  /** @param {"critical" | "idle"} which @param {boolean} [on] */
  turn(which, on = !this.overlays[which]) {
    this.overlays.turn(which, on, this.sources);
    this.explained = false;
    this.settings.tell({ "timeline.overlay": ["critical", "idle"].filter((each) => this.overlays[each]) });
    this.buttons.show();
    this.changed();
  }

  /** @param {boolean} choosing */
  setChoosing(choosing) {
    this.choosing = choosing;
    this.buttons.show();
  }

  /** @param {string} text @param {boolean} [busy] */
  say(text, busy = false) {
    this.message.textContent = text;
    this.message.classList.toggle("busy", busy);
    this.message.style.display = text ? "flex" : "none";
  }

  /** Something that leaves the picture as it is. @param {string} text @param {"problem" | "info"} [sort] */
  notify(text, sort = "problem") {
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
      /** @type {HTMLElement} */ (swatch).style.background = this.theme.colour(/** @type {HTMLElement} */ (swatch).dataset.name);
    }
    for (const bars of this.drawer.querySelectorAll("canvas.timeline-bars")) details.paintBars(bars, this.theme);
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

  /** @param {number} width */
  setLabelWidth(width) {
    this.labelWidth = width;
    storage.set(LABEL_WIDTH_KEY, String(Math.round(this.left)));
    this.filter.place(this);
    this.changed();
  }

  get left() {
    return Math.round(Math.min(Math.max(this.labelWidth, LABEL_WIDTH.least), LABEL_WIDTH.most, (this.width || 800) * 0.4));
  }

  /** What drawing needs to know. */
  get scene() {
    return { ...this.sceneOn(this.pen), raster: this.raster, strips: this.strips };
  }

  /** A scene on a canvas or what stands for one; without pixels, every slice is a shape. @param {any} context */
  sceneOn(context) {
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

  /** @param {number} now */
  tick(now) {
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
    colours.showLegend(this.legend, this.theme, { ...legend, entries: [...(legend.entries || []), ...this.overlays.legend(this.theme, this.sources)] });
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

  /** All but what follows the mouse. @param {any} scene */
  paint(scene) {
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
    const context = /** @type {CanvasRenderingContext2D} */ (this.overlay.getContext("2d"));
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.paintOverlay(context);
  }

  /** What follows the mouse, and what is chosen. @param {any} context */
  paintOverlay(context) {
    rulers.overlay(this.sceneOn(context), { box: this.box, mark: this.marked, area: this.area.chosen, drop: this.drop });
  }

  /** Asks for what is visible, or will be when the animation ends. @param {any} scene */
  request(scene) {
    const [start, end] = this.viewport.target;
    const visible = [...geometry.visibleBands(scene, false), ...geometry.visibleBands(scene, true)];
    const pixels = scene.width - scene.left;
    for (const source of this.sources) {
      const mine = visible.filter((/** @type {any} */ b) => b.source === source);
      const range = source.own({ start, end });
      source.want(range, pixels, mine.filter((/** @type {any} */ b) => b.lane >= 0).map((/** @type {any} */ b) => b.lane));
      source.wantCounters(range, pixels, mine.filter((/** @type {any} */ b) => b.counter >= 0).map((/** @type {any} */ b) => b.counter));
    }
    this.overlays.want(scene, { start, end });
  }

  // ---- where things are

  /** @param {number} x */
  timeAt(x) {
    return this.viewport.start + ((x - this.left) / (this.width - this.left)) * this.viewport.span;
  }

  /** @param {number} x */
  minimapTime(x) {
    return this.viewport.low + ((x - this.left) / (this.width - this.left)) * this.viewport.length;
  }

  /** @param {number} x */
  insideMinimapView(x) {
    const time = this.minimapTime(x);
    const [start, end] = this.viewport.target;
    return time >= start && time <= end && end - start < this.viewport.length * 0.98;
  }

  /** @param {{x: number, y: number}} at */
  bandAt(at) {
    return geometry.bandAtY(this.scene, at.y);
  }

}


/** @type {TimelinePanel | null} */
let shown = null;

/**
 * Puts the panel into its host, or finds it there.
 * @param {HTMLElement} host @param {HTMLElement} tools
 * @param {{api: string, perfetto: string, tell: (values: Record<string, string[]>) => void}} settings
 */
export const mount = (host, tools, settings) => {
  if (shown && shown.root === host) return shown;
  shown?.destroy();
  shown = new TimelinePanel(host, tools, settings);
  return shown;
};
export const panel = () => shown;
