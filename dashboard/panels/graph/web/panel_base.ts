/** The Graph panel in the browser: opens graphs, owns the view state, and redraws when something changes. */
import * as graphTools from "./tools.ts";
import * as input from "./input.ts";
import { Api } from "../../../web/core/request.ts";
import { Card } from "./card.ts";
import { Colors, type Mode, MODES } from "./colors.ts";
import { Comparison } from "./compare.ts";
import { Frames } from "./frames.ts";
import type { Picture } from "./ink.ts";
import { Minimap } from "./minimap.ts";
import type { ClosedGraph, CostsAnswer, GraphRow } from "./messages.generated.ts";
import type { GraphPanel } from "./panel.ts";
import { type GraphEdge, type GraphNode, Scene, type SceneAnswer } from "./scene.ts";
import { Search } from "./search.ts";
import { Strip } from "./summary_bar.ts";
import { Tip } from "./tip.ts";
import { type Place, View } from "./view.ts";
import { elements } from "../../../web/core/dom.ts";
import { type Theme, theme } from "./theme.ts";
import { isAbort, messageOf } from "../../../web/core/request.ts";
import { retryButton } from "../../../web/cards/loading.ts";

const REPORT_MS = 350;
const SLOW_MS = 400;

/** what is shown; all of it is in the address */
export interface State {
  id: string;
  function: string;
  /** id of a trace */
  costs: string;
  /** id of another graph */
  compare: string;
  expanded: string[];
  aside: string[];
  back: string[];
}

/** What an address requests besides what to open. */
export interface Wish {
  expanded: string[];
  aside: string[];
  back: string[];
  node: string;
  color: string;
  search: string;
  regex: boolean;
  view: Place | null;
}

/** How the panel reaches the page around it. */
export interface Surroundings {
  api: string;
  /** Puts settings into the address. */
  tell: (values: Record<string, string[]>) => void;
  /** Sets one of the selectors. */
  choose: (name: string, value: string) => void;
  /** Offers functions to choose. */
  functions: (names: string[]) => void;
}

/** A state that undo returns to. */
export interface Moment {
  place: Place;
  expanded: string[];
  aside: string[];
  back: string[];
  selection: string[];
}

/** Open groups as parameters: an empty list would mean the groups open in an initial view. */
export const openedInAddress = (expanded: readonly string[]): readonly string[] => expanded.length ? expanded : [""];

export abstract class PanelBase {
  readonly root: HTMLElement;
  readonly settings: Surroundings;
  readonly api: Api;
  readonly view = new View();
  readonly colors = new Colors();
  readonly comparison: Comparison;
  readonly state: State = { id: "", function: "", costs: "", compare: "", expanded: [], aside: [], back: [] };
  /** The scene drawn. */
  scene: Scene | null = null;
  /** What the address requested for a graph that could not be shown. */
  unanswered: { initialView: Wish | null } | null = null;
  /** One id, or two for a path between them. */
  selection: string[] = [];
  /** Incremented by each selection and each attempt to reach one: results of earlier turns are no longer wanted. */
  turn = 0;
  /** The same for highlighting. */
  litTurn = 0;
  /** Ids of visible nodes that are highlighted, and why. */
  traced = new Set<string>();
  tracedIds: string[] = [];
  tracedWhat = "";
  tracedWhole = "";
  matchIds: string[] = [];
  matchCount: number | null = null;
  matched = new Set<string>();
  hover: GraphNode | null = null;
  hoverEdge: GraphEdge | null = null;
  cursor: { x: number; y: number } | null = null;
  readonly history: Moment[] = [];
  lastGesture = -Infinity;
  loading = 0;
  frames = 0;
  drawMs = 0;
  painted = 0;
  dirty = true;
  /** Whether the user has moved the view since the last frame. */
  viewMoved = false;
  drawn = { nodes: 0, edges: 0, labels: 0 };
  reported = "";
  reportAt = 0;
  ratio = 1;
  readonly picture: Frames;
  readonly canvas: HTMLCanvasElement;
  readonly tip: Tip;
  readonly message: HTMLElement;
  readonly busy: HTMLElement;
  readonly legend: HTMLElement;
  readonly minimap: Minimap;
  theme: Theme;
  readonly card: Card;
  readonly buttons: { element: HTMLElement; show: () => void };
  readonly strip: Strip;
  readonly stage: HTMLElement;
  readonly search: Search;
  readonly input: { tick: (elapsed: number) => boolean };
  /** Aborted when the panel is destroyed. */
  readonly life = new AbortController();
  then = performance.now();
  frame = 0;
  opened: Promise<void> = Promise.resolve();
  pending: Promise<boolean> | undefined;
  abort: AbortController | undefined;

