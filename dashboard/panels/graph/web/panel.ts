/** Selecting nodes and navigating the graph: along edges, to nodes in closed groups, along traces and paths. */
import { counted } from "../../../web/core/numbers.ts";
import { HEADER } from "./ink.ts";
import type { Search, Walk } from "./messages.generated.ts";
import type { Surroundings } from "./panel_base.ts";
import { canExpand, type GraphNode } from "./scene.ts";
import { format } from "./format.ts";
import { popover } from "../../../web/core/popover.ts";
import { view } from "../../../web/page/view.ts";
import { messageOf } from "../../../web/core/request.ts";
import { PanelWithStructure } from "./panel_structure.ts";

const middle = (node: GraphNode) => [node.to[0] + node.to[2] / 2, node.to[1] + node.to[3] / 2];
const boxOf = (node: GraphNode) => ({ x: node.to[0], y: node.to[1], w: node.to[2], h: node.to[3] });
const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

type Way = "input" | "output" | "left" | "right";

/** The neighboring node in a given direction, if any. */
function neighborOf(panel: GraphPanel, node: GraphNode, way: Way): GraphNode | null {
  const [x, y] = middle(node);
  if (way === "input" || way === "output") {
    if (node.expanded && way === "output") return [...node.children].sort((a, b) => a.to[1] - b.to[1])[0] ?? null;
    const edges = way === "input" ? node.inputs : node.outputs;
    const ends = edges.map((edge) => ({
      end: way === "input" ? edge.source : edge.target,
      control: edge.control,
    }));
    // Data before control, then the nearest.
    ends.sort((a, b) =>
      Number(a.control) - Number(b.control) || distance(middle(a.end), [x, y]) - distance(middle(b.end), [x, y])
    );
    if (ends.length) return ends[0].end;
  }
  const siblings = (node.parent ? node.parent.children : panel.shown.roots).filter((other) => other !== node);
  const [dx, dy] = way === "left" ? [-1, 0] : way === "right" ? [1, 0] : way === "input" ? [0, -1] : [0, 1];
  const ahead = siblings.map((other) => {
    const [ox, oy] = middle(other);
    const along = (ox - x) * dx + (oy - y) * dy;
    return { other, along, cost: along + 3 * Math.abs((ox - x) * dy + (oy - y) * dx) };
  }).filter((one) => one.along > 1).sort((a, b) => a.cost - b.cost);
  return ahead.length ? ahead[0].other : null;
}

const distance = (one: number[], other: number[]) => Math.hypot(one[0] - other[0], one[1] - other[1]);

export class GraphPanel extends PanelWithStructure {
  /** The visible node that represents the selection. */
  get selected(): GraphNode | null {
    return this.selection.length ? this.scene?.standsFor(this.selection[0]) ?? null : null;
  }

  /** @param ids none, one, or two ids */
  select(ids: string[]) {
    this.turn += 1;
    this.selection = ids;
    this.tell({ "graph.node": [ids[0] ?? ""] });
    if (ids.length) this.card.show(ids[ids.length - 1]);
    else this.card.hide();
    this.changed();
  }

  /** Selects a visible node and moves to it. */
  arrive(id: string, move: boolean = true) {
    this.select([id]);
    const node = this.shown.standsFor(id);
    if (!node || !move) return;
    this.remember();
    this.view.reveal(boxOf(node), this.card.inset);
    this.changed();
  }

  /**
   * Shows a node wherever it is: opens the closed groups around it.
   * @param expand the groups to open, if known
   */
  async goTo(id: string, expand?: string[], move: boolean = true) {
    const turn = (this.turn += 1);
    if (!this.scene) await this.opened;
    if (!this.scene || turn !== this.turn) return;
    if (this.scene.byId.has(id) || this.isAside(id)) return this.arrive(id, move);
    const { state } = this;
    try {
      if (!expand) ({ id, expand } = await this.find(id));
    } catch (error) {
      return this.notify(messageOf(error));
    }
    if (!this.scene || turn !== this.turn) return;
    const missing = expand.filter((group) => !state.expanded.includes(group));
    if (missing.length) {
      this.remember(true);
      const anchor = this.scene.standsFor(missing[0])?.id ?? null;
      state.expanded = [...state.expanded, ...missing];
      if (!(await this.reload(anchor)) || turn !== this.turn) return;
    }
    this.arrive(id, move);
  }

