/** Connects the Timeline panel to the page: the trace selector opens traces, and the visible range goes to the URL. */
import { noUpdate } from "../../../web/core/dash.ts";
import { view } from "../../../web/page/view.ts";
import { mount, panel } from "./panel.ts";
import type { Wish } from "./panel_base.ts";
import { settings } from "./settings.generated.ts";

/** The initial view requested by the address. */
function initialView(): Wish {
  const range = view.read(settings.range).split(":").map(Number);
  const [start, end] = range.length === 2 && range.every(Number.isFinite) ? range : [];
  const slice = view.read(settings.slice);
  return {
    start,
    end,
    area: view.read(settings.area),
    slice: /^\d+$/.test(slice) ? Number(slice) : undefined,
    search: view.read(settings.search),
    match: view.read(settings.match),
    color: view.read(settings.color),
    compare: [...view.read(settings.compare)],
    align: view.read(settings.align),
    overlays: [...view.read(settings.overlay)],
    lanes: view.read(settings.lanes),
  };
}

export function open(trace: string | null) {
  const host = document.getElementById("timeline-host");
  const tools = document.getElementById("timeline-tools");
  if (!host || !tools) return noUpdate();
  // A late update from a panel that was left must not affect the next one.
  const tell = (values: Record<string, string[]>) =>
    host.isConnected &&
    view.update((_params, set) => {
      for (const [name, reported] of Object.entries(values)) set(name, reported);
    });
  const fresh = host.childElementCount === 0;
  const shown = mount(host, tools, { api: "api/timeline", perfetto: host.dataset.perfetto || "", tell });
  const wished = fresh ? initialView() : {};
  if (!fresh && shown.wanted !== trace) {
    tell({ "timeline.range": [""], "timeline.area": [""], "timeline.slice": [""], "timeline.compare": [] });
    shown.canvas.focus();
  }
  shown.open(trace, wished);
  return trace;
}

/** Handles a change in the list of traces. */
export function listed() {
  const shown = panel();
  if (shown?.root.isConnected) void shown.openAgain();
  return noUpdate();
}
