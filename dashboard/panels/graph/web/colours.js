/** What nodes are coloured by, and the legend that says so. */
import { canExpand } from "./scene.js";
import { elements } from "../../../web/core/dom.js";
import { format } from "./data.js";
import { theme as graphTheme } from "./theme.js";

export const MODES = { op: "Op type", structure: "Structure", device: "Device", xla: "XLA cluster", time: "Compute time", memory: "Memory", parameters: "Parameters", flops: "FLOPs" };
const HEAT = ["time", "memory", "parameters", "flops"];
const MOST_ENTRIES = 12;

/**
 * @typedef {object} Paint how a node looks
 * @property {string | null} fill null for the usual
 * @property {string | null} stripe
 * @property {boolean} grey did not run
 */

export class Colours {
  constructor() {
    /** @type {keyof typeof MODES} */
    this.mode = "op";
    /** Time and memory by id, where costs were chosen. @type {Map<string, {time_ns: number | null, bytes: number | null, ran: boolean}> | null} */
    this.costs = null;
    /** Numbers of the palette by name. @type {Map<string | number, number>} */
    this.places = new Map();
    /** The largest of what is visible. */
    this.most = 0;
    /** @type {Map<number, number>} */
    this.alike = new Map();
  }

  /** Takes in what the scene has, so that colours and scale are of what is visible. @param {any} scene of graph_scene.js */
  measure(scene) {
    this.most = 0;
    this.alike = new Map();
    const shown = scene ? scene.nodes.filter((/** @type {any} */ node) => !node.expanded) : [];
    for (const node of shown) {
      this.most = Math.max(this.most, this.amount(node) ?? 0);
      this.alike.set(node.structure, (this.alike.get(node.structure) ?? 0) + 1);
    }
    if (this.mode !== "device" && this.mode !== "xla") this.places = new Map();
    const groups = scene ? scene.nodes.filter(canExpand) : [];
    for (const node of groups) if (node.expanded) this.alike.set(node.structure, (this.alike.get(node.structure) ?? 0) + 1);
    const names = this.mode === "structure" ? groups.map((/** @type {any} */ node) => node.structure) : this.mode === "device" || this.mode === "xla" ? shown.map((/** @type {any} */ node) => node[this.mode]) : [];
    for (const name of names) if (name !== "" && !this.places.has(name) && (this.mode !== "structure" || (this.alike.get(name) ?? 0) > 1)) this.places.set(name, this.places.size);
  }

  get hot() {
    return HEAT.includes(this.mode);
  }

  /** What a node has of what colours mean; null where that is not known. @param {any} node @returns {number | null} */
  amount(node) {
    const cost = this.costs?.get(node.id);
    if (this.mode === "time") return cost?.time_ns ?? null;
    if (this.mode === "memory") return cost?.bytes ?? null;
    if (this.mode === "parameters") return node.parameters || null;
    if (this.mode === "flops") return node.flops || null;
    return null;
  }

  /** @param {any} node @param {any} theme @returns {Paint} */
  of(node, theme) {
    const stripe = !node.op ? null : theme.stripe(node.hue);
    const ran = !this.costs || this.costs.get(node.id)?.ran;
    if (this.hot) {
      const amount = this.amount(node);
      const unknown = amount === null || ((this.mode === "time" || this.mode === "memory") && !ran);
      // The square root keeps small shares apart from nothing.
      return unknown ? { fill: theme.grey, stripe: null, grey: true } : { fill: theme.ramp(this.most > 0 ? Math.sqrt(amount / this.most) : 0), stripe: null, grey: false };
    }
    if (this.mode === "op") return { fill: null, stripe, grey: !ran };
    const name = this.mode === "structure" ? node.structure : node[this.mode];
    const place = this.places.get(name);
    return { fill: place === undefined || (this.mode === "structure" && !canExpand(node)) ? null : theme.tint(place), stripe: null, grey: !ran };
  }

  /** @param {number} value */
  words(value) {
    return this.mode === "time" ? format.duration(value) : this.mode === "memory" ? format.bytes(value) : this.mode === "flops" ? format.flops(value) : format.amount(value);
  }

  /** What stands beside the costs of a node; empty where nothing is known. @param {any} node @returns {string} */
  costText(node) {
    const amount = this.hot ? this.amount(node) : this.costs?.get(node.id)?.time_ns ?? null;
    if (amount === null || amount === 0) return "";
    return this.hot ? this.words(amount) : format.duration(amount);
  }

  /** Draws the legend into its place. @param {HTMLElement} host @param {any} theme @param {any} scene */
  legend(host, theme, scene) {
    const { make } = elements;
    const swatch = (/** @type {string} */ colour, /** @type {string} */ label) => {
      const mark = make("i", { className: "graph-swatch" });
      mark.style.background = colour;
      return make("span", { className: "graph-legend-entry" }, mark, label);
    };
    const shown = scene ? scene.nodes.filter((/** @type {any} */ node) => !node.expanded) : [];
    /** @type {Node[]} */
    let entries = [];
    if (this.hot) {
      const ramp = make("i", { className: "graph-ramp" });
      ramp.style.background = `linear-gradient(to right, ${[0, 0.25, 0.5, 0.75, 1].map((share) => `${theme.ramp(Math.sqrt(share))} ${share * 100}%`).join(", ")})`;
      const none = this.mode === "time" || this.mode === "memory" ? (this.costs ? "did not run" : "choose costs above") : "none, or not known";
      entries = [make("span", { className: "graph-legend-entry" }, "0", ramp, this.words(this.most)), swatch(theme.grey, none)];
    } else if (this.mode === "op") {
      const there = new Set(shown.filter((/** @type {any} */ node) => node.op).map((/** @type {any} */ node) => node.category));
      entries = graphTheme.CATEGORIES.filter(([key]) => there.has(key)).map(([, title, hue]) => swatch(theme.stripe(hue), title));
    } else if (this.mode === "structure") {
      entries = [make("span", { className: "graph-legend-entry" }, this.places.size ? "Scopes of one colour are built alike" : "No two visible scopes are built alike")];
    } else {
      entries = [...this.places].map(([name, place]) => swatch(theme.tint(place), String(name)));
      if (!entries.length) entries = [make("span", { className: "graph-legend-entry" }, this.mode === "device" ? "No node names a device" : "No node is in an XLA cluster")];
      else if (shown.some((/** @type {any} */ node) => !node[this.mode])) entries.push(swatch(theme.node, "none"));
    }
    if (entries.length > MOST_ENTRIES) entries = [...entries.slice(0, MOST_ENTRIES - 1), make("span", { className: "graph-legend-entry" }, `and ${entries.length - MOST_ENTRIES + 1} more`)];
    host.replaceChildren(...entries);
    host.hidden = !entries.length || !shown.length;
  }
}
