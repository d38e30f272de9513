/** Edges on the canvas: batched by appearance, so that thousands cost only a few strokes. */
import { HEADER, type Ink } from "./ink.ts";
import type { GraphEdge, GraphNode } from "./scene.ts";
import * as timelineText from "../../../web/core/canvas_text.ts";

const WIDTHS = [1, 1.4, 2, 2.8, 3.8];
/** Below the first zoom, an edge is a bare line; below the second, it has no heads. */
const CURVED = 0.22;
const HEADS = 0.3;
const LABELS = 0.62;
const DASH = [5, 4];

/**
 * A path through the points with rounded corners: straight to the middle of each part, then a curve around the corner.
 * @param cut units by which the end is shortened to make room for the head
 */
function trace(path: CanvasRenderingContext2D, points: Float64Array, curved: boolean, cut: number) {
  const last = points.length - 2;
  let [ex, ey] = [points[last], points[last + 1]];
  if (cut > 0) {
    const [dx, dy] = [ex - points[last - 2], ey - points[last - 1]];
    const length = Math.hypot(dx, dy) || 1;
    ex -= (dx / length) * Math.min(cut, length * 0.9);
    ey -= (dy / length) * Math.min(cut, length * 0.9);
  }
  path.moveTo(points[0], points[1]);
  if (curved && points.length === 4 && Math.abs(ex - points[0]) > 1 && ey > points[1]) {
    const middle = (points[1] + ey) / 2;
    path.bezierCurveTo(points[0], middle, ex, middle, ex, ey);
    return;
  }
  for (let i = 2; i < last; i += 2) {
    const [x, y] = [points[i], points[i + 1]];
    if (!curved) path.lineTo(x, y);
    else {
      const [px, py, nx, ny] = [points[i - 2], points[i - 1], points[i + 2], points[i + 3]];
      const [before, after] = [Math.hypot(x - px, y - py) || 1, Math.hypot(nx - x, ny - y) || 1];
      const radius = Math.min(26, before / 2, after / 2);
      path.lineTo(x + ((px - x) / before) * radius, y + ((py - y) / before) * radius);
      path.quadraticCurveTo(x, y, x + ((nx - x) / after) * radius, y + ((ny - y) / after) * radius);
    }
  }
  path.lineTo(ex, ey);
}

/** The direction of an edge's last part, for its head. */
function direction(points: Float64Array, bent: boolean) {
  const last = points.length - 2;
  if (bent && points.length === 4 && points[3] > points[1]) return [0, 1];
  const [dx, dy] = [points[last] - points[last - 2], points[last + 1] - points[last - 1]];
  const length = Math.hypot(dx, dy) || 1;
  return [dx / length, dy / length];
}

function head(path: CanvasRenderingContext2D, points: Float64Array, size: number, bent: boolean) {
  const [dx, dy] = direction(points, bent);
  const [x, y] = [points[points.length - 2], points[points.length - 1]];
  path.moveTo(x, y);
  path.lineTo(x - dx * size - dy * size * 0.5, y - dy * size + dx * size * 0.5);
  path.lineTo(x - dx * size + dy * size * 0.5, y - dy * size - dx * size * 0.5);
  path.closePath();
}

/**
 * @param edges the visible edges
 * @param leaves the visible nodes; no text is drawn beneath them
 */
export function draw(ink: Ink, edges: GraphEdge[], leaves: GraphNode[]) {
  const { context, theme, zoom } = ink;
  const curved = zoom >= CURVED;
  const heads = zoom >= HEADS;
  const batches: Map<
    string,
    { color: string; width: number; dashed: boolean; alpha: number; order: number; edges: GraphEdge[] }
  > = new Map();
  for (const edge of edges) {
    const lit = ink.lit.has(edge);
    const dim = ink.dims && !(ink.traced.has(edge.source.id) && ink.traced.has(edge.target.id));
    const appears = edge.from === null && ink.progress < 1;
    const key = `${edge.control}${edge.reference}${edge.width}${lit}${dim}${appears}`;
    let batch = batches.get(key);
    if (!batch) {
      const color = lit ? theme.accent : edge.reference ? theme.reference : edge.control ? theme.control : theme.edge;
      batch = {
        color,
        width: WIDTHS[edge.width] + (lit ? 0.8 : 0),
        dashed: edge.control,
        alpha: (dim ? 0.14 : 1) * (appears ? ink.progress : 1),
        order: lit ? 1 : 0,
        edges: [],
      };
      batches.set(key, batch);
    }
    batch.edges.push(edge);
  }
  for (const batch of [...batches.values()].sort((a, b) => a.order - b.order)) {
    const size = heads ? 6 + batch.width * 1.1 : 0;
    context.globalAlpha = batch.alpha;
    context.strokeStyle = context.fillStyle = batch.color;
    // Lines thinner than half a pixel are invisible.
    context.lineWidth = Math.max(batch.width, 0.55 / zoom);
    context.setLineDash(batch.dashed && zoom > 0.15 ? DASH : []);
    context.beginPath();
    for (const { points } of batch.edges) trace(context, points, curved, size * 0.8);
    context.stroke();
    if (!size) continue;
    context.beginPath();
    for (const { points } of batch.edges) head(context, points, size, curved && Math.abs(points[0] - points[2]) > 1);
    context.fill();
  }
  context.setLineDash([]);
  context.globalAlpha = 1;
  return zoom >= LABELS && ink.progress >= 1 ? labels(ink, edges, leaves) : 0;
}

