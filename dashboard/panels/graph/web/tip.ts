/** The box beside the mouse that describes the node or edge under it. */
import { counted, durationText, fileSize } from "../../../web/core/numbers.ts";
import { elements } from "../../../web/core/dom.ts";
import { format } from "./format.ts";
import type { GraphPanel } from "./panel.ts";
import type { GraphEdge, GraphNode } from "./scene.ts";

export class Tip {
  panel;
  element = elements.make("div", { className: "graph-tip", hidden: true });

  constructor(panel: GraphPanel) {
    this.panel = panel;
  }

  /** @param at position on the stage */
  point(at: { x: number; y: number } | null) {
    const { hover, hoverEdge } = this.panel;
    const content = at && (hover && !hover.expanded ? this.node(hover) : hoverEdge ? this.edge(hoverEdge) : null);
    this.element.hidden = !content;
    if (!at || !content) return;
    this.element.replaceChildren(...content);
    const { offsetWidth: w, offsetHeight: h } = this.element;
    const { width, height } = this.panel.view;
    const x = at.x + 16 + w > width ? Math.max(at.x - w - 12, 4) : at.x + 16;
    const y = at.y + 18 + h > height ? Math.max(at.y - h - 12, 4) : at.y + 18;
    this.element.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px)`;
  }

  node(node: GraphNode) {
    const { make } = elements;
    const { colors } = this.panel;
    const cost = colors.costs?.get(node.id);
    const facts = [
      node.kind === "group" ? "scope" : node.kind === "series" ? `series of ${node.op || "scopes"}` : node.op,
      node.count > 1 ? counted(node.count, "node") : "",
      node.parameters ? `${format.amount(node.parameters)} parameters` : "",
      node.flops ? format.flops(node.flops) : "",
      cost?.time_ns ? durationText(cost.time_ns, 3) : "",
      cost?.bytes ? fileSize(cost.bytes) : "",
    ].filter(Boolean);
    const lines = [make("b", {}, node.id), make("div", {}, facts.join(" · "))];
    if (node.device) lines.push(make("div", { className: "dim" }, node.device));
    const [shape] = node.outputs.filter((edge) => edge.label && !edge.control).map((edge) => edge.label);
    if (shape) lines.push(make("div", { className: "dim" }, `→ ${shape}`));
    if (node.aux.length) {
      lines.push(
        make(
          "div",
          { className: "dim" },
          `with ${node.aux.slice(0, 4).map(format.last).join(", ")}${
            node.aux.length > 4 ? ` and ${node.aux.length - 4} more` : ""
          }`,
        ),
      );
    }
    return lines;
  }

  edge(edge: GraphEdge) {
    const { make } = elements;
    const facts = [
      edge.control ? "control" : edge.label || "unknown shape",
      edge.reference ? "reference" : "",
      edge.tensors > 1 && !/tensors/.test(edge.label) ? `${edge.tensors} tensors` : "",
      edge.bytes ? fileSize(edge.bytes) : "",
    ].filter(Boolean);
    return [
      make("b", {}, `${format.last(edge.source.id)} → ${format.last(edge.target.id)}`),
      make("div", {}, facts.join(" · ")),
    ];
  }
}
