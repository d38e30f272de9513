/** A laid-out scene: nodes and edges with positions, containment, and the transition from one scene to the next. */
import { still } from "../../../web/core/motion.ts";
import type { EdgePoints, Place, SceneEdge, SceneFrame, SceneNode } from "./messages.generated.ts";
import { theme } from "./theme.ts";

const CHANGE_MS = 240;

/** The server's answer about what is visible. */
export type SceneAnswer = SceneFrame & { nodes: (SceneNode & Place)[]; edges: (SceneEdge & EdgePoints)[] };

/** A node of the server's scene, with its current position and the fields added here. */
export interface GraphNode extends Omit<SceneNode, "parent">, Place {
  /** position at rest: x, y, w, h */
  to: number[];
  from: number[];
  parent: GraphNode | null;
  children: GraphNode[];
  inputs: GraphEdge[];
  outputs: GraphEdge[];
  depth: number;
  /** was not in the previous scene */
  fresh: boolean;
  category: string;
  hue: number | null;
  /** Whether it was drawn as a node that did not run. */
  gray: boolean;
}
export interface GraphEdge extends Omit<SceneEdge, "source" | "target"> {
  source: GraphNode;
  target: GraphNode;
  /** current points: x0, y0, x1, y1, ... */
  points: Float64Array;
  to: Float64Array;
  from: Float64Array | null;
  /** left, top, right, bottom */
  box: number[];
  /** 0 to 4 */
  width: number;
}

/** A function without a known body has nothing inside. */
export const canExpand = (node: GraphNode) => node.kind !== "op" && (node.kind !== "function" || node.count > 1);

/** Width class by the bytes that flow: each is about a hundred times the previous one. */
const widthOf = (
  bytes: number | null,
  tensors: number,
) => (bytes === null || bytes === undefined
  ? (tensors > 1 ? 1 : 0)
  : Math.min(Math.max(Math.floor((Math.log10(Math.max(bytes, 1)) - 1) / 2), 0), 4));

export class Scene {
  key;
  total;
  problems;
  aside;
  byId: Map<string, GraphNode> = new Map();
  /** Parents before children. */
  nodes: GraphNode[];
  roots;
  /** Ids of folded nodes, and the node each is folded into. */
  hosts: Map<string, GraphNode>;
  edges: GraphEdge[];
  since = -Infinity;
  moving = false;
  box;
  share = 1;

  constructor(answer: SceneAnswer) {
    this.key = answer.key;
    this.total = answer.total;
    this.problems = answer.problems;
    this.aside = answer.aside;
    this.nodes = answer.nodes.map((row) => this.node(row));
    this.roots = this.nodes.filter((node) => !node.parent);
    this.hosts = new Map(
      this.nodes.flatMap((node) => node.aux.map((id): [string, GraphNode] => [id, node])),
    );
    this.edges = answer.edges.flatMap((row) => this.edge(row) ?? []);
    this.box = this.bounds(answer);
  }

  node(row: SceneNode & Place): GraphNode {
    const parent = row.parent === null ? null : this.byId.get(row.parent) ?? null;
    const [category, , hue] = theme.categoryOf(row.op);
    const node: GraphNode = {
      ...row,
      parent,
      children: [],
      inputs: [],
      outputs: [],
      depth: parent ? parent.depth + 1 : 0,
      to: [row.x, row.y, row.w, row.h],
      from: [row.x, row.y, row.w, row.h],
      fresh: false,
      gray: false,
      category,
      hue,
    };
    parent?.children.push(node);
    this.byId.set(row.id, node);
    return node;
  }

  edge(row: SceneEdge & EdgePoints): GraphEdge | null {
    const [source, target] = [this.byId.get(row.source), this.byId.get(row.target)];
    if (!source || !target || row.points.length < 4) return null;
    const to = Float64Array.from(row.points);
    const edge: GraphEdge = {
      ...row,
      source,
      target,
      points: to,
      to,
      from: null,
      box: [0, 0, 0, 0],
      width: row.control ? 0 : widthOf(row.bytes, row.tensors),
    };
    frame(edge);
    source.outputs.push(edge);
    target.inputs.push(edge);
    return edge;
  }

  bounds(answer: SceneFrame): { x: number; y: number; w: number; h: number } {
    const boxes = this.roots.map((node) => node.to);
    if (!boxes.length) return { x: 0, y: 0, w: answer.width || 1, h: answer.height || 1 };
    let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
    for (const [x, y, w, h] of boxes) {
      left = Math.min(left, x);
      top = Math.min(top, y);
      right = Math.max(right, x + w);
      bottom = Math.max(bottom, y + h);
    }
    return { x: left, y: top, w: right - left, h: bottom - top };
  }

  /** The node that represents an id: the node itself, the one it is folded into, or the closed group around it. */
  standsFor(id: string): GraphNode | null {
    for (let at = id; at; at = at.includes("/") ? at.slice(0, at.lastIndexOf("/")) : "") {
      const found = this.byId.get(at) ?? this.hosts.get(at);
      if (found) return found;
    }
    return null;
  }