  /** The node that represents the selection. */
  abstract get selected(): GraphNode | null;
  abstract select(ids: string[]): void;
  abstract remember(always?: boolean): void;
  abstract goTo(id: string, expand?: string[], move?: boolean): Promise<void>;
  abstract relight(): void;
  abstract endTrace(): boolean;
  abstract setMatches(ids: string[], count: number | null): void;

  /** @param tools where the search goes */
  constructor(
    host: HTMLElement,
    tools: HTMLElement,
    settings: Surroundings,
  ) {
    const { make } = elements;
    // Only GraphPanel instances are ever created.
    const panel = this as unknown as GraphPanel;
    this.root = host;
    this.settings = settings;
    this.api = new Api(settings.api);
    this.comparison = new Comparison(panel);
    this.picture = new Frames(panel);

    this.canvas = make("canvas", {
      className: "graph-canvas",
      tabIndex: 0,
      role: "application",
      "aria-label": "Graph of a model; press ? for keys",
    });
    this.tip = new Tip(panel);
    this.message = make("div", { className: "graph-message", role: "status" });
    this.busy = make("div", { className: "graph-busy" });
    this.legend = make("div", { className: "graph-legend", hidden: true });
    this.minimap = new Minimap(panel);
    this.theme = theme.read(host);
    this.card = new Card(panel);
    this.buttons = graphTools.make(panel);
    this.strip = new Strip(panel);
    const corner = make("div", { className: "graph-corner" }, this.minimap.canvas, this.legend);
    this.stage = make(
      "div",
      { className: "graph-stage" },
      this.canvas,
      corner,
      this.tip.element,
      this.card.element,
      this.message,
      this.busy,
    );
    this.search = new Search(panel);
    host.replaceChildren(this.strip.element, this.stage);
    tools.replaceChildren(this.search.element);

    this.input = input.attach(panel, this.canvas, this.life.signal);
    this.observe(tools);
    this.fillHeight();
    this.resize();
    this.frame = requestAnimationFrame((now) => this.tick(now));
  }

  /** Observes the page's sizes and theme. */
  observe(tools: HTMLElement) {
    const size = new ResizeObserver(() => this.resize());
    size.observe(this.stage);
    // The selectors above may wrap onto another row.
    const rows = new ResizeObserver(() => this.fillHeight());
    if (tools.parentElement) rows.observe(tools.parentElement);
    const theme = new MutationObserver(() => this.retheme());
    theme.observe(document.documentElement, {
      attributes: true,
      attributeFilter: ["data-mantine-color-scheme"],
    });
    const { signal } = this.life;
    signal.addEventListener("abort", () => [size, rows, theme].forEach((observer) => observer.disconnect()));
    window.addEventListener("resize", () => this.fillHeight(), { signal });
  }

  get ready() {
    return this.scene !== null;
  }

  /** The scene drawn, for code that runs only while there is one. */
  get shown(): Scene {
    if (!this.scene) throw new Error("No graph is open.");
    return this.scene;
  }

  /** The picture drawn now. */
  get drawing(): Picture {
    const { shown: scene, view, theme, colors, selection, hover, traced, matched, comparison } = this;
    return { scene, view, theme, colors, selection, hover, traced, matched, comparison };
  }

  destroy() {
    cancelAnimationFrame(this.frame);
    this.abort?.abort();
    this.state.id = "";
    this.life.abort();
  }

  // ---- what is open

