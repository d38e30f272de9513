/** Draws the graph on a canvas: expanded groups as containers, edges, nodes. Only the visible part costs anything. */
import { integer } from "../../../web/core/numbers.ts";
import * as graphEdges from "./edges.ts";
import * as timelineText from "../../../web/core/canvas_text.ts";
import { HEADER, type Ink, inkOf, isDim, type Picture } from "./ink.ts";
import { canExpand, type GraphNode } from "./scene.ts";
import { format } from "./format.ts";

const RADIUS = 5;
const STRIPE = 4;
const FONT = 12;
/** Size in pixels below which text is unreadable. */
const LEAST_LETTER = 5.5;
/** How far the stacked cards of a series extend, within its box. */
const STACK = 4;
/** On-screen size of group names whose own size would be smaller. */
const FAR_LETTER = 11;

/**
 * Paints a scene. Sets the context's transform from the view and the screen's pixels.
 * @param context a canvas context, or one that writes SVG
 * @param ratio canvas pixels per page pixel
 * @param part left, top, width and height, in page pixels, of the part to paint; everything if omitted
 */
export function draw(context: CanvasRenderingContext2D, picture: Picture, ratio: number, part?: number[]) {
  const { view, scene, theme } = picture;
  const { zoom } = view;
  let seen = view.visible;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  if (part) {
    context.save();
    context.beginPath();
    context.rect(part[0], part[1], part[2], part[3]);
    context.clip();
    const from = view.toWorld(part[0], part[1]);
    const to = view.toWorld(part[0] + part[2], part[1] + part[3]);
    seen = { left: from.x, top: from.y, right: to.x, bottom: to.y };
  }
  context.fillStyle = theme.canvas;
  context.fillRect(0, 0, view.width, view.height);
  context.setTransform(
    ratio * zoom,
    0,
    0,
    ratio * zoom,
    ratio * (view.width / 2 - view.x * zoom),
    ratio * (view.height / 2 - view.y * zoom),
  );
  const { containers, leaves, edges } = scene.within(seen);
  const ink = inkOf(context, picture, seen);
  for (const node of containers) container(ink, node);
  const labels = graphEdges.draw(ink, edges, leaves);
  for (const node of containers) header(ink, node);
  nodes(ink, leaves);
  context.globalAlpha = 1;
  if (part) context.restore();
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return { nodes: containers.length + leaves.length, edges: edges.length, labels };
}

/** @param node an expanded group */
function container(ink: Ink, node: GraphNode) {
  const { context, theme } = ink;
  const { x, y, w, h } = node;
  context.globalAlpha = node.fresh ? ink.progress : 1;
  context.beginPath();
  context.roundRect(x, y, w, h, RADIUS + 3);
  context.fillStyle = theme.containers[node.depth % theme.containers.length];
  context.fill();
  const tint = ink.colors.mode === "structure" ? ink.colors.of(node, theme).fill : null;
  if (tint) {
    context.globalAlpha *= 0.3;
    context.fillStyle = tint;
    context.fill();
    context.globalAlpha = node.fresh ? ink.progress : 1;
  }
  outline(ink, node, RADIUS + 3, theme.border);
}

