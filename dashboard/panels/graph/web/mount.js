/** Joins the Graph panel to the page: the selectors open graphs, what is seen of them goes to the URL. */
import "./help.js";
import { GraphPanel, mount } from "./panel.js";
import { menus } from "./tools.js";
import { structure } from "./panel_structure.js";
import { walk } from "./selection_navigation.js";
import { view } from "../../../web/page/view.js";

for (const methods of [menus, structure, walk]) Object.defineProperties(GraphPanel.prototype, Object.getOwnPropertyDescriptors(methods));

const API = "api/graph";
const idOf = (/** @type {string} */ name) => ({ type: "setting", name: name.replace(".", ":") });
const one = (/** @type {string} */ name) => view.values(`graph.${name}`)[0] || "";

/** What the address asks for. */
function wish() {
  const [x, y, zoom] = one("view").split(",").map(Number);
  return {
    expanded: view.values("graph.expanded"),
    aside: view.values("graph.aside"),
    back: view.values("graph.back"),
    node: one("node"),
    // Only where the link has one: costs that it asks for bring theirs otherwise.
    color: view.params().get("graph.color") ?? "",
    search: one("search"),
    regex: one("regex") === "on",
    view: [x, y, zoom].every(Number.isFinite) && zoom > 0 ? { x, y, zoom } : null,
  };
}

const tell = (/** @type {Record<string, string[]>} */ values) =>
  view.update((/** @type {URLSearchParams} */ _, /** @type {(name: string, values: string[]) => void} */ set) => {
    for (const [name, told] of Object.entries(values)) set(name, told);
  });

const choose = (/** @type {string} */ name, /** @type {string} */ value) => window.dash_clientside.set_props(idOf(name), { value });

/** What the address asked for, until a graph is open. @type {any} */
let wished = null;

/** Offers functions of the open graph. @param {string[]} names */
function functions(names) {
  const data = [{ value: "", label: "The graph itself" }, ...names.map((/** @type {string} */ name) => ({ value: name, label: name }))];
  window.dash_clientside.set_props(idOf("graph.function"), { data, disabled: !names.length });
}

/**
 * Opens what the selectors say.
 * @param {string | null} id @param {string | null} called @param {string | null} costs @param {string | null} compare
 */
export function open(id, called, costs, compare) {
  const host = document.getElementById("graph-host");
  const tools = document.getElementById("graph-tools");
  if (!host || !tools) return window.dash_clientside.no_update;
  const fresh = host.childElementCount === 0;
  const panel = mount(host, tools, { api: API, tell, choose, functions });
  const other = !fresh && !wished && panel.state.id !== (id || "");
  // A function of one graph is none of another.
  if (other && called) choose("graph.function", "");
  if (fresh) wished = wish();
  panel.open({ id: id || "", function: other ? "" : called || "", costs: costs || "", compare: compare || "" }, wished);
  if (id) wished = null;
  return id;
}