  /**
   * Shows a graph, or one of its functions. What is already open stays as it is.
   * @param initialView what else the address requests
   */
  async open(
    chosen: { id: string; function: string; costs: string; compare: string },
    initialView: Wish | null = null,
  ) {
    const { state } = this;
    const other = chosen.id !== state.id || chosen.function !== state.function;
    const costs = chosen.costs !== state.costs;
    const compare = chosen.compare !== state.compare;
    Object.assign(state, chosen);
    if (other) {
      this.unanswered = null;
      await (this.opened = this.openGraph(initialView));
    }
    if (!this.scene) {
      if (other && state.id === chosen.id) this.unanswered = { initialView };
      return;
    }
    if (costs || (other && state.costs)) await this.loadCosts(costs && !initialView?.color);
    if (compare || (other && state.compare)) await this.comparison.load();
  }

  /** Retries a graph that could not be shown: the graphs in the log directory have changed. */
  async openAgain() {
    if (!this.unanswered) return;
    const { state, unanswered } = this;
    const { id, function: called, costs, compare } = state;
    state.id = "";
    await this.open({ id, function: called, costs, compare }, unanswered.initialView);
  }

  async openGraph(initialView: Wish | null) {
    const { state } = this;
    const first = !initialView?.expanded.length;
    state.expanded = initialView?.expanded.filter(Boolean) ?? [];
    state.aside = initialView?.aside ?? [];
    state.back = initialView?.back ?? [];
    this.scene = null;
    this.history.length = 0;
    this.selection = [];
    const turn = (this.turn += 1);
    this.endTrace();
    this.setMatches([], null);
    this.search.answered = "";
    this.comparison.reset();
    this.colors.costs = null;
    this.card.hide();
    this.strip.draw();
    this.legend.hidden = true;
    this.changed();
    if (!initialView) {
      this.tell({ "graph.expanded": [], "graph.aside": [], "graph.back": [], "graph.node": [""], "graph.view": [""] });
    }
    if (!state.id) return this.say("Choose a graph above.");
    if (initialView?.color) this.setColor(initialView.color);
    if (!(await this.read()) || !(await this.load({ place: initialView?.view, first }))) return;
    if (first) state.expanded = this.shown.nodes.filter((node) => node.expanded).map((node) => node.id);
    // Anything typed or chosen since is newer than the address.
    const { input } = this.search;
    if (initialView?.search && !input.value && document.activeElement !== input) {
      this.search.set(initialView.search, initialView.regex);
    } else if (input.value && this.search.stale) this.search.run(false);
    if (initialView?.node && turn === this.turn) await this.goTo(initialView.node, undefined, !initialView.view);
  }

  /**
   * Requests the scene for the current state and shows it.
   * @param how `anchor` stays in place on the screen; `first` opens what the server considers a good initial view
   * @returns whether it is shown
   */
  load(how: { anchor?: string | null; place?: Place | null; first?: boolean }): Promise<boolean> {
    return (this.pending = this.fetch(how));
  }

  async fetch(
    { anchor = null, place = null, first = false }: { anchor?: string | null; place?: Place | null; first?: boolean },
  ) {
    this.abort?.abort();
    const abort = (this.abort = new AbortController());
    const { state } = this;
    const began = performance.now();
    this.loading += 1;
    const patience = setInterval(() => this.wait(began), SLOW_MS);
    try {
      const answer = await this.api.ask<SceneAnswer>("scene", {
        id: state.id,
        function: state.function,
        expanded: state.expanded,
        first: first ? true : undefined,
        aside: state.aside,
        back: state.back,
      }, { signal: abort.signal });
      if (abort.signal.aborted) return false;
      this.show(new Scene(answer), anchor, place);
      return true;
    } catch (error) {
      if (!isAbort(error)) {
        if (this.scene) this.notify(messageOf(error));
        else this.say(messageOf(error), "bad", () => this.openAgain());
      }
      return false;
    } finally {
      clearInterval(patience);
      this.loading -= 1;
      this.changed();
    }
  }

