/** The Graph panel in the browser: opens graphs, owns the state of the view, redraws when something changed. */
import * as graphTools from "./tools.ts";
import * as input from "./input.ts";
import { Api } from "./data.ts";
import { Card } from "./card.ts";
import { Colours, MODES } from "./colours.ts";
import { Comparison } from "./compare.ts";
import { Frames } from "./frames.ts";
import { Minimap } from "./minimap.ts";
import { canExpand, Scene } from "./scene.ts";
import { Search } from "./search.ts";
import { Strip } from "./summary_bar.ts";
import { Tip } from "./tip.ts";
import { View } from "./view.ts";
import { elements } from "../../../web/core/dom.ts";
import { theme } from "./theme.ts";
import { isAbort, messageOf } from "../../../web/core/request.ts";

const REPORT_MS = 350;
const SLOW_MS = 400;

/** what is shown, all of it in the address */
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

export abstract class PanelBase {
  root;
  settings;
  api;
  view = new View();
  colours = new Colours();
  comparison;
  state: State = { id: "", function: "", costs: "", compare: "", expanded: [], aside: [], back: [] };
  /** What is drawn; of graph_scene.js. */
  scene: any = null;
  /** One id, or two for a path between them. */
  selection: string[] = [];
  /** Rises with each selection, and with each way to one: what comes later than the next is not wanted any more. */
  turn = 0;
  /** The same of what is lit up. */
  litTurn = 0;
  /** Visible nodes that are lit up, and what for. */
  traced: Set<any> = new Set();
  tracedIds: string[] = [];
  tracedWhat = "";
  tracedWhole = "";
  matchIds: string[] = [];
  matchCount: number | null = null;
  matched: Set<any> = new Set();
  hover: any = null;
  hoverEdge: any = null;
  cursor: { x: number; y: number } | null = null;
  /** What undo goes back to. */
  history: any[] = [];
  lastGesture = -Infinity;
  loading = 0;
  frames = 0;
  drawMs = 0;
  painted = 0;
  dirty = true;
  /** Whether the hand has moved the view since the last frame. */
  viewMoved = false;
  picture;
  drawn = { nodes: 0, edges: 0, labels: 0 };
  reported = "";
  reportAt = 0;
  canvas: HTMLCanvasElement;
  tip;
  message;
  busy;
  legend;
  minimap;
  theme;
  card;
  buttons;
  strip;
  corner;
  stage;
  search;
  input;
  observers;
  rows;
  onWindow;
  then;
  frame;
  opened: any;
  pending: any;
  abort: any;
  ratio: any;

  /**
   * @param tools where the search goes
   * @param settings `tell` puts settings into the address, `choose` sets one of the selectors, `functions` offers functions to choose
   */
  constructor(
    host: HTMLElement,
    tools: HTMLElement,
    settings: {
      api: string;
      tell: (values: Record<string, string[]>) => void;
      choose: (name: string, value: string) => void;
      functions: (names: string[]) => void;
    },
  ) {
    const { make } = elements;
    this.root = host;
    this.settings = settings;
    this.api = new Api(settings.api);
    this.comparison = new Comparison(this);
    this.picture = new Frames(this);

    this.canvas = make("canvas", {
      className: "graph-canvas",
      tabIndex: 0,
      role: "application",
      "aria-label": "Graph of a model; press ? for keys",
    }) as HTMLCanvasElement;
    this.tip = new Tip(this);
    this.message = make("div", { className: "graph-message", role: "status" });
    this.busy = make("div", { className: "graph-busy" });
    this.legend = make("div", { className: "graph-legend", hidden: true });
    this.minimap = new Minimap(this);
    this.theme = theme.read(host);
    this.card = new Card(this);
    this.buttons = graphTools.make(this);
    this.strip = new Strip(this);
    this.corner = make("div", { className: "graph-corner" }, this.minimap.canvas, this.legend);
    this.stage = make(
      "div",
      { className: "graph-stage" },
      this.canvas,
      this.corner,
      this.tip.element,
      this.card.element,
      this.message,
      this.busy,
    );
    this.search = new Search(this);
    host.replaceChildren(this.strip.element, this.stage);
    tools.replaceChildren(this.search.element);

    this.input = input.attach(this, this.canvas);
    this.observers = [new ResizeObserver(() => this.resize()), new MutationObserver(() => this.retheme())];
    (this.observers[0] as ResizeObserver).observe(this.stage);
    // The selectors above may take another row.
    this.rows = new ResizeObserver(() => this.fillHeight());
    if (tools.parentElement) this.rows.observe(tools.parentElement);
    (this.observers[1] as MutationObserver).observe(document.documentElement, {
      attributes: true,
      attributeFilter: ["data-mantine-color-scheme"],
    });
    this.onWindow = () => this.fillHeight();
    window.addEventListener("resize", this.onWindow);
    this.fillHeight();
    this.resize();
    this.then = performance.now();
    this.frame = requestAnimationFrame((now) => this.tick(now));
  }