/** The text of an expanded group, drawn over passing edges. */
function header(ink: Ink, node: GraphNode) {
  const { context, theme, zoom } = ink;
  const { x, y, w, h } = node;
  const letter = Math.max(FONT, Math.min(FAR_LETTER / zoom, h / 4));
  if (letter * zoom < LEAST_LETTER || w * zoom < 34) return;
  const { fit, measure } = timelineText;
  const middle = y + Math.max(HEADER, letter * 1.5) / 2;
  const room = w - letter * 2.6;
  const bold = `600 ${letter}px ${theme.font}`;
  const light = `${letter * 0.88}px ${theme.font}`;
  context.globalAlpha = node.fresh ? ink.progress : 1;
  context.textBaseline = "middle";
  context.font = bold;
  const name = fit(context, node.label, room);
  const used = name ? measure(context, name) : 0;
  context.font = light;
  const cost = ink.colors.costText(node);
  const count = integer(node.count);
  const whole = cost ? `${count} · ${cost}` : count;
  // A truncated number would be wrong.
  const rest = [whole, cost || count, count].find((text) => measure(context, text) <= room - used - letter * 0.4) ?? "";
  // Passing edges must not show through the letters.
  context.fillStyle = theme.containers[node.depth % theme.containers.length];
  if (ink.colors.mode !== "structure") {
    context.fillRect(
      x + letter * 0.5,
      middle - letter * 0.7,
      letter * 1.5 + used + (rest ? measure(context, rest) + letter * 0.7 : 0),
      letter * 1.4,
    );
  }
  context.fillStyle = theme.dimmed;
  context.fillText(rest, x + letter * 1.8 + used + letter * 0.7, middle);
  context.font = bold;
  context.fillStyle = theme.text;
  context.fillText(name, x + letter * 1.8, middle);
  chevron(context, x + letter, middle, letter * 0.32, true, theme.dimmed);
}

/** The line around a node: shows its comparison verdict, and whether it is found or selected. */
function outline(ink: Ink, node: GraphNode, radius: number, usual: string) {
  const { context, theme, zoom } = ink;
  const verdict = ink.verdicts.get(node.id);
  const chosen = ink.chosen.has(node.id);
  const found = ink.matches.has(node.id);
  context.beginPath();
  context.roundRect(node.x, node.y, node.w, node.h, radius);
  context.strokeStyle = verdict ? theme.verdicts[verdict].line : usual;
  context.lineWidth = verdict ? Math.max(1.8, 1.2 / zoom) : Math.max(1, 0.5 / zoom);
  context.stroke();
  if (!chosen && !found && ink.hover !== node) return;
  const out = (chosen || found ? 2.5 : 1) / Math.min(zoom, 1);
  context.beginPath();
  context.roundRect(node.x - out, node.y - out, node.w + 2 * out, node.h + 2 * out, radius + out);
  context.strokeStyle = chosen ? theme.accent : found ? theme.match : theme.dimmed;
  context.lineWidth = (chosen || found ? 2 : 1) / Math.min(zoom, 1);
  context.stroke();
}

function chevron(context: CanvasRenderingContext2D, x: number, y: number, size: number, open: boolean, color: string) {
  context.beginPath();
  if (open) {
    context.moveTo(x - size, y - size * 0.5);
    context.lineTo(x, y + size * 0.5);
    context.lineTo(x + size, y - size * 0.5);
  } else {
    context.moveTo(x - size * 0.5, y - size);
    context.lineTo(x + size * 0.5, y);
    context.lineTo(x - size * 0.5, y + size);
  }
  context.strokeStyle = color;
  context.lineWidth = size * 0.4;
  context.stroke();
}

/** Nodes that are not expanded: boxes batched by color, then their text. */
function nodes(ink: Ink, leaves: GraphNode[]) {
  const { context, theme, zoom } = ink;
  const plain = FONT * zoom < LEAST_LETTER;
  const boxes: Map<string, { fill: string; line: string; alpha: number; nodes: GraphNode[] }> = new Map();
  const stripes: Map<string, GraphNode[]> = new Map();
  for (const node of leaves) {
    const paint = ink.colors.of(node, theme);
    const verdict = ink.verdicts.get(node.id);
    const expandable = canExpand(node);
    const fill = verdict
      ? theme.verdicts[verdict].fill
      : paint.gray
      ? theme.gray
      : paint.fill ?? (plain && paint.stripe ? paint.stripe : expandable ? theme.group : theme.node);
    const line = expandable ? theme.strong : theme.border;
    const alpha = (isDim(ink, node) ? 0.22 : 1) * (node.fresh ? ink.progress : 1);
    node.gray = paint.gray;
    const key = `${fill}${line}${alpha}`;
    const batch = boxes.get(key);
    if (batch) batch.nodes.push(node);
    else boxes.set(key, { fill, line, alpha, nodes: [node] });
    if (!plain && paint.stripe && !paint.gray) {
      const stripe = `${alpha}|${paint.stripe}`;
      const list = stripes.get(stripe);
      if (list) list.push(node);
      else stripes.set(stripe, [node]);
    }
  }
  for (const batch of boxes.values()) box(ink, batch, plain);
  for (const [key, list] of stripes) stripe(ink, key, list);
  if (!plain) write(ink, leaves);
  else names(ink, leaves);
  for (const node of leaves) {
    const verdict = ink.verdicts.get(node.id);
    if (!verdict && !ink.chosen.has(node.id) && !ink.matches.has(node.id) && ink.hover !== node) continue;
    context.globalAlpha = 1;
    outline(ink, node, RADIUS, canExpand(node) ? theme.strong : theme.border);
  }
}