  wait(began: number) {
    const seconds = Math.floor((performance.now() - began) / 1000);
    if (!this.scene) this.say(`Opening the graph…${seconds ? ` ${seconds} s` : ""}`, "busy");
  }

  show(scene: Scene, anchor: string | null, place: Place | null) {
    const before = this.scene;
    this.scene = scene;
    this.hover = this.hoverEdge = null;
    this.view.world = scene.box;
    this.say(
      scene.nodes.length || scene.aside.length ? "" : "The file was read, but this graph has no nodes.",
    );
    if (before) {
      const [was, is] = [anchor ? before.byId.get(anchor) : null, anchor ? scene.byId.get(anchor) : null];
      if (was && is) {
        const [dx, dy] = [is.to[0] - was.x, is.to[1] - was.y];
        before.carry(dx, dy);
        this.view.carry(dx, dy);
      }
      scene.follow(before, anchor, performance.now());
    }
    if (place) this.view.go(place, !before);
    this.colors.measure(scene);
    this.comparison.judge();
    this.relight();
    this.paintAround();
    this.card.renew();
    if (!place && !before) this.begin();
  }

  /** @param recolor whether to color nodes by cost, unless another coloring is chosen in the meantime */
  async loadCosts(recolor: boolean) {
    const { state } = this;
    const { id, function: called, costs } = state;
    const { mode } = this.colors;
    const late = () => id !== state.id || called !== state.function || costs !== state.costs;
    this.colors.costs = null;
    if (costs) {
      try {
        const answer = await this.api.ask<CostsAnswer>("costs", { id, function: called, trace: costs });
        if (late()) return;
        // Nodes without costs did not run.
        this.colors.costs = new Map(Object.entries(answer.costs));
        if (answer.problem) this.notify(answer.problem);
        if (recolor && mode === this.colors.mode && !this.colors.hot) this.setColor("time");
      } catch (error) {
        if (late()) return;
        this.notify(messageOf(error));
      }
    }
    this.colors.measure(this.scene);
    this.paintAround();
    if (this.card.id) this.card.show(this.card.id);
  }

  /**
   * Has the server open the graph.
   * @returns whether it can be shown and is still wanted
   */
  async read(): Promise<boolean> {
    const { id } = this.state;
    const began = performance.now();
    const patience = setInterval(() => this.wait(began), SLOW_MS);
    try {
      const answer = await this.api.ask<GraphRow | ClosedGraph>("graph", { id });
      if (id !== this.state.id) return false;
      const isOpen = "functions" in answer;
      this.settings.functions(isOpen ? answer.functions : []);
      if (!isOpen) this.say(answer.problem, "bad");
      return isOpen;
    } catch (error) {
      if (id === this.state.id) this.say(messageOf(error), "bad", () => this.openAgain());
      return false;
    } finally {
      clearInterval(patience);
    }
  }

  openFunction(name: string) {
    this.settings.choose("graph.function", name);
  }

  // ---- the view

  /** Pixels at the bottom that the legend covers. */
  get below() {
    return this.legend.hidden ? 0 : this.legend.offsetHeight + 8;
  }

  begin() {
    this.view.go(this.view.first(this.shown.box, this.below), true);
    this.changed();
  }

  /** Fits the selection if requested and there is one; otherwise everything. */
  fit(selection: boolean, instantly: boolean = false) {
    if (!this.scene) return;
    const node = selection ? this.selected : null;
    if (!instantly) this.remember(true);
    this.view.go(
      this.view.fitted(
        node ? { x: node.to[0], y: node.to[1], w: node.to[2], h: node.to[3] } : this.scene.box,
        this.card.inset,
        this.below,
      ),
      instantly,
    );
    this.changed();
  }

  zoomBy(factor: number, at: { x: number; y: number }, instantly: boolean = false) {
    this.view.zoomAt(factor, at, instantly);
    this.viewMoved = true;
  }

  lookAt(x: number, y: number) {
    this.view.go({ x, y, zoom: this.view.target.zoom }, true);
    this.viewMoved = true;
  }

  // ---- colors

