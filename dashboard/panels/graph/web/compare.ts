/** Differences from another graph: which nodes were added or changed, and where. */
import { messageOf } from "../../../web/core/request.ts";
import type { Change, Comparison as Answer } from "./messages.generated.ts";
import type { GraphPanel } from "./panel.ts";
import type { Scene } from "./scene.ts";

export type Verdict = "added" | "removed" | "changed";

/** The node that a comparison row refers to. */
export const idOf = (row: string | Change): string => (typeof row === "string" ? row : row.node);

export class Comparison {
  panel;
  answer: Answer | null = null;
  /** By visible node. */
  verdicts: Map<string, Verdict> = new Map();

  constructor(panel: GraphPanel) {
    this.panel = panel;
  }

  reset() {
    this.answer = null;
    this.verdicts = new Map();
  }

  async load() {
    const { panel } = this;
    this.reset();
    const { state } = panel;
    const { id, compare, function: called } = state;
    const late = () => id !== state.id || compare !== state.compare || called !== state.function;
    if (compare) {
      try {
        // The other graph is the earlier state; the one shown is the result.
        const answer = await panel.api.ask<Answer>("compare", { id: [compare, id], function: called });
        if (late()) return;
        this.answer = answer;
      } catch (error) {
        if (late()) return;
        panel.notify(messageOf(error));
      }
    }
    this.judge();
    panel.paintAround();
  }

  /** Finds the visible nodes that represent the differences. */
  judge() {
    this.verdicts = new Map();
    const { scene } = this.panel;
    if (!this.answer || !scene) return;
    for (const name of (["changed", "added"] as const)) {
      for (const row of this.answer[name]) {
        const node = scene.standsFor(idOf(row));
        if (!node || node.expanded) continue;
        const whole = node.id === idOf(row) || scene.hosts.get(idOf(row)) === node;
        this.verdicts.set(node.id, whole && name === "added" && node.kind === "op" ? "added" : "changed");
      }
    }
    this.markWholes(this.answer.added, scene);
    // Removed nodes no longer exist; the scope that contained them has changed.
    for (const row of this.answer.removed) {
      const node = scene.standsFor(idOf(row));
      if (node && !this.verdicts.has(node.id)) this.verdicts.set(node.id, node.expanded ? "removed" : "changed");
    }
  }

  /** Marks a closed group as added if everything in it is new. */
  markWholes(rows: readonly string[], scene: Scene) {
    const added: Map<string, number> = new Map();
    for (const id of rows) {
      const node = scene.standsFor(id);
      if (node) added.set(node.id, (added.get(node.id) ?? 0) + 1);
    }
    for (const [id, count] of added) {
      if (count >= (scene.byId.get(id)?.count ?? Infinity)) this.verdicts.set(id, "added");
    }
  }
}