  /** Starts from another scene's current state: shared nodes move, new ones emerge from `anchor`. */
  follow(before: Scene, anchor: string | null, now: number) {
    const origin = anchor ? before.byId.get(anchor) ?? this.byId.get(anchor) : null;
    for (const node of this.nodes) {
      const old = before.byId.get(node.id);
      if (old) node.from = [old.x, old.y, old.w, old.h];
      else {
        node.fresh = true;
        const place = origin ?? { x: node.to[0], y: node.to[1], w: node.to[2], h: node.to[3] };
        const [w, h] = [Math.min(node.to[2], place.w), Math.min(node.to[3], place.h)];
        node.from = [place.x + (place.w - w) / 2, place.y + (place.h - h) / 2, w, h];
      }
    }
    const key = (edge: GraphEdge) => `${edge.source.id}\n${edge.target.id}\n${edge.control}`;
    const old = new Map(before.edges.map((edge) => [key(edge), edge.points]));
    for (const edge of this.edges) {
      const points = old.get(key(edge));
      edge.from = points && points.length === edge.to.length ? Float64Array.from(points) : null;
    }
    this.since = now;
    this.moving = true;
    this.tick(now);
  }

  /** Moves everything by an offset, without a visible change on the screen. */
  carry(dx: number, dy: number) {
    for (const node of this.nodes) {
      node.x += dx;
      node.y += dy;
    }
    for (const edge of this.edges) edge.points = edge.points.map((value, at) => value + (at % 2 ? dy : dx));
  }

  /** Progress of the transition, 0 to 1. */
  get progress() {
    return this.share;
  }

  /** @returns whether anything moved */
  tick(now: number): boolean {
    if (!this.moving) return false;
    const at = still() ? 1 : Math.min(Math.max((now - this.since) / CHANGE_MS, 0), 1);
    const y = 1 - (1 - at) ** 3;
    this.share = at;
    for (const node of this.nodes) {
      const { from, to } = node;
      node.x = from[0] + (to[0] - from[0]) * y;
      node.y = from[1] + (to[1] - from[1]) * y;
      node.w = from[2] + (to[2] - from[2]) * y;
      node.h = from[3] + (to[3] - from[3]) * y;
    }
    for (const edge of this.edges) {
      const { from, to } = edge;
      edge.points = from && at < 1 ? to.map((value, i) => from[i] + (value - from[i]) * y) : to;
      frame(edge);
    }
    this.moving = at < 1;
    if (!this.moving) this.nodes.forEach((node) => (node.fresh = false));
    return true;
  }

  /** The visible part of the scene, in painting order. */
  within(
    seen: { left: number; top: number; right: number; bottom: number },
  ): { containers: GraphNode[]; leaves: GraphNode[]; edges: GraphEdge[] } {
    const containers: GraphNode[] = [];
    const leaves: GraphNode[] = [];
    const walk = (nodes: GraphNode[]) => {
      for (const node of nodes) {
        // Stacked cards and badges extend slightly beyond the box.
        if (
          node.x > seen.right + 4 || node.y > seen.bottom + 8 || node.x + node.w < seen.left - 40 ||
          node.y + node.h < seen.top - 8
        ) continue;
        (node.expanded ? containers : leaves).push(node);
        if (node.expanded) walk(node.children);
      }
    };
    walk(this.roots);
    const edges = this.edges.filter(({ box }) =>
      box[0] <= seen.right && box[1] <= seen.bottom && box[2] >= seen.left && box[3] >= seen.top
    );
    return { containers, leaves, edges };
  }

  /** The innermost node at a point of the graph. */
  at(x: number, y: number): GraphNode | null {
    let found: GraphNode | null = null;
    let among = this.roots;
    for (;;) {
      const next = among.find((node) => x >= node.x && x <= node.x + node.w && y >= node.y && y <= node.y + node.h);
      if (!next) return found;
      found = next;
      if (!next.expanded) return found;
      among = next.children;
    }
  }

  /** The edge that passes within a given number of units of a point. */
  edgeAt(x: number, y: number, reach: number): GraphEdge | null {
    let best: GraphEdge | null = null;
    let least = reach;
    for (const edge of this.edges) {
      const { box, points } = edge;
      if (x < box[0] - reach || x > box[2] + reach || y < box[1] - reach || y > box[3] + reach) continue;
      for (let i = 0; i + 3 < points.length; i += 2) {
        const distance = toSegment(x, y, points[i], points[i + 1], points[i + 2], points[i + 3]);
        if (distance < least) [least, best] = [distance, edge];
      }
    }
    return best;
  }
}

function toSegment(x: number, y: number, x0: number, y0: number, x1: number, y1: number) {
  const [dx, dy] = [x1 - x0, y1 - y0];
  const along = dx || dy ? Math.min(Math.max(((x - x0) * dx + (y - y0) * dy) / (dx * dx + dy * dy), 0), 1) : 0;
  return Math.hypot(x - x0 - along * dx, y - y0 - along * dy);
}

function frame(edge: GraphEdge) {
  const { points, box } = edge;
  box[0] = box[1] = Infinity;
  box[2] = box[3] = -Infinity;
  for (let i = 0; i < points.length; i += 2) {
    if (points[i] < box[0]) box[0] = points[i];
    if (points[i] > box[2]) box[2] = points[i];
    if (points[i + 1] < box[1]) box[1] = points[i + 1];
    if (points[i + 1] > box[3]) box[3] = points[i + 1];
  }
}