  /** Finds a node by its id or by its name in the graph. */
  async find(id: string): Promise<{ id: string; expand: string[] }> {
    const { id: graphId, function: called } = this.state;
    const found = await this.api.ask<Search>("search", {
      id: graphId,
      function: called,
      q: `^${escaped(id)}$`,
      match: "regex",
      in: "name",
      limit: 1,
    });
    if (!found.results.length) throw new Error(`There is no node ${id} in this graph.`);
    const [first] = found.results;
    // A folded node is shown with the node it is folded into.
    return first.hosts.length && !this.state.back.includes(first.id) ? this.find(first.hosts[0]) : first;
  }

  step(way: Way) {
    const node = this.selected;
    if (!node) {
      const seen = this.shown.within(this.view.visible);
      const first = [...seen.containers, ...seen.leaves].sort((a, b) =>
        a.depth - b.depth || a.to[1] - b.to[1] || a.to[0] - b.to[0]
      )[0];
      if (first) {
        this.arrive(first.id);
      }
      return;
    }
    const next = neighborOf(this, node, way);
    if (next) this.arrive(next.id);
  }

  // ---- highlighting

  async trace(way: "inputs" | "outputs") {
    const [id] = this.selection;
    if (!id) return this.notify("Select a node first.", "info");
    const turn = (this.litTurn += 1);
    try {
      const answer = await this.api.ask<Walk>("trace", {
        id: this.state.id,
        function: this.state.function,
        node: id,
        way,
      });
      if (turn !== this.litTurn) return;
      this.light(
        [id, ...answer.nodes, ...answer.groups],
        `${way === "inputs" ? "Inputs" : "Outputs"} of ${format.last(id)}: ${counted(answer.total, "node")}${
          answer.truncated ? ", not all of them highlighted" : ""
        }`,
        id,
      );
    } catch (error) {
      this.notify(messageOf(error));
    }
  }

  async path() {
    const [from, to] = this.selection;
    if (!from || !to) return this.notify("Select a node, and a second one with Shift and a click.", "info");
    const turn = (this.litTurn += 1);
    try {
      const requested = { id: this.state.id, function: this.state.function };
      let answer = await this.api.ask<Walk>("path", { ...requested, from, to });
      if (!answer.nodes.length) answer = await this.api.ask<Walk>("path", { ...requested, from: to, to: from });
      if (turn !== this.litTurn) return;
      if (!answer.nodes.length) {
        return this.notify(`No path connects ${format.last(from)} and ${format.last(to)} in either direction.`, "info");
      }
      const steps = Math.max(answer.shortest.length - 1, 0);
      this.light(
        [from, to, ...answer.nodes, ...answer.groups],
        `Between ${format.last(from)} and ${format.last(to)}: ${counted(answer.total, "node")}; shortest path: ${
          counted(steps, "edge")
        }`,
      );
    } catch (error) {
      this.notify(messageOf(error));
    }
  }

  /** @param whole a node that is highlighted with everything inside it */
  light(ids: string[], what: string, whole: string = "") {
    this.tracedIds = ids;
    this.tracedWhole = whole;
    this.tracedWhat = what;
    this.relight();
    this.strip.draw();
  }

  endTrace() {
    this.litTurn += 1;
    if (!this.tracedWhat) return false;
    this.light([], "");
    return true;
  }

  setMatches(ids: string[], count: number | null) {
    this.matchIds = ids;
    this.matchCount = count;
    this.relight();
  }

