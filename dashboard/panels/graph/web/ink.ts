/** The state needed to draw the graph. */
import type { Colors } from "./colors.ts";
import type { Verdict } from "./compare.ts";
import type { GraphEdge, GraphNode, Scene } from "./scene.ts";
import type { Theme } from "./theme.ts";
import type { View } from "./view.ts";

/** Height of an open group's head, for which the layout leaves room: dashboard/graphs/measures.py. */
export const HEADER = 30;

export interface Seen {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** The parts of a panel that are drawn. */
export interface Picture {
  scene: Scene;
  view: View;
  theme: Theme;
  colors: Colors;
  selection: readonly string[];
  hover: GraphNode | null;
  /** Visible nodes that are highlighted, and those that were found. */
  traced: ReadonlySet<string>;
  matched: ReadonlySet<string>;
  comparison: { verdicts: ReadonlyMap<string, Verdict> };
}

export interface Ink {
  context: CanvasRenderingContext2D;
  theme: Theme;
  seen: Seen;
  zoom: number;
  /** Progress of the transition from the previous scene, 0 to 1. */
  progress: number;
  chosen: ReadonlySet<string>;
  /** Edges of nodes that are selected or under the mouse. */
  lit: ReadonlySet<GraphEdge>;
  /** The color behind an edge. */
  behind: (edge: GraphEdge) => string;
  hover: GraphNode | null;
  colors: Colors;
  traced: ReadonlySet<string>;
  /** Whether everything that is not highlighted is dimmed. */
  dims: boolean;
  matches: ReadonlySet<string>;
  verdicts: ReadonlyMap<string, Verdict>;
}

export function inkOf(context: CanvasRenderingContext2D, picture: Picture, seen: Seen): Ink {
  const { scene, theme, selection, hover } = picture;
  const lit = new Set<GraphEdge>();
  for (const id of [...selection, ...(hover ? [hover.id] : [])]) {
    const node = scene.byId.get(id);
    if (node && !node.expanded) { for (const edge of [...node.inputs, ...node.outputs]) lit.add(edge); }
  }
  const behind = ({ target: { parent } }: GraphEdge) =>
    parent ? theme.containers[parent.depth % theme.containers.length] : theme.canvas;
  return {
    context,
    theme,
    seen,
    zoom: picture.view.zoom,
    progress: scene.progress,
    chosen: new Set(selection),
    lit,
    behind,
    hover,
    colors: picture.colors,
    traced: picture.traced,
    dims: picture.traced.size > 0,
    matches: picture.matched,
    verdicts: picture.comparison.verdicts,
  };
}

export const isDim = (ink: Ink, node: GraphNode): boolean => ink.dims && !ink.traced.has(node.id);