  get ready() {
    return this.scene !== null;
  }

  destroy() {
    cancelAnimationFrame(this.frame);
    this.abort?.abort();
    this.state.id = "";
    this.input.close();
    window.removeEventListener("resize", this.onWindow);
    for (const observer of [...this.observers, this.rows]) observer.disconnect();
  }

  // ---- what is open

  /**
   * Shows a graph, or a function of it. What is open already stays as it is.
   * @param wish what the address asks for besides
   */
  async open(chosen: { id: string; function: string; costs: string; compare: string }, wish: any = null) {
    const { state } = this;
    const other = chosen.id !== state.id || chosen.function !== state.function;
    const costs = chosen.costs !== state.costs;
    const compare = chosen.compare !== state.compare;
    Object.assign(state, chosen);
    if (other) await (this.opened = this.openGraph(wish));
    if (!this.scene) return;
    if (costs || (other && state.costs)) await this.loadCosts(costs && !wish?.color);
    if (compare || (other && state.compare)) await this.comparison.load();
  }

  async openGraph(wish: any) {
    const { state } = this;
    state.expanded = wish?.expanded ?? [];
    state.aside = wish?.aside ?? [];
    state.back = wish?.back ?? [];
    this.scene = null;
    this.history = [];
    this.selection = [];
    const turn = (this.turn += 1);
    this.endTrace();
    this.setMatches([], null);
    this.search.answered = "";
    this.comparison.reset();
    this.colours.costs = null;
    this.card.hide();
    this.strip.draw();
    this.legend.hidden = true;
    this.changed();
    if (!wish) {
      this.tell({ "graph.expanded": [], "graph.aside": [], "graph.back": [], "graph.node": [""], "graph.view": [""] });
    }
    if (!state.id) return this.say("Choose a graph above.");
    if (wish?.color) this.setColour(wish.color);
    if (!(await this.read()) || !(await this.load({ place: wish?.view }))) return;
    const [only] = this.scene.roots;
    if (!wish?.expanded?.length && this.scene.roots.length === 1 && canExpand(only) && !only.expanded) {
      // A graph whose all is in one scope would show a single box.
      state.expanded = [only.id];
      await this.load({});
      this.begin();
    }
    // What was typed or chosen since is newer than the address.
    if (wish?.search && !this.search.input.value) this.search.set(wish.search, wish.regex);
    else if (this.search.input.value && this.search.stale) this.search.run(false);
    if (wish?.node && turn === this.turn) await this.goTo(wish.node, undefined, !wish.view);
  }

  /**
   * Asks for the scene of the state and shows it.
   * @param how `anchor` stays where it is on the screen
   * @returns whether it is shown
   */
  load(how: { anchor?: string | null; place?: { x: number; y: number; zoom: number } | null }): Promise<boolean> {
    return (this.pending = this.fetch(how));
  }