  /** Updates which visible nodes represent the highlighted and found ones. */
  relight() {
    const visible = (ids: string[]) => {
      const found = new Set<string>();
      for (const id of this.scene ? ids : []) {
        for (let node = this.shown.standsFor(id); node && !found.has(node.id); node = node.parent) {
          found.add(node.id);
        }
      }
      return found;
    };
    this.traced = visible(this.tracedIds);
    const inside = (node: GraphNode | undefined) => {
      for (const child of node?.children ?? []) {
        this.traced.add(child.id);
        inside(child);
      }
    };
    inside(this.scene?.byId.get(this.tracedWhole));
    const found = visible(this.matchIds);
    // An open scope shows its matches itself.
    this.matched = new Set([...found].filter((id) => !this.shown.byId.get(id)?.expanded));
    this.changed();
  }

  // ---- the mouse

  point(at: { x: number; y: number } | null) {
    this.cursor = at;
    if (!this.scene) return;
    const place = at && this.view.toWorld(at.x, at.y);
    const node = place ? this.scene.at(place.x, place.y) : null;
    const edge = place && (!node || node.expanded) ? this.scene.edgeAt(place.x, place.y, 5 / this.view.zoom) : null;
    if (node !== this.hover || edge !== this.hoverEdge) this.changed();
    this.hover = node;
    this.hoverEdge = edge;
    this.tip.point(at);
  }

  /**
   * Whether a point is on the mark that opens or closes a node.
   * @param place point in the graph
   */
  onChevron(node: GraphNode, place: { x: number; y: number }) {
    if (!canExpand(node)) return false;
    const far = node.expanded ? Math.max(HEADER, 18 / this.view.zoom) : 20;
    return place.x - node.x < far && (!node.expanded || place.y - node.y < far);
  }

  /** @param second whether the first stays selected */
  clickAt(at: { x: number; y: number }, second: boolean) {
    const place = this.view.toWorld(at.x, at.y);
    const node = this.shown.at(place.x, place.y);
    this.tip.point(null);
    if (!node) return this.select([]);
    if (!second && this.onChevron(node, place)) return void this.toggle(node);
    if (second && this.selection.length) {
      return this.select(this.selection[0] === node.id ? [node.id] : [this.selection[0], node.id]);
    }
    // The inside of an open group is for dragging; only its head represents the group.
    if (node.expanded && place.y - node.y > Math.max(HEADER, 18 / this.view.zoom)) return this.select([]);
    this.select([node.id]);
    this.keepClear(node);
  }

  /** Pans so that the card does not cover its node. */
  keepClear(node: GraphNode) {
    const { x } = this.view.toScreen(node.to[0] + node.to[2], 0);
    const over = x - (this.view.width - this.card.inset - 12);
    const { x: left } = this.view.toScreen(node.to[0], 0);
    if (over > 0 && left - over > 8) this.view.pan(-over, 0);
  }

  /** Handles a double click. */
  openAt(at: { x: number; y: number }) {
    const place = this.view.toWorld(at.x, at.y);
    const node = this.shown.at(place.x, place.y);
    // The two clicks on a chevron have already opened and closed the node.
    if (!node || this.onChevron(node, place)) return;
    if (node.expanded && place.y - node.y > HEADER) this.zoomBy(1.8, at);
    else if (canExpand(node)) this.toggle(node);
    else this.fit(true);
  }

  clear() {
    popover.close();
    if (this.endTrace()) return;
    if (this.selection.length > 1) this.select([this.selection[0]]);
    else if (this.selection.length) this.select([]);
    else if (this.search.input.value) this.search.clear();
    else return false;
  }

  showSlices({ id, kind }: { id: string; kind: string }) {
    const op = kind === "op";
    view.open("timeline", {
      "timeline.trace": [this.state.costs],
      "timeline.search": [id],
      "timeline.match": [op ? "name" : "text"],
    });
  }
}

let shown: GraphPanel | null = null;

/** Mounts the panel in its host, or returns the one already there. */
export const mount = (host: HTMLElement, tools: HTMLElement, settings: Surroundings) => {
  if (shown && shown.root === host) return shown;
  shown?.destroy();
  shown = new GraphPanel(host, tools, settings);
  return shown;
};
export const panel = () => shown;
