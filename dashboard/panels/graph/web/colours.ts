/** What nodes are coloured by, and the legend that says so. */
import { canExpand } from "./scene.ts";
import { elements } from "../../../web/core/dom.ts";
import { format } from "./data.ts";
import { theme as graphTheme } from "./theme.ts";

export const MODES = {
  op: "Op type",
  structure: "Structure",
  device: "Device",
  xla: "XLA cluster",
  time: "Compute time",
  memory: "Memory",
  parameters: "Parameters",
  flops: "FLOPs",
};
const HEAT = ["time", "memory", "parameters", "flops"];
const MOST_ENTRIES = 12;

/** how a node looks */
export interface Paint {
  /** null for the usual */
  fill: string | null;
  stripe: string | null;
  /** did not run */
  grey: boolean;
}

export class Colours {
  mode: keyof typeof MODES = "op";
  /** Time and memory by id, where costs were chosen. */
  costs: Map<string, { time_ns: number | null; bytes: number | null; ran: boolean }> | null = null;
  /** Numbers of the palette by name. */
  places: Map<string | number, number> = new Map();
  /** The largest of what is visible. */
  most = 0;
  alike: Map<number, number> = new Map();

  /**
   * Takes in what the scene has, so that colours and scale are of what is visible.
   * @param scene of graph_scene.js
   */
  measure(scene: any) {
    this.most = 0;
    this.alike = new Map();
    const shown = scene ? scene.nodes.filter((node: any) => !node.expanded) : [];
    for (const node of shown) {
      this.most = Math.max(this.most, this.amount(node) ?? 0);
      this.alike.set(node.structure, (this.alike.get(node.structure) ?? 0) + 1);
    }
    if (this.mode !== "device" && this.mode !== "xla") this.places = new Map();
    const groups = scene ? scene.nodes.filter(canExpand) : [];
    for (const node of groups) {
      if (node.expanded) this.alike.set(node.structure, (this.alike.get(node.structure) ?? 0) + 1);
    }
    const names = this.mode === "structure"
      ? groups.map((node: any) => node.structure)
      : this.mode === "device" || this.mode === "xla"
      ? shown.map((node: any) => node[this.mode])
      : [];
    for (const name of names) {
      if (name !== "" && !this.places.has(name) && (this.mode !== "structure" || (this.alike.get(name) ?? 0) > 1)) {
        this.places.set(name, this.places.size);
      }
    }
  }

  get hot() {
    return HEAT.includes(this.mode);
  }

  /** What a node has of what colours mean; null where that is not known. */
  amount(node: any): number | null {
    const cost = this.costs?.get(node.id);
    if (this.mode === "time") return cost?.time_ns ?? null;
    if (this.mode === "memory") return cost?.bytes ?? null;
    if (this.mode === "parameters") return node.parameters || null;
    if (this.mode === "flops") return node.flops || null;
    return null;
  }

  of(node: any, theme: any): Paint {
    const stripe = !node.op ? null : theme.stripe(node.hue);
    const ran = !this.costs || this.costs.get(node.id)?.ran;
    if (this.hot) {
      const amount = this.amount(node);
      const unknown = amount === null || ((this.mode === "time" || this.mode === "memory") && !ran);
      // The square root keeps small shares apart from nothing.
      return unknown
        ? { fill: theme.grey, stripe: null, grey: true }
        : { fill: theme.ramp(this.most > 0 ? Math.sqrt(amount / this.most) : 0), stripe: null, grey: false };
    }
    if (this.mode === "op") return { fill: null, stripe, grey: !ran };
    const name = this.mode === "structure" ? node.structure : node[this.mode];
    const place = this.places.get(name);
    return {
      fill: place === undefined || (this.mode === "structure" && !canExpand(node)) ? null : theme.tint(place),
      stripe: null,
      grey: !ran,
    };
  }

  words(value: number) {
    return this.mode === "time"
      ? format.duration(value)
      : this.mode === "memory"
      ? format.bytes(value)
      : this.mode === "flops"
      ? format.flops(value)
      : format.amount(value);
  }

  /** What stands beside the costs of a node; empty where nothing is known. */
  costText(node: any): string {
    const amount = this.hot ? this.amount(node) : this.costs?.get(node.id)?.time_ns ?? null;
    if (amount === null || amount === 0) return "";
    return this.hot ? this.words(amount) : format.duration(amount);
  }

  /** Draws the legend into its place. */
  legend(host: HTMLElement, theme: any, scene: any) {
    const { make } = elements;
    const swatch = (colour: string, label: string) => {
      const mark = make("i", { className: "graph-swatch" });
      mark.style.background = colour;
      return make("span", { className: "graph-legend-entry" }, mark, label);
    };
    const shown = scene ? scene.nodes.filter((node: any) => !node.expanded) : [];
    let entries: Node[] = [];
    if (this.hot) {
      const ramp = make("i", { className: "graph-ramp" });
      ramp.style.background = `linear-gradient(to right, ${
        [0, 0.25, 0.5, 0.75, 1].map((share) => `${theme.ramp(Math.sqrt(share))} ${share * 100}%`).join(", ")
      })`;
      const none = this.mode === "time" || this.mode === "memory"
        ? (this.costs ? "did not run" : "choose costs above")
        : "none, or not known";
      entries = [
        make("span", { className: "graph-legend-entry" }, "0", ramp, this.words(this.most)),
        swatch(theme.grey, none),
      ];
    } else if (this.mode === "op") {
      const there = new Set(shown.filter((node: any) => node.op).map((node: any) => node.category));
      entries = graphTheme.CATEGORIES.filter(([key]) => there.has(key)).map(([, title, hue]) =>
        swatch(theme.stripe(hue), title)
      );
    } else if (this.mode === "structure") {
      entries = [
        make(
          "span",
          { className: "graph-legend-entry" },
          this.places.size ? "Scopes of one colour are built alike" : "No two visible scopes are built alike",
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
      } else if (shown.some((node: any) => !node[this.mode])) entries.push(swatch(theme.node, "none"));
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
