/** The line above the graph: its contents, nodes set aside, highlighted paths, differences, and problems. */
import { counted, fileSize, integer } from "../../../web/core/numbers.ts";
import * as parts from "./widgets.ts";
import { elements } from "../../../web/core/dom.ts";
import { format } from "./format.ts";
import { popover } from "../../../web/core/popover.ts";
import { idOf, type Verdict } from "./compare.ts";
import type { Change, Comparison } from "./messages.generated.ts";
import type { GraphPanel } from "./panel.ts";

const VERDICTS = ["added", "removed", "changed"] as const;

export class Strip {
  panel;
  about;
  element;

  constructor(panel: GraphPanel) {
    const { make } = elements;
    this.panel = panel;
    this.about = make("div", { className: "graph-about" });
    this.element = make("div", { className: "graph-strip" }, this.about, panel.buttons.element);
  }

  draw() {
    const { panel } = this;
    const { scene } = panel;
    const { make } = elements;
    if (!scene) return this.about.replaceChildren();
    const { nodes, edges, parameters, bytes, flops } = scene.total;
    const totals = [
      counted(nodes, "node"),
      counted(edges, "edge"),
      parameters ? `${format.amount(parameters)} parameters${bytes ? ` (${fileSize(bytes)})` : ""}` : "",
      flops ? format.flops(flops) : "",
    ].filter(Boolean);
    const made = [make("span", { className: "graph-totals" }, totals.join(" · "))];
    if (scene.aside.length) {
      const aside = parts.button(
        `Set aside: ${scene.aside.length}`,
        "Nodes drawn next to the graph, so that their edges do not cross it",
        () => this.aside(aside),
        "small",
      );
      aside.setAttribute("aria-haspopup", "dialog");
      made.push(aside);
    }
    if (panel.tracedWhat) {
      made.push(
        make(
          "span",
          { className: "graph-chip", title: panel.tracedWhat },
          make("span", {}, panel.tracedWhat),
          parts.button("✕", "Clear the highlight (Escape)", () => panel.endTrace(), "plain small"),
        ),
      );
    }
    const { answer } = panel.comparison;
    if (answer) {
      const differs = parts.button("", "List of differences", () => this.changes(differs), "small");
      differs.replaceChildren(...this.counts(answer));
      differs.setAttribute("aria-haspopup", "dialog");
      made.push(differs);
    }
    if (scene.problems.length) {
      const count = scene.problems.length;
      const wrong = parts.button(
        `${count} ${count === 1 ? "problem" : "problems"} in this graph`,
        "Table of problems",
        () => this.problems(wrong),
        "small warn",
      );
      wrong.setAttribute("aria-haspopup", "dialog");
      made.push(wrong);
    }
    this.about.replaceChildren(...made);
  }

  counts(answer: Comparison) {
    if (VERDICTS.every((name) => !answer[`${name}_count`])) return ["No differences"];
    return VERDICTS.map((name) =>
      elements.make(
        "span",
        { className: `graph-count ${name}` },
        `${integer(answer[`${name}_count`])} ${name}`,
      )
    );
  }

  aside(anchor: HTMLElement) {
    const { make } = elements;
    const { panel } = this;
    const rows = panel.shown.aside.map((row) => {
      const name = make("button", { type: "button", className: "graph-link", title: row.id }, make("bdi", {}, row.id));
      name.addEventListener("click", () => panel.select([row.id]));
      const back = parts.button("restore", "Show it in the graph", () => {
        popover.close();
        panel.bringBack(row.id);
      }, "plain small");
      return make("li", {}, name, make("span", { className: "graph-shape" }, row.op || "scope"), back);
    });
    popover.show(anchor, "Set aside", [
      make("h3", {}, "Set aside"),
      make("p", { className: "hint" }, "Nodes with many edges, and those you set aside with X."),
      make("ul", { className: "graph-links graph-box" }, ...rows),
    ]);
  }

  problems(anchor: HTMLElement) {
    const { make } = elements;
    const table = make(
      "table",
      { className: "graph-problems" },
      make("tr", {}, ...["What", "Count", "For example"].map((head) => make("th", { scope: "col" }, head))),
    );
    for (const problem of this.panel.shown.problems) {
      const examples = problem.examples.slice(0, 5).map((example) => {
        const link = make(
          "button",
          { type: "button", className: "graph-link", title: example },
          make("bdi", {}, example),
        );
        link.addEventListener("click", () => this.panel.goTo(example));
        return make("div", {}, link);
      });
      table.append(
        make(
          "tr",
          {},
          make("td", {}, problem.message),
          make("td", { className: "number" }, integer(problem.count)),
          make("td", {}, ...examples),
        ),
      );
    }
    popover.show(anchor, "Problems of this graph", [
      make("h3", {}, "Problems of this graph"),
      make("p", { className: "hint" }, "The readable part is shown."),
      table,
    ]);
  }

  changes(anchor: HTMLElement) {
    const { make } = elements;
    const { answer } = this.panel.comparison;
    if (!answer) return;
    const link = (id: string) => {
      const made = make("button", { type: "button", className: "graph-link", title: id }, make("bdi", {}, id));
      made.addEventListener("click", () => {
        popover.close();
        this.panel.goTo(id);
      });
      return made;
    };
    const part = <Row>(title: string, name: Verdict, rows: readonly Row[], one: (row: Row) => Node) => {
      if (!rows.length) return [];
      const total = Math.max(answer[`${name}_count`], rows.length);
      const more = total > rows.length
        ? [make("li", { className: "graph-none" }, `and ${integer(total - rows.length)} more`)]
        : [];
      return [
        make("h3", { className: `graph-count ${name}` }, `${title} (${integer(total)})`),
        make("ul", { className: "graph-links" }, ...rows.slice(0, 500).map(one), ...more),
      ];
    };
    const content = [
      ...part(
        "Added",
        "added",
        answer.added,
        (id) => make("li", {}, link(id)),
      ),
      ...part(
        "Removed",
        "removed",
        answer.removed,
        (id) => make("li", {}, make("bdi", {}, id)),
      ),
      ...part(
        "Changed",
        "changed",
        answer.changed,
        (row: Change) =>
          make(
            "li",
            { className: "graph-change" },
            link(idOf(row)),
            make(
              "span",
              { className: "graph-shape" },
              `${row.attribute}: ${row.before ?? "none"} → ${row.after ?? "none"}`,
            ),
          ),
      ),
    ];
    popover.show(anchor, "Differences", [
      make(
        "div",
        { className: "graph-box wide" },
        ...(content.length
          ? content
          : [make("p", { className: "graph-none" }, "The two graphs have the same nodes with the same attributes.")]),
      ),
    ]);
  }
}