  setColor(mode: string) {
    if (!Object.hasOwn(MODES, mode)) return;
    this.colors.mode = mode as Mode;
    this.tell({ "graph.color": [mode] });
    this.colors.measure(this.scene);
    this.paintAround();
  }

  // ---- messages

  tell(values: Record<string, string[]>) {
    // Another panel may have the page by now.
    if (this.root.isConnected) this.settings.tell(values);
  }

  /** @param again given if retrying may help */
  say(text: string, sort: "" | "busy" | "bad" = "", again?: () => unknown) {
    this.message.textContent = text;
    if (again) this.message.append(retryButton(again));
    this.message.className = `graph-message ${sort}`;
    this.message.hidden = !text;
  }

  /** Shows a message that leaves the picture as it is. */
  notify(text: string, sort: "problem" | "info" = "problem") {
    this.stage.querySelector(".graph-note")?.remove();
    const note = elements.make(
      "div",
      { className: `graph-note ${sort}`, role: sort === "info" ? "status" : "alert" },
      text,
    );
    this.stage.append(note);
    setTimeout(() => note.remove(), sort === "info" ? 2500 : 7000);
  }

  /** Redraws the graph and everything around it. */
  paintAround() {
    this.painted += 1;
    this.colors.legend(this.legend, this.theme, this.scene);
    this.strip.draw();
    this.buttons.show();
    this.changed();
  }

  // ---- size and theme

  fillHeight() {
    const top = this.root.getBoundingClientRect().top + window.scrollY;
    this.root.style.height = `${Math.max(window.innerHeight - top - 16, 380)}px`;
  }

  retheme() {
    this.theme = theme.read(this.root);
    this.paintAround();
  }

  resize() {
    const { width, height } = this.stage.getBoundingClientRect();
    const first = this.view.width <= 1;
    this.ratio = window.devicePixelRatio || 1;
    this.view.width = Math.max(width, 1);
    this.view.height = Math.max(height, 1);
    const [w, h] = [Math.round(width * this.ratio), Math.round(height * this.ratio)];
    if (this.canvas.width !== w || this.canvas.height !== h) {
      this.canvas.width = w;
      this.canvas.height = h;
    }
    if (first && this.scene) this.begin();
    this.changed();
    if (this.ready) this.draw();
  }

  // ---- drawing

  changed() {
    this.dirty = true;
  }

  tick(now: number) {
    if (!this.root.isConnected) return this.destroy();
    this.frame = requestAnimationFrame((next) => this.tick(next));
    const thrown = this.input.tick(now - this.then);
    this.then = now;
    this.picture.tick(now);
    const changes = this.scene?.tick(now);
    const moved = this.view.tick(now) || thrown || this.viewMoved;
    const content = this.dirty || Boolean(changes);
    this.viewMoved = false;
    if (content || moved) this.draw(content);
    this.report(now);
  }

  /** @param content whether anything but the view may have changed */
  draw(content: boolean = true) {
    this.dirty = false;
    const context = this.canvas.getContext("2d", { alpha: false });
    // A stage that is hidden, or that another panel has just replaced, has no size.
    if (!context || !this.canvas.width || !this.canvas.height) return;
    this.busy.hidden = this.loading === 0;
    if (!this.scene) {
      context.setTransform(1, 0, 0, 1, 0, 0);
      context.fillStyle = this.theme.canvas;
      context.fillRect(0, 0, this.canvas.width, this.canvas.height);
      return this.minimap.draw();
    }
    const started = performance.now();
    this.picture.draw(content);
    this.minimap.draw();
    this.frames += 1;
    this.drawMs = performance.now() - started;
  }

  /** Writes the view to the address once it comes to rest. */
  report(now: number) {
    if (!this.scene) return;
    const { x, y, zoom } = this.view.target;
    const text = `${Math.round(x)},${Math.round(y)},${Number(zoom.toPrecision(3))}`;
    if (text === this.reported) this.reportAt = 0;
    else if (!this.reportAt) this.reportAt = now + REPORT_MS;
    else if (now >= this.reportAt) {
      this.reported = text;
      this.tell({ "graph.view": [text] });
    }
  }
}
