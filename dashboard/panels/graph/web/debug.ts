/** The state of a panel as plain values, for tests and benchmarks. */
import { panel as graphPanel } from "./panel.ts";
import type { GraphPanel } from "./panel.ts";
import type { GraphNode } from "./scene.ts";

export const stateOf = (panel: GraphPanel) => {
  const { scene, view, state } = panel;
  const seen = scene ? scene.within(view.visible) : { containers: [], leaves: [] };
  const box = (node: GraphNode) => {
    const { x, y } = view.toScreen(node.x, node.y);
    return {
      id: node.id,
      label: node.label,
      kind: node.kind,
      expanded: node.expanded,
      x,
      y,
      w: node.w * view.zoom,
      h: node.h * view.zoom,
    };
  };
  return {
    graph: state.id || null,
    function: state.function,
    nodes: scene?.nodes.length ?? 0,
    edges: scene?.edges.length ?? 0,
    total: scene?.total ?? null,
    aside: scene?.aside.map((row) => row.id) ?? [],
    problems: scene?.problems.length ?? 0,
    visible: panel.drawn.nodes,
    visibleEdges: panel.drawn.edges,
    labels: panel.drawn.labels,
    frames: panel.frames,
    reused: panel.picture.reused,
    crisp: panel.picture.crisp,
    drawMs: panel.drawMs,
    loading: panel.api.pending > 0 || panel.loading > 0,
    moving: Boolean(scene?.moving || view.animation),
    requests: panel.api.requests,
    selected: panel.selection[0] ?? null,
    selection: [...panel.selection],
    expanded: [...state.expanded],
    view: { x: view.x, y: view.y, zoom: view.zoom },
    width: view.width,
    height: view.height,
    boxes: [...seen.containers, ...seen.leaves].map(box),
    links: scene?.edges.map((edge) => [edge.source.id, edge.target.id]) ?? [],
    message: panel.message.textContent,
    color: panel.colors.mode,
    costs: panel.colors.costs?.size ?? null,
    matches: panel.matchCount,
    matched: [...panel.matched],
    traced: [...panel.traced],
    verdicts: Object.fromEntries(panel.comparison.verdicts),
    hover: panel.hover?.id ?? null,
    dark: panel.theme.dark,
  };
};

export const debug = () => {
  const panel = graphPanel();
  return panel && stateOf(panel);
};
