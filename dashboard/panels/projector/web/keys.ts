// @ts-nocheck
/** The keys of the Projector panel; the sheet of projector_help.js lists them. */
import { METHODS } from "./settings.ts";
import { shortcuts } from "../../../web/page/shortcuts.ts";

/** @param panel of projector_panel.js */
export function attach(panel: any) {
  const abort = new AbortController();
  const projections = Object.entries(METHODS).map(([name, method]) => [method.key, () => panel.setProjection(name)]);
  /** What answers false is left to the page. */
  const acts: Record<string, (event: KeyboardEvent) => any> = {
    ...Object.fromEntries(projections),
    "/": () => panel.search.focus(),
    escape:
      () => (panel.tools.tool !== "pointer" && !panel.selection.length ? panel.tools.use("pointer") : panel.clear()),
    i: () => panel.isolate(),
    h: () => panel.hide(),
    a: () => panel.showEverything(),
    f: () => panel.fitCloud(),
    d: () => panel.setDimensions(panel.state.dimensions === 3 ? 2 : 3),
    b: () => panel.tools.use("box"),
    l: () => panel.tools.use("lasso"),
    v: () => panel.tools.tool !== "pointer" && panel.tools.use("pointer"),
    m: () => panel.table.flip(),
    n: () => panel.found?.length && panel.search.step(1),
    " ": () => space(panel),
  };
  const digits = new Set(projections.map(([key]) => key));
  document.addEventListener("keydown", (event) => {
    if (!panel.root.isConnected || event.metaKey || event.altKey || event.ctrlKey || event.defaultPrevented) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key.toLowerCase();
    // A digit is a projection before there are points too, and no tab.
    if (!panel.dataset && !digits.has(key)) return;
    const active = document.activeElement;
    if (document.querySelector("dialog[open], .beside-box") || shortcuts.typing()) return;
    const inside = !active || active === document.body || panel.root.parentElement.contains(active);
    if (!inside) return;
    // A button that has the focus is pressed by Space.
    if (key === " " && active instanceof HTMLElement && active.matches("button, summary, input")) return;
    if (!acts[key] || acts[key](event) === false) return;
    event.preventDefault();
  }, { signal: abort.signal });
  return { close: () => abort.abort() };
}

/** Pauses or plays: a projection that runs, or the steps. */
function space(panel: any) {
  const running = ["running", "queued", "paused"].includes(panel.job?.frame?.state);
  if (METHODS[panel.state.projection].slow && (running || panel.steps.steps.length < 2)) return void panel.pauseOrRun();
  if (panel.steps.steps.length > 1) return void panel.steps.flip();
  return false;
}
