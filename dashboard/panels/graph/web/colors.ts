/** How nodes are colored, and the legend that explains it. */
import { durationText, fileSize } from "../../../web/core/numbers.ts";
import { canExpand, type GraphNode, type Scene } from "./scene.ts";
import { elements } from "../../../web/core/dom.ts";
import { format } from "./format.ts";
import type { Cost } from "./messages.generated.ts";
import { settings } from "./settings.generated.ts";
import { type Theme, theme as graphTheme } from "./theme.ts";

export type Mode = typeof settings.color.options[number];
export const MODES: Record<Mode, string> = {
  op: "Op type",
  structure: "Structure",
  device: "Device",
  xla: "XLA cluster",
  time: "Compute time",
  memory: "Memory",
  parameters: "Parameters",
  flops: "FLOPs",
};
const HEAT: readonly Mode[] = ["time", "memory", "parameters", "flops"];
const MOST_ENTRIES = 12;

/** how a node looks */
export interface Paint {
  /** null for the default */
  fill: string | null;
  stripe: string | null;
  /** did not run */
  gray: boolean;
}

export class Colors {
  mode: Mode = settings.color.default;
  /** Time and memory by id, if costs were chosen. */
  costs: Map<string, Cost> | null = null;
  /** Palette numbers by name. */
  places: Map<string | number, number> = new Map();
  /** The largest visible amount. */
  most = 0;
  alike: Map<number, number> = new Map();

  /**
   * Takes in the scene's nodes, so that colors and scale reflect what is visible.
   */
  measure(scene: Scene | null) {
    this.most = 0;
    this.alike = new Map();
    const shown = scene ? scene.nodes.filter((node) => !node.expanded) : [];
    for (const node of shown) {
      this.most = Math.max(this.most, this.amount(node) ?? 0);
      this.alike.set(node.structure, (this.alike.get(node.structure) ?? 0) + 1);
    }
    if (this.mode !== "device" && this.mode !== "xla") this.places = new Map();
    const groups = scene ? scene.nodes.filter(canExpand) : [];
    for (const node of groups) {
      if (node.expanded) this.alike.set(node.structure, (this.alike.get(node.structure) ?? 0) + 1);
    }
    const { mode } = this;
    const names: (string | number)[] = mode === "structure"
      ? groups.map((node) => node.structure)
      : mode === "device" || mode === "xla"
      ? shown.map((node) => node[mode])
      : [];
    for (const name of names) {
      if (name !== "" && !this.places.has(name) && (mode !== "structure" || (this.alike.get(Number(name)) ?? 0) > 1)) {
        this.places.set(name, this.places.size);
      }
    }
  }

  get hot() {
    return HEAT.includes(this.mode);
  }

  /** A node's amount of the quantity shown by color; null if unknown. */
  amount(node: GraphNode): number | null {
    const cost = this.costs?.get(node.id);
    if (this.mode === "time") return cost?.time_ns ?? null;
    if (this.mode === "memory") return cost?.bytes ?? null;
    if (this.mode === "parameters") return node.parameters || null;
    if (this.mode === "flops") return node.flops || null;
    return null;
  }

  of(node: GraphNode, theme: Theme): Paint {
    const stripe = !node.op ? null : theme.stripe(node.hue);
    const ran = !this.costs || this.costs.get(node.id)?.ran;
    if (this.hot) {
      const amount = this.amount(node);
      const unknown = amount === null || ((this.mode === "time" || this.mode === "memory") && !ran);
      // The square root keeps small shares distinguishable from zero.
      return unknown
        ? { fill: theme.gray, stripe: null, gray: true }
        : { fill: theme.ramp(this.most > 0 ? Math.sqrt(amount / this.most) : 0), stripe: null, gray: false };
    }
    if (this.mode === "op") return { fill: null, stripe, gray: !ran };
    const place = this.places.get(this.nameOf(node));
    return {
      fill: place === undefined || (this.mode === "structure" && !canExpand(node)) ? null : theme.tint(place),
      stripe: null,
      gray: !ran,
    };
  }

  /** What nodes of one color have in common, in modes where colors identify it. */
  nameOf(node: GraphNode): string | number {
    const { mode } = this;
    return mode === "structure" ? node.structure : mode === "device" || mode === "xla" ? node[mode] : "";
  }

  words(value: number) {
    return this.mode === "time"
      ? durationText(value, 3)
      : this.mode === "memory"
      ? fileSize(value)
      : this.mode === "flops"
      ? format.flops(value)
      : format.amount(value);
  }

  /** The cost text shown with a node; empty if nothing is known. */
  costText(node: GraphNode): string {
    const amount = this.hot ? this.amount(node) : this.costs?.get(node.id)?.time_ns ?? null;
    if (amount === null || amount === 0) return "";
    return this.hot ? this.words(amount) : durationText(amount, 3);
  }

  /** Draws the legend into its host. */
  legend(host: HTMLElement, theme: Theme, scene: Scene | null) {
    const { make } = elements;
    const swatch = (color: string, label: string) => {
      const mark = make("i", { className: "graph-swatch" });
      mark.style.background = color;
      return make("span", { className: "graph-legend-entry" }, mark, label);
    };
    const shown = scene ? scene.nodes.filter((node) => !node.expanded) : [];
    let entries: Node[] = [];
    if (this.hot) {
      const ramp = make("i", { className: "graph-ramp" });
      ramp.style.background = `linear-gradient(to right, ${
        [0, 0.25, 0.5, 0.75, 1].map((share) => `${theme.ramp(Math.sqrt(share))} ${share * 100}%`).join(", ")
      })`;
      const none = this.mode === "time" || this.mode === "memory"
        ? (this.costs ? "did not run" : "choose costs above")
        : "none or unknown";
      entries = [
        make("span", { className: "graph-legend-entry" }, "0", ramp, this.words(this.most)),
        swatch(theme.gray, none),
      ];
    } else if (this.mode === "op") {
      const there = new Set(shown.filter((node) => node.op).map((node) => node.category));
      entries = graphTheme.CATEGORIES.filter(([key]) => there.has(key)).map(([, title, hue]) =>
        swatch(theme.stripe(hue), title)
      );
    } else if (this.mode === "structure") {
      entries = [
        make(
          "span",
          { className: "graph-legend-entry" },
          this.places.size
            ? "Scopes of one color have the same structure"
            : "No two visible scopes have the same structure",
        ),
      ];
    } else {
      entries = [...this.places].map(([name, place]) => swatch(theme.tint(place), String(name)));
      if (!entries.length) {
        entries = [
          make(
            "span",
            { className: "graph-legend-entry" },
            this.mode === "device" ? "No node names a device" : "No node is in an XLA cluster",
          ),
        ];
      } else if (shown.some((node) => !this.nameOf(node))) entries.push(swatch(theme.node, "none"));
    }
    if (entries.length > MOST_ENTRIES) {
      entries = [
        ...entries.slice(0, MOST_ENTRIES - 1),
        make("span", { className: "graph-legend-entry" }, `and ${entries.length - MOST_ENTRIES + 1} more`),
      ];
    }
    host.replaceChildren(...entries);
    host.hidden = !entries.length || !shown.length;
  }
}
