/** Joins the Graph panel to the page: the selectors open graphs, what is seen of them goes to the URL. */
import "./help.ts";
import { mount } from "./panel.ts";
import { view } from "../../../web/page/view.ts";

const API = "api/graph";
const idOf = (name: string) => ({ type: "setting", name: name.replace(".", ":") });
const one = (name: string) => view.values(`graph.${name}`)[0] || "";

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

const tell = (values: Record<string, string[]>) =>
  view.update((_: URLSearchParams, set: (name: string, values: string[]) => void) => {
    for (const [name, told] of Object.entries(values)) set(name, told);
  });

const choose = (name: string, value: string) => window.dash_clientside.set_props(idOf(name), { value });

/** What the address asked for, until a graph is open. */
let wished: any = null;

/** Offers functions of the open graph. */
function functions(names: string[]) {
  const data = [
    { value: "", label: "The graph itself" },
    ...names.map((name: string) => ({ value: name, label: name })),
  ];
  window.dash_clientside.set_props(idOf("graph.function"), { data, disabled: !names.length });
}

/** Opens what the selectors say. */
export function open(id: string | null, called: string | null, costs: string | null, compare: string | null) {
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
