// @ts-check
/** The Timeline panel in the browser: opens a trace, owns its state, redraws when something changed. */
(() => {
  const root = (window.stepscope = window.stepscope || {});
  const timeline = (root.timeline = root.timeline || {});

  const LABEL_WIDTH = { least: 90, most: 520, usual: 200 };
  const LABEL_WIDTH_KEY = "stepscope.timeline.labels";

  class TimelinePanel {
    /**
     * @param {HTMLElement} host
     * @param {HTMLElement} tools where the buttons go
     * @param {{api: string, onView: (start: number | null, end: number | null) => void}} settings
     */
    constructor(host, tools, settings) {
      const { element } = timeline.details;
      this.root = host;
      this.tools = tools;
      this.settings = settings;
      this.source = null;
      this.viewport = new timeline.Viewport(1);
      /** @type {any[]} */
      this.bands = [];
      this.contentHeight = 0;
      this.scroll = 0;
      /** @type {Set<string>} */
      this.folded = new Set();
      this.colourBy = /** @type {"name" | "category"} */ ("name");
      this.labelWidth = Number(window.stepscope.storage.get(LABEL_WIDTH_KEY)) || LABEL_WIDTH.usual;
      this.matches = /** @type {any} */ (null);
      this.hover = /** @type {any} */ (null);
      this.cursor = /** @type {{x: number, y: number} | null} */ (null);
      this.box = /** @type {[number, number] | null} */ (null);
      this.marked = /** @type {[number, number] | null} */ (null);
      this.dirty = true;
      this.drawn = { slices: 0, merged: 0 };
      this.frames = 0;
      this.drawMs = 0;

      this.canvas = /** @type {HTMLCanvasElement} */ (element("canvas", "timeline-canvas"));
      this.canvas.tabIndex = 0;
      this.canvas.setAttribute("role", "application");
      this.canvas.setAttribute("aria-label", "Timeline of slices; press ? for keys");
      this.overlay = /** @type {HTMLCanvasElement} */ (element("canvas", "timeline-overlay"));
      this.tip = new timeline.Tip(this);
      this.message = element("div", "timeline-message");
      this.message.setAttribute("role", "status");
      this.busy = element("div", "timeline-busy");
      this.stage = element("div", "timeline-stage", this.canvas, this.overlay, this.tip.element, this.message, this.busy);
      this.strip = element("div", "timeline-strip");
      this.drawer = element("div", "timeline-drawer");
      this.search = new timeline.Search(this);
      this.selection = new timeline.Selection(this);
      this.report = new timeline.Report(settings.onView);
      host.replaceChildren(this.strip, this.stage, this.drawer);
      this.fillTools();

      this.input = timeline.input.attach(this, this.canvas);
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

    reset() {
      this.matches = this.hover = this.cursor = this.box = this.marked = null;
      this.selection.reset();
      this.report = new timeline.Report(this.settings.onView);
      this.strip.replaceChildren();
      this.tip.hide();
    }

    destroy() {
      cancelAnimationFrame(this.frame);
      this.input.close();
      this.source?.close();
      window.removeEventListener("resize", this.onWindow);
      for (const observer of this.observers) observer.disconnect();
    }

    fillTools() {
      const { element, button } = timeline.details;
      this.colourButton = button("Colour: name", "Colour slices by name or by category", () => {
        this.colourBy = this.colourBy === "name" ? "category" : "name";
        this.colourButton.textContent = `Colour: ${this.colourBy}`;
        this.changed();
      });
      this.tools.replaceChildren(
        this.search.element,
        element("span", "timeline-tools-end",
          button("Fit", "Fit the selection, or everything (F)", () => this.fit()),
          this.colourButton,
          button("PNG", "Save the picture as PNG", () => timeline.exports.png(this)),
          button("Download", "Download the trace as Chrome JSON, for Perfetto or chrome://tracing", () => timeline.exports.trace(this)),
          button("?", "Keys and mouse (?)", () => this.toggleHelp())));
    }

    /**
     * Shows a trace. Opening the one that is shown changes nothing.
     * @param {string | null} id
     * @param {{start?: number | null, end?: number | null}} [range]
     */
    async open(id, range = {}) {
      if (id === this.wanted) return;
      this.wanted = id;
      this.source?.close();
      this.source = null;
      this.reset();
      this.changed();
      if (!id) return this.say("Choose a trace above.");
      this.say("Opening the trace…", true);
      try {
        const response = await timeline.data.request(this.settings.api, "trace", { id });
        const summary = await response.json();
        if (this.wanted !== id) return;
        if (summary.problem) this.say(summary.problem);
        else this.show(summary, range);
      } catch (error) {
        if (this.wanted === id) this.say(error.message);
      }
    }

    /** @param {any} summary @param {{start?: number | null, end?: number | null}} range */
    show(summary, range) {
      this.source = new timeline.data.Source(this.settings.api, summary, () => this.changed(), (/** @type {string} */ m) => this.notify(m));
      this.viewport = new timeline.Viewport(summary.end);
      this.folded = this.foldedAtFirst(summary);
      this.scroll = 0;
      const losses = timeline.details.losses(summary);
      this.strip.replaceChildren(...(losses ? [losses] : []));
      this.say(summary.slices || summary.counters.length ? "" : "This trace has no slices: the file was read, and there is nothing in it to draw.");
      this.relayout();
      if (range.start != null && range.end != null && range.end > range.start) this.viewport.go(range.start, range.end, 0, true);
      this.report.known(this.viewport);
      this.search.run();
      this.resize();
    }

    /** Where not all fits, lanes so deep that they would fill the screen alone start folded. @param {any} summary @returns {Set<string>} */
    foldedAtFirst(summary) {
      const { bands, height } = timeline.layout.layout(summary, new Set());
      if (height < this.height) return new Set();
      return new Set(bands.filter((/** @type {any} */ b) => b.type === "lane" && b.depths > 24).map((/** @type {any} */ b) => b.key));
    }

    relayout() {
      const { bands, height } = timeline.layout.layout(this.source.summary, this.folded);
      this.bands = bands;
      this.contentHeight = height + 8;
      this.scrollBy(0);
      this.changed();
    }

    /** @param {string} text @param {boolean} [busy] */
    say(text, busy = false) {
      this.message.textContent = text;
      this.message.classList.toggle("busy", busy);
      this.message.style.display = text ? "flex" : "none";
    }

    /** A problem that leaves the picture as it is. @param {string} text */
    notify(text) {
      const note = timeline.details.element("div", "timeline-note", text);
      note.setAttribute("role", "alert");
      this.stage.append(note);
      setTimeout(() => note.remove(), 6000);
    }

    // ---- size and theme

    fillHeight() {
      const top = this.root.getBoundingClientRect().top + window.scrollY;
      this.root.style.height = `${Math.max(window.innerHeight - top - 16, 380)}px`;
    }

    retheme() {
      this.theme = timeline.theme.read(this.root);
      this.paintSwatches();
      this.changed();
    }

    paintSwatches() {
      for (const swatch of this.drawer.querySelectorAll(".timeline-swatch")) {
        /** @type {HTMLElement} */ (swatch).style.background = this.theme.colour(/** @type {HTMLElement} */ (swatch).dataset.name);
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
      if (this.source) this.scrollBy(0);
      this.changed();
      if (this.source) this.draw();
    }

    /** @param {number} width */
    setLabelWidth(width) {
      this.labelWidth = width;
      window.stepscope.storage.set(LABEL_WIDTH_KEY, String(Math.round(this.left)));
      this.changed();
    }

    get left() {
      return Math.round(Math.min(Math.max(this.labelWidth, LABEL_WIDTH.least), LABEL_WIDTH.most, (this.width || 800) * 0.4));
    }

    /** What drawing needs to know. */
    get scene() {
      return this.sceneOn(this.canvas);
    }

    /** @param {HTMLCanvasElement} canvas */
    sceneOn(canvas) {
      return {
        context: canvas.getContext("2d"),
        theme: this.theme,
        width: this.width,
        height: this.height,
        left: this.left,
        top: this.source ? timeline.rulers.heights(this.source.summary).top : 0,
        scroll: this.scroll,
        viewport: this.viewport,
        source: this.source,
        bands: this.bands,
        selection: this.selection.slice,
        matches: this.matches,
        colourBy: this.colourBy,
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
      if (this.source) this.report.tick(this.viewport, now);
    }

    draw() {
      this.dirty = false;
      const context = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
      context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      context.fillStyle = this.theme.body;
      context.fillRect(0, 0, this.width, this.height);
      const over = /** @type {CanvasRenderingContext2D} */ (this.overlay.getContext("2d"));
      over.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      over.clearRect(0, 0, this.width, this.height);
      this.busy.style.display = this.source?.loading ? "block" : "none";
      if (!this.source) return;
      const started = performance.now();
      const scene = this.scene;
      this.request(scene);
      timeline.rulers.ruler(scene);
      this.drawn = timeline.draw.lanes(scene);
      timeline.labels.draw(scene);
      timeline.rulers.minimap(scene);
      if (this.cursor && !this.box) this.point(this.cursor);
      else this.drawOverlay();
      this.frames += 1;
      this.drawMs = performance.now() - started;
    }

    drawOverlay() {
      timeline.rulers.overlay(this.sceneOn(this.overlay), {
        hover: this.hover, cursor: this.cursor, box: this.box, mark: this.marked, contentHeight: this.contentHeight,
      });
    }

    /** Asks for what is visible, or will be when the animation ends. @param {any} scene */
    request(scene) {
      const [start, end] = this.viewport.target;
      const visible = timeline.geometry.visibleBands(scene);
      const pixels = scene.width - scene.left;
      this.source.want({ start, end }, pixels, visible.filter((/** @type {any} */ b) => b.lane >= 0).map((/** @type {any} */ b) => b.lane));
      this.source.wantCounters({ start, end }, pixels, visible.filter((/** @type {any} */ b) => b.counter >= 0).map((/** @type {any} */ b) => b.counter));
    }

    // ---- where things are

    /** @param {number} x */
    timeAt(x) {
      return this.viewport.start + ((x - this.left) / (this.width - this.left)) * this.viewport.span;
    }

    /** @param {number} x */
    minimapTime(x) {
      return ((x - this.left) / (this.width - this.left)) * this.source.summary.end;
    }

    /** @param {number} x */
    insideMinimapView(x) {
      const time = this.minimapTime(x);
      const [start, end] = this.viewport.target;
      return time >= start && time <= end && end - start < this.source.summary.end * 0.98;
    }

    /** @param {{x: number, y: number}} at */
    bandAt(at) {
      return timeline.layout.bandAt(this.bands, at.y - this.scene.top + this.scroll);
    }

    /** @param {{x: number, y: number}} at */
    foldableAt(at) {
      return at.y >= this.scene.top && (this.bandAt(at)?.foldable ?? false);
    }

    // ---- what the hand does

    /** The mouse is here, or nowhere. @param {{x: number, y: number} | null} at */
    point(at) {
      this.cursor = at;
      if (!this.source) return;
      this.hover = at && at.y >= this.scene.top ? timeline.geometry.sliceAt(this.scene, at.x, at.y) : null;
      this.drawOverlay();
      this.tip.point(at && at.y >= this.scene.top ? at : null);
    }

    /** @param {number} by pixels @returns {boolean} whether anything moved */
    scrollBy(by) {
      const most = Math.max(this.contentHeight - (this.height - this.scene.top), 0);
      const to = Math.min(Math.max(this.scroll + by, 0), most);
      const moved = to !== this.scroll;
      this.scroll = to;
      if (moved) this.changed();
      return moved;
    }

    /** @param {{x: number, y: number}} at */
    foldAt(at) {
      if (at.y < this.scene.top) return;
      const band = this.bandAt(at);
      if (!band?.foldable) return;
      if (this.folded.has(band.key)) this.folded.delete(band.key);
      else this.folded.add(band.key);
      this.relayout();
    }

    /** @param {{x: number, y: number}} at */
    clickAt(at) {
      if (at.y < this.scene.top) return;
      const band = this.bandAt(at);
      if (band?.type === "process") return this.foldAt(at);
      const found = timeline.geometry.sliceAt(this.scene, at.x, at.y);
      if (found) this.selection.select(found.index);
      else this.selection.clear();
    }

    /** @param {{x: number, y: number}} at */
    zoomToAt(at) {
      const found = timeline.geometry.sliceAt(this.scene, at.x, at.y);
      if (found) this.viewport.reveal(found, 0.2, performance.now());
    }

    fit() {
      const { slice } = this.selection;
      if (slice) this.viewport.reveal(slice, 0.8, performance.now());
      else this.showAll();
    }

    showAll() {
      const now = performance.now();
      this.viewport.remember(now);
      this.viewport.showAll(now);
    }

    undo() {
      this.viewport.undo(performance.now());
    }

    clear() {
      if (this.helpSheet) this.toggleHelp();
      else if (this.box) this.box = null;
      else if (this.selection.slice || this.marked) {
        this.marked = null;
        this.selection.clear();
      } else this.search.clear();
    }

    mark() {
      const chosen = this.selection.slice ?? this.hover;
      this.marked = chosen && !this.marked ? [chosen.start, chosen.start + chosen.duration] : null;
    }

    /** @param {any} matches */
    setMatches(matches) {
      this.matches = matches;
      this.changed();
    }

    toggleHelp() {
      if (this.helpSheet) {
        this.helpSheet.remove();
        this.helpSheet = null;
        this.canvas.focus();
      } else {
        this.helpSheet = timeline.details.help(() => this.toggleHelp());
        this.root.append(this.helpSheet);
      }
    }
  }

  /** @type {TimelinePanel | null} */
  let shown = null;

  /**
   * Puts the panel into its host, or finds it there.
   * @param {HTMLElement} host @param {HTMLElement} tools
   * @param {{api: string, onView: (start: number | null, end: number | null) => void}} settings
   */
  timeline.mount = (host, tools, settings) => {
    if (shown && shown.root === host) return shown;
    shown?.destroy();
    shown = new TimelinePanel(host, tools, settings);
    return shown;
  };
  timeline.debug = () => shown && timeline.stateOf(shown);
})();