  async fetch(
    { anchor = null, place = null }: { anchor?: string | null; place?: { x: number; y: number; zoom: number } | null },
  ) {
    this.abort?.abort();
    const abort = (this.abort = new AbortController());
    const { state } = this;
    const began = performance.now();
    this.loading += 1;
    const patience = setInterval(() => this.wait(began), SLOW_MS);
    try {
      const answer = await this.api.get("scene", {
        id: state.id,
        function: state.function,
        expanded: state.expanded,
        aside: state.aside,
        back: state.back,
      }, abort.signal);
      if (abort.signal.aborted) return false;
      this.show(new Scene(answer), anchor, place);
      return true;
    } catch (error) {
      if (!isAbort(error)) {
        if (this.scene) this.notify(messageOf(error));
        else this.say(messageOf(error), "bad");
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

  show(scene: any, anchor: string | null, place: { x: number; y: number; zoom: number } | null) {
    const before = this.scene;
    this.scene = scene;
    this.hover = this.hoverEdge = null;
    this.view.world = scene.box;
    this.say(
      scene.nodes.length || scene.aside.length
        ? ""
        : "This graph has no nodes: it was read, and there is nothing in it to draw.",
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
    this.colours.measure(scene);
    this.comparison.judge();
    this.relight();
    this.paintAround();
    this.card.renew();
    if (!place && !before) this.begin();
  }

  /** @param recolour whether nodes are coloured by them, where no other colour is chosen meanwhile */
  async loadCosts(recolour: boolean) {
    const { state } = this;
    const { id, function: called, costs } = state;
    const { mode } = this.colours;
    const late = () => id !== state.id || called !== state.function || costs !== state.costs;
    this.colours.costs = null;
    if (costs) {
      try {
        const answer = await this.api.get("costs", { id, function: called, trace: costs });
        if (late()) return;
        // What is not among them did not run.
        this.colours.costs = new Map(Object.entries(answer.costs));
        if (answer.problem) this.notify(answer.problem);
        if (recolour && mode === this.colours.mode && !this.colours.hot) this.setColour("time");
      } catch (error) {
        if (late()) return;
        this.notify(messageOf(error));
      }
    }
    this.colours.measure(this.scene);
    this.paintAround();
    if (this.card.id) this.card.show(this.card.id);
  }

  /**
   * Has the server open the graph.
   * @returns whether it can be shown, and still shall be
   */
  async read(): Promise<boolean> {
    const { id } = this.state;
    const began = performance.now();
    const patience = setInterval(() => this.wait(began), SLOW_MS);
    try {
      const answer = await this.api.get("graph", { id });
      if (id !== this.state.id) return false;
      this.settings.functions(answer.functions ?? []);
      if (answer.problem) this.say(answer.problem, "bad");
      return !answer.problem;
    } catch (error) {
      if (id === this.state.id) this.say(messageOf(error), "bad");
      return false;
    } finally {
      clearInterval(patience);
    }
  }

  openFunction(name: string) {
    this.settings.choose("graph.function", name);
  }

  // ---- the view

  /** Pixels at the bottom that the legend lies over. */
  get below() {
    return this.legend.hidden ? 0 : this.legend.offsetHeight + 8;
  }

  begin() {
    this.view.go(this.view.first(this.scene.box, this.below), true);
    this.changed();
  }

  /** Fits the selection where there is one and it is asked for, or everything. */
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

  // ---- colours

  setColour(mode: string) {
    if (!MODES[mode]) return;
    this.colours.mode = mode;
    this.tell({ "graph.color": [mode] });
    this.colours.measure(this.scene);
    this.paintAround();
  }

  // ---- words

  tell(values: Record<string, string[]>) {
    // Another panel may have the page by now.
    if (this.root.isConnected) this.settings.tell(values);
  }

  say(text: string, sort: "" | "busy" | "bad" = "") {
    this.message.textContent = text;
    this.message.className = `graph-message ${sort}`;
    this.message.hidden = !text;
  }

  /** Something that leaves the picture as it is. */
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

  /** Redraws what stands around the graph, and the graph. */
  paintAround() {
    this.painted += 1;
    this.colours.legend(this.legend, this.theme, this.scene);
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
    const context = this.canvas.getContext("2d", { alpha: false }) as CanvasRenderingContext2D;
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

  /** The view goes into the address when it has come to rest. */
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