function box(ink: Ink, batch: { fill: string; line: string; alpha: number; nodes: GraphNode[] }, plain: boolean) {
  const { context, zoom } = ink;
  context.globalAlpha = batch.alpha;
  context.fillStyle = batch.fill;
  context.strokeStyle = batch.line;
  context.lineWidth = Math.max(1, 0.6 / zoom);
  if (plain) {
    context.beginPath();
    for (const { x, y, w, h } of batch.nodes) context.rect(x, y, w, h);
    context.fill();
    if (zoom > 0.12) context.stroke();
    return;
  }
  const stacked = batch.nodes.filter((node) => node.kind === "series");
  // The cards of a series are stacked; the bottom one is drawn first.
  for (const by of [STACK, STACK / 2]) {
    if (!stacked.length) break;
    context.beginPath();
    for (const { x, y, w, h } of stacked) context.roundRect(x + by, y + by, w - STACK, h - STACK, RADIUS);
    context.fill();
    context.stroke();
  }
  context.beginPath();
  for (const { x, y, w, h, kind } of batch.nodes) {
    context.roundRect(x, y, w - (kind === "series" ? STACK : 0), h - (kind === "series" ? STACK : 0), RADIUS);
  }
  context.fill();
  context.stroke();
}

/** @param key "alpha|color" */
function stripe(ink: Ink, key: string, list: GraphNode[]) {
  const { context } = ink;
  const at = key.indexOf("|");
  context.globalAlpha = Number(key.slice(0, at));
  context.fillStyle = key.slice(at + 1);
  context.beginPath();
  for (const { x, y, h, kind } of list) {
    context.roundRect(x, y, STRIPE, h - (kind === "series" ? STACK : 0), [RADIUS, 0, 0, RADIUS]);
  }
  context.fill();
}

/** Names of groups when zoomed out, at a readable size. */
function names(ink: Ink, leaves: GraphNode[]) {
  const { context, theme, zoom } = ink;
  const letter = FAR_LETTER / zoom;
  context.font = `${letter}px ${theme.font}`;
  context.textBaseline = "middle";
  context.textAlign = "center";
  context.fillStyle = theme.text;
  for (const node of leaves) {
    if (node.h * zoom < FAR_LETTER + 1 || node.w * zoom < 30 || isDim(ink, node)) continue;
    const text = timelineText.fit(context, node.label, node.w - letter * 0.6);
    if (text) context.fillText(text, node.x + node.w / 2, node.y + node.h / 2);
  }
  context.textAlign = "left";
}

