/** What drawing the graph asks for. */
import type { Colors } from "./colors.ts";
import type { Verdict } from "./compare.ts";
import type { GraphEdge, GraphNode, Scene } from "./scene.ts";
import type { Theme } from "./theme.ts";
import type { View } from "./view.ts";

/** Height of the head of an open group, as the layout leaves room for: dashboard/graphs/measures.py. */
export const HEADER = 30;

export interface Seen {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** What of a panel is drawn. */
export interface Picture {
  scene: Scene;
  view: View;
  theme: Theme;
  colors: Colors;
  selection: readonly string[];
  hover: GraphNode | null;
  /** Visible nodes that are lit up, and those that were found. */
  traced: ReadonlySet<string>;
  matched: ReadonlySet<string>;
  comparison: { verdicts: ReadonlyMap<string, Verdict> };
}

export interface Ink {
  context: CanvasRenderingContext2D;
  theme: Theme;
  seen: Seen;
  zoom: number;
  /** How far the change from the scene before has come, 0 to 1. */
  progress: number;
  chosen: ReadonlySet<string>;
  /** Edges of what is selected or under the mouse. */
  lit: ReadonlySet<GraphEdge>;
  /** The color that lies behind an edge. */
  behind: (edge: GraphEdge) => string;
  hover: GraphNode | null;
  colors: Colors;
  traced: ReadonlySet<string>;
  /** Whether what is not lit up is dimmed. */
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