/** Shapes and types beside the edges, if there is room. */
function labels(ink: Ink, edges: GraphEdge[], leaves: GraphNode[]) {
  const { context, theme } = ink;
  context.font = `10px ${theme.font}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  /** Cells that already contain a text. */
  const taken = new Set<string>();
  let drawn = 0;
  for (const edge of edges) {
    if (!edge.label || edge.control) continue;
    const dim = ink.dims && !(ink.traced.has(edge.source.id) && ink.traced.has(edge.target.id));
    if (dim) continue;
    const { text, width } = shownLabel(context, edge);
    if (width > 190) continue;
    const place = placeOf(edge, width, leaves);
    if (
      place.room < 20 || place.y < ink.seen.top || place.y > ink.seen.bottom || place.x < ink.seen.left ||
      place.x > ink.seen.right
    ) continue;
    const row = Math.round(place.y / 16);
    const cells: string[] = [];
    for (let cell = Math.floor((place.x - width / 2) / 24); cell <= Math.floor((place.x + width / 2) / 24); cell += 1) {
      cells.push(`${row},${cell}`);
    }
    if (cells.some((cell) => taken.has(cell))) continue;
    for (const cell of cells) {
      for (const near of [-1, 0, 1]) taken.add(`${row + near},${cell.slice(cell.indexOf(",") + 1)}`);
    }
    context.fillStyle = ink.behind(edge);
    context.globalAlpha = 0.88;
    context.fillRect(place.x - width / 2, place.y - 7, width, 14);
    context.globalAlpha = 1;
    context.fillStyle = theme.dimmed;
    context.fillText(text, place.x, place.y + 0.5);
    drawn += 1;
  }
  context.textAlign = "left";
  return drawn;
}

/** The label of an edge, without its element type if the enclosing group is too narrow for both. */
function shownLabel(context: CanvasRenderingContext2D, edge: GraphEdge) {
  const widthOf = (text: string) => timelineText.measure(context, text) + 6;
  const width = widthOf(edge.label);
  const group = edge.source.parent;
  if (!group || group !== edge.target.parent || width <= group.w) return { text: edge.label, width };
  const text = edge.label.replace(/^[a-z]\w* (?=[\d?])/, "");
  return { text, width: widthOf(text) };
}

/**
 * The middle and length of the longest vertical part that is clear of nodes and of the borders and names of groups.
 * @param width width of the text
 */
function placeOf(edge: GraphEdge, width: number, leaves: GraphNode[]) {
  const { points } = edge;
  const avoided = bands(edge);
  const covered = (x: number, y: number) =>
    leaves.some((node) =>
      Math.abs(node.x + node.w / 2 - x) < (node.w + width) / 2 && Math.abs(node.y + node.h / 2 - y) < node.h / 2 + 6
    );
  let best = { x: 0, y: 0, room: 0 };
  for (let i = 0; i + 3 < points.length; i += 2) {
    const room = Math.abs(points[i + 3] - points[i + 1]);
    if (room <= best.room) continue;
    for (const share of [0.5, 0.75, 0.25]) {
      const y = points[i + 1] + (points[i + 3] - points[i + 1]) * share;
      if (avoided.some(([top, bottom]) => y > top - 8 && y < bottom + 8)) continue;
      const x = points[i] + (points[i + 2] - points[i]) * share;
      if (covered(x, y)) continue;
      best = { x, y, room };
      break;
    }
  }
  return best;
}

/** Vertical ranges in which an edge crosses a group's border or name. */
function bands(edge: GraphEdge): [number, number][] {
  const found: [number, number][] = [];
  for (let at: GraphNode | null = edge.target.parent; at; at = at.parent) found.push([at.y, at.y + HEADER - 4]);
  for (let at: GraphNode | null = edge.source.parent; at; at = at.parent) found.push([at.y + at.h, at.y + at.h]);
  return found;
}
