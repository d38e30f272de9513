/** Joins the Timeline panel to the page: the trace selector opens traces, what is visible goes to the URL. */
import { mount } from "./panel.ts";
import { view } from "../../../web/page/view.ts";

/** What the address asks for. */
function wish() {
  const one = (name: string) => view.values(`timeline.${name}`)[0] || "";
  const range = one("range").split(":").map(Number);
  const [start, end] = range.length === 2 && range.every(Number.isFinite) ? range : [];
  return {
    start,
    end,
    slice: /^\d+$/.test(one("slice")) ? Number(one("slice")) : undefined,
    search: one("search"),
    match: one("match") || "text",
    colour: one("colour"),
    compare: view.values("timeline.compare"),
    align: one("align"),
    overlays: view.values("timeline.overlay"),
    lanes: one("lanes"),
  };
}

export function open(trace: string | null) {
  const host = document.getElementById("timeline-host");
  const tools = document.getElementById("timeline-tools");
  if (!host || !tools) return window.dash_clientside.no_update;
  // What comes late for a panel that was left says nothing about the next one.
  const tell = (values: Record<string, string[]>) =>
    host.isConnected &&
    view.update((_: URLSearchParams, set: (name: string, values: string[]) => void) => {
      for (const [name, told] of Object.entries(values)) set(name, told);
    });
  const fresh = host.childElementCount === 0;
  const panel = mount(host, tools, { api: "api/timeline", perfetto: host.dataset.perfetto || "", tell });
  const wished = fresh ? wish() : {};
  if (!fresh && panel.wanted !== trace) {
    tell({ "timeline.range": [""], "timeline.slice": [""], "timeline.compare": [] });
    panel.canvas.focus();
  }
  panel.open(trace, wished);
  return trace;
}