function write(ink: Ink, leaves: GraphNode[]) {
  const { context, theme, zoom } = ink;
  const { fit } = timelineText;
  context.textBaseline = "middle";
  const small = FONT * 0.82;
  const smallReads = small * zoom >= LEAST_LETTER;
  /** Secondary texts, drawn after all primary ones: changing the font costs more than drawing a text. */
  const second: [string, number, number, string, number, "left" | "right" | "badge" | "problem"][] = [];
  context.font = `500 ${FONT}px ${theme.font}`;
  context.fillStyle = theme.text;
  for (const node of leaves) {
    const stack = node.kind === "series" ? STACK : 0;
    const { x, y } = node;
    const [w, h] = [node.w - stack, node.h - stack];
    const alpha = (isDim(ink, node) ? 0.3 : 1) * (node.fresh ? ink.progress : 1);
    context.globalAlpha = alpha;
    const expandable = canExpand(node);
    const start = x + STRIPE + 7 + (expandable ? 9 : 0) + (node.kind === "function" ? 10 : 0);
    let count = expandable && node.count > 1 ? format.amount(node.count) : "";
    const text = fit(context, node.label, x + w - 6 - start);
    // The name takes precedence: a count without enough room is omitted.
    if (text && timelineText.measure(context, text) > x + w - start - count.length * 6 - 8) count = "";
    const twoLines = h >= 33;
    const below = twoLines
      ? [expandable || node.label === node.op ? "" : node.op, ink.colors.costText(node)].filter(Boolean).join(" · ")
      : "";
    const line = below ? y + h / 2 - 6 : y + h / 2 + 0.5;
    context.fillStyle = node.gray ? theme.grayText : theme.text;
    context.fillText(text, start, line);
    // Dim letters on a color are hard to read.
    const quiet = ink.colors.mode === "op" || node.gray ? theme.dimmed : theme.text;
    if (smallReads) {
      if (below) second.push([below, start, y + h / 2 + 8, quiet, alpha, "left"]);
      if (count) second.push([count, x + w - 7, line, quiet, alpha, "right"]);
      const cost = twoLines ? "" : ink.colors.costText(node);
      if (cost) second.push([cost, x + w, y + h + 7, theme.dimmed, alpha, "right"]);
      if (node.aux?.length) {
        second.push([`+${node.aux.length}`, x + w + 13, y + h / 2 + 0.5, theme.dimmed, alpha, "badge"]);
      }
      if (node.problems) second.push(["!", x + w - 1, y, "", alpha, "problem"]);
      if (node.kind === "function") second.push(["ƒ", x + STRIPE + 6, line, theme.stripe(310), alpha, "left"]);
    }
    if (expandable) {
      chevron(context, x + STRIPE + 8 + (node.kind === "function" ? 10 : 0), line, 3.6, false, theme.dimmed);
    }
  }
  context.font = `${small}px ${theme.font}`;
  for (const [text, x, y, color, alpha, where] of second) {
    context.globalAlpha = alpha;
    context.fillStyle = color;
    if (where === "badge") badge(ink, text, x, y);
    else if (where === "problem") mark(ink, x, y);
    else {
      context.textAlign = where;
      context.fillText(where === "left" ? fit(context, text, 400) : text, x, y);
    }
  }
  context.textAlign = "left";
}

/** The number of nodes folded into a node, drawn beside it. */
function badge(ink: Ink, text: string, x: number, y: number) {
  const { context, theme } = ink;
  context.beginPath();
  context.roundRect(x - 10, y - 7, 20 + Math.max(text.length - 2, 0) * 5, 14, 7);
  context.fillStyle = theme.node;
  context.strokeStyle = theme.border;
  context.lineWidth = 1;
  context.fill();
  context.stroke();
  context.fillStyle = theme.dimmed;
  context.textAlign = "center";
  context.fillText(text, x + Math.max(text.length - 2, 0) * 2.5, y + 0.5);
}

/** Marks a node that has a problem. */
function mark(ink: Ink, x: number, y: number) {
  const { context, theme } = ink;
  context.beginPath();
  context.arc(x, y, 5.5, 0, 2 * Math.PI);
  context.fillStyle = theme.warn;
  context.fill();
  context.fillStyle = theme.node;
  context.textAlign = "center";
  context.fillText("!", x, y + 0.5);
}
