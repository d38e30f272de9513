/** Connects the Graph panel to the page: the selectors open graphs, and their visible part goes to the URL. */
import { noUpdate, setProps, settingId } from "../../../web/core/dash.ts";
import { mount, panel } from "./panel.ts";
import type { Wish } from "./panel_base.ts";
import { settings } from "./settings.generated.ts";
import { view } from "../../../web/page/view.ts";

const API = "api/graph";

/** The initial view requested by the address. */
function initialView(): Wish {
  const [x, y, zoom] = view.read(settings.view).split(",").map(Number);
  return {
    expanded: [...view.read(settings.expanded)],
    aside: [...view.read(settings.aside)],
    back: [...view.read(settings.back)],
    node: view.read(settings.node),
    // Only if the link has one: otherwise, requested costs bring their own.
    color: view.params().get(settings.color.name) ?? "",
    search: view.read(settings.search),
    regex: view.read(settings.regex),
    view: [x, y, zoom].every(Number.isFinite) && zoom > 0 ? { x, y, zoom } : null,
  };
}

const tell = (values: Record<string, string[]>) =>
  view.update((_params, set) => {
    for (const [name, reported] of Object.entries(values)) set(name, reported);
  });

const choose = (name: string, value: string) => setProps(settingId(name), { value });

/** The initial view requested by the address, until a graph is open. */
let wished: Wish | null = null;

/** Offers the functions of the open graph. */
function functions(names: string[]) {
  const data = [
    { value: "", label: "The graph itself" },
    ...names.map((name) => ({ value: name, label: name })),
  ];
  setProps(settingId(settings.function.name), { data, disabled: !names.length });
}

/** Opens what the selectors specify. */
export function open(id: string | null, called: string | null, costs: string | null, compare: string | null) {
  const host = document.getElementById("graph-host");
  const tools = document.getElementById("graph-tools");
  if (!host || !tools) return noUpdate();
  const fresh = host.childElementCount === 0;
  const shown = mount(host, tools, { api: API, tell, choose, functions });
  const other = !fresh && !wished && shown.state.id !== (id || "");
  // A function of one graph does not exist in another.
  if (other && called) choose("graph.function", "");
  if (fresh) wished = initialView();
  shown.open({ id: id || "", function: other ? "" : called || "", costs: costs || "", compare: compare || "" }, wished);
  if (id) wished = null;
  return id;
}

/** Handles a change in the list of graphs. */
export function listed() {
  const shown = panel();
  if (shown?.root.isConnected) void shown.openAgain();
  return noUpdate();
}
