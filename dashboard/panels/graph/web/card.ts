/** The card for the selected node, on the right side. */
import { counted, durationText, fileSize, integer } from "../../../web/core/numbers.ts";
import * as parts from "./widgets.ts";
import { canExpand } from "./scene.ts";
import { elements, iconButton } from "../../../web/core/dom.ts";
import { format } from "./format.ts";
import { theme } from "./theme.ts";
import { messageOf } from "../../../web/core/request.ts";
import { copyText } from "../../../web/page/layout.ts";
import type { Attribute, AttributeText, Card as Facts, Link } from "./messages.generated.ts";
import type { GraphPanel } from "./panel.ts";

const MOST_LINKS = 60;

export class Card {
  panel;
  element = elements.make("aside", { className: "graph-card", "aria-label": "The selected node", hidden: true });
  /** The id of its node, set as soon as the card is requested. */
  id = "";
  /** The facts shown. */
  shown: Facts | null = null;
  requested = 0;
  top = elements.make("div");

  constructor(panel: GraphPanel) {
    this.panel = panel;
  }

  /** Pixels of the stage that the card covers. */
  get inset() {
    return this.element.hidden ? 0 : this.element.offsetWidth + 12;
  }

  hide() {
    this.requested += 1;
    this.id = "";
    this.shown = null;
    this.element.hidden = true;
  }

  async show(id: string) {
    const requested = (this.requested += 1);
    this.id = id;
    if (this.element.hidden) {
      this.element.replaceChildren(
        this.head(id, "", ""),
        elements.make("div", { className: "graph-card-body" }, elements.make("p", { className: "graph-none" }, "…")),
      );
      this.element.hidden = false;
    }
    try {
      const { id: graphId, function: called, costs } = this.panel.state;
      const card = await this.panel.api.ask<Facts>("node", { id: graphId, function: called, node: id, trace: costs });
      if (requested === this.requested) this.fill(card);
    } catch (error) {
      if (requested !== this.requested) return;
      this.shown = null;
      this.element.replaceChildren(
        this.head(id, "", ""),
        elements.make(
          "div",
          { className: "graph-card-body" },
          elements.make("p", { className: "graph-none bad" }, messageOf(error)),
        ),
      );
    }
  }

  head(id: string, kind: string, op: string) {
    const { make } = elements;
    const copy = iconButton("copy", "Copy name", () => copyText(id, "Name copied"));
    const close = iconButton("close", "Close (Escape)", () => this.panel.select([]));
    const last = format.last(id);
    const scope = id.slice(0, id.length - last.length);
    const what = kind === "group" ? "Scope" : kind === "series" ? "Series" : op;
    const [, , hue] = theme.categoryOf(op);
    const mark = make("i", { className: "graph-swatch" });
    mark.style.background = this.panel.theme.stripe(hue);
    return make(
      "header",
      {},
      make("div", { className: "graph-card-kind" }, mark, what, make("span", { className: "spacer" }), copy, close),
      make("h3", {}, make("bdi", { className: "graph-card-scope" }, scope), make("bdi", {}, last)),
    );
  }

  fill(card: Facts) {
    const { make } = elements;
    // The same node with different costs: the user's place in the card is kept.
    const again = this.shown?.id === card.id;
    this.shown = card;
    if (again) return this.renew();
    this.top = make("div", {}, ...this.beginning(card));
    const body = make(
      "div",
      { className: "graph-card-body" },
      ...[
        this.top,
        this.attributes(card),
        this.tensors("Inputs", card.inputs, card.inputs_total),
        this.tensors("Outputs", card.outputs, card.outputs_total),
        this.members(card),
        this.folded(card),
      ].filter((part) => part !== null),
    );
    this.element.replaceChildren(this.head(card.id, card.kind, card.op), body);
    this.element.scrollTop = 0;
  }

  beginning(card: Facts) {
    return [this.actions(card), this.summary(card)].filter((part) => part !== null);
  }

  /** Refreshes the parts that depend on the scene and the costs. */
  renew() {
    if (!this.shown) return;
    const buttons = () => [...this.top.querySelectorAll("button")];
    const at = buttons().findIndex((button) => button === document.activeElement);
    this.top.replaceChildren(...this.beginning(this.shown));
    if (at >= 0) buttons()[at]?.focus();
  }

  actions(card: Facts) {
    const { button } = parts;
    const { panel } = this;
    const node = panel.scene?.byId.get(card.id);
    const row = elements.make("div", { className: "graph-card-actions" });
    if (node && canExpand(node)) {
      row.append(button(node.expanded ? "Collapse" : "Expand", "Enter", () => panel.toggle(node)));
    }
    row.append(
      button("Inputs", "Highlight all inputs (I)", () => panel.trace("inputs")),
      button("Outputs", "Highlight all outputs (O)", () => panel.trace("outputs")),
    );
    row.append(
      button(
        panel.isAside(card.id) ? "Restore" : "Set aside",
        "Set aside / restore (X)",
        () => panel.setAsideSelected(),
      ),
    );
    if (panel.state.costs) {
      row.append(button("Show slices", "Show its slices on the Timeline", () => panel.showSlices(card)));
    }
    return row;
  }

  summary(card: Facts) {
    const rows: [string, Node | string][] = [];
    const cost = this.panel.colors.costs?.get(card.id);
    if (card.kind !== "op" && card.op) rows.push(["Operation", card.op]);
    if (card.device) rows.push(["Device", card.device]);
    if (card.xla) rows.push(["XLA cluster", card.xla]);
    if (card.count > 1) rows.push(["Nodes inside", integer(card.count)]);
    if (card.parameters) {
      rows.push([
        "Parameters",
        `${integer(card.parameters)}${card.bytes ? ` · ${fileSize(card.bytes)}` : ""}`,
      ]);
    }
    if (card.flops) rows.push(["FLOPs", format.flops(card.flops)]);
    if (cost) {
      if (cost.time_ns) rows.push(["Time", durationText(cost.time_ns, 3)]);
      if (cost.bytes) rows.push(["Memory", fileSize(cost.bytes)]);
    }
    for (const name of card.functions) {
      rows.push([
        "Function",
        this.link(name, () => this.panel.openFunction(name)),
      ]);
    }
    if (card.alike > 1) rows.push(["Same structure", `${integer(card.alike)}, including this one`]);
    for (const host of card.hosts) rows.push(["Folded into", this.link(host, () => this.panel.goTo(host))]);
    const shapes = card.outputs_of.filter(Boolean);
    if (shapes.length) rows.push([shapes.length > 1 ? "Outputs are" : "Output is", shapes.slice(0, 8).join("\n")]);
    return rows.length ? parts.facts(rows) : null;
  }

  link(text: string, action: () => void, title: string = text) {
    const made = elements.make(
      "button",
      { type: "button", className: "graph-link", title },
      elements.make("bdi", {}, text),
    );
    made.addEventListener("click", action);
    return made;
  }

  attributes(card: Facts) {
    const { make } = elements;
    const rows = Object.entries(card.attributes);
    if (!rows.length) return null;
    const table = make("table", { className: "graph-attributes" });
    for (const [name, row] of rows) {
      const value = make("td", {}, make("span", { className: "graph-attribute-value" }, row.text));
      if (row.truncated) value.append(" ", this.whole(card, name, row, value));
      table.append(make("tr", {}, make("th", { scope: "row", title: row.kind }, name), value));
    }
    return parts.section(`Attributes (${rows.length})`, table);
  }

  /** The button that fetches a large attribute in full. */
  whole(card: Facts, name: string, row: Attribute, cell: HTMLElement) {
    const size = row.bytes ? ` (${fileSize(row.bytes)})` : "";
    const more = this.link(`show all${size}`, async () => {
      more.disabled = true;
      try {
        const { id, function: called } = this.panel.state;
        const answer = await this.panel.api.ask<AttributeText>("attribute", {
          id,
          function: called,
          node: card.id,
          name,
        });
        const { text } = answer;
        const area = elements.make("textarea", {
          className: "graph-attribute-all",
          readOnly: true,
          rows: 10,
          value: text,
          "aria-label": name,
        });
        cell.replaceChildren(area);
        if (answer.truncated) {
          cell.append(
            elements.make(
              "p",
              { className: "graph-none" },
              `The first ${integer(text.length)} characters${size}.`,
            ),
          );
        }
      } catch (error) {
        more.disabled = false;
        this.panel.notify(messageOf(error));
      }
    });
    return more;
  }

  tensors(title: string, rows: readonly Link[], total: number) {
    const { make } = elements;
    if (!rows.length) return null;
    const list = make("ul", { className: "graph-links" });
    const fill = (most: number) => {
      const shown = rows.slice(0, most).map((row) => this.tensor(row));
      if (rows.length > most) {
        shown.push(
          make("li", {}, this.link(`${integer(rows.length - most)} more`, () => fill(most * 10), "Show more")),
        );
      }
      list.replaceChildren(...shown);
    };
    fill(MOST_LINKS);
    const left = total - rows.length;
    if (left > 0) {
      return parts.section(
        `${title} (${integer(rows.length + left)})`,
        list,
        make("p", { className: "graph-none" }, `The first ${rows.length} are listed.`),
      );
    }
    return parts.section(`${title} (${integer(rows.length)})`, list);
  }

  tensor(row: Link) {
    const { make } = elements;
    const name = row.node;
    const slot = row.slot > 0 ? `:${row.slot}` : "";
    const mark = row.control
      ? make("span", { className: "graph-tag" }, "control")
      : row.reference
      ? make("span", { className: "graph-tag" }, "reference")
      : "";
    return make(
      "li",
      {},
      this.link(`${name}${slot}`, () => this.panel.goTo(name, row.expand)),
      mark,
      make("span", { className: "graph-shape" }, row.label),
    );
  }

  members(card: Facts) {
    const { make } = elements;
    const { members: list, members_total: total } = card;
    if (!list.length) return null;
    const rows = list.slice(0, 200).map((row) => {
      return make(
        "li",
        {},
        this.link(row.label, () => this.panel.goTo(row.id, [...card.expand, card.id]), row.id),
        make("span", { className: "graph-shape" }, row.op || (row.count > 1 ? counted(row.count, "node") : "")),
      );
    });
    if (total > rows.length) {
      rows.push(make("li", { className: "graph-none" }, `and ${integer(total - rows.length)} more`));
    }
    const ops = card.ops.map((row) => `${row.op} × ${integer(row.count)}`);
    return parts.section(
      `Inside (${integer(total)})`,
      ops.length ? make("p", { className: "graph-none" }, ops.slice(0, 12).join(", ")) : "",
      make("ul", { className: "graph-links" }, ...rows),
    );
  }

  folded(card: Facts) {
    const { make } = elements;
    const ids = card.aux;
    if (!ids.length) return null;
    const rows = ids.map((id) =>
      make(
        "li",
        {},
        this.link(format.last(id), () => this.show(id), id),
        this.link("show", () => this.panel.bringBack(id), "Show it as a node of its own"),
      )
    );
    return parts.section(`Folded into it (${ids.length})`, make("ul", { className: "graph-links" }, ...rows));
  }
}
