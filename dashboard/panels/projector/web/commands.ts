/** The commands of the Projector panel and their keys. */
import { type Command, tip } from "../../../web/core/commands.ts";
import { METHODS } from "./knobs.ts";
import type { ProjectorPanel } from "./panel.ts";
import { settings } from "./settings.generated.ts";

const KEYS = {
  search: "/",
  next: "n",
  isolate: "i",
  hide: "h",
  all: "a",
  fit: "f",
  dimensions: "d",
  box: "b",
  lasso: "l",
  pointer: "v",
  table: "m",
  run: " ",
  clear: "Escape",
};

/** The title of a button, with the key that does the same. */
export const hint = (title: string, key: keyof typeof KEYS): string => tip({ title, keys: [KEYS[key]] });

/** Whether keys are meant for the panel, not for a box beside a control or another part of the page. */
function listens({ root }: ProjectorPanel): boolean {
  const { activeElement } = document;
  if (!root.isConnected || document.querySelector(".beside-box")) return false;
  return !activeElement || activeElement === document.body || Boolean(root.closest(".panel")?.contains(activeElement));
}

/** Pauses or plays a running projection, or the steps. */
function pauseOrPlay(panel: ProjectorPanel): void | false {
  const { steps, job, state } = panel;
  const running = ["running", "queued", "paused"].includes(job?.frame?.state ?? "");
  if (METHODS[state.projection].slow && (running || steps.steps.length < 2)) void panel.pauseOrRun();
  else if (steps.steps.length > 1) steps.flip();
  else return false;
}

/** @param shown the panel on the page */
export function commandsOf(shown: () => ProjectorPanel | null): Command[] {
  const projections = settings.projection.options.map((name) => [METHODS[name].key, name] as const);
  const byKey = new Map(projections);

  /** @param how `always`: even before there are points */
  const command = (
    id: string,
    title: string,
    keys: readonly string[],
    act: (panel: ProjectorPanel, event: KeyboardEvent) => unknown,
    { always = false, keysShown }: { always?: boolean; keysShown?: string } = {},
  ): Command => ({
    id: `projector.${id}`,
    title,
    keys,
    keysShown,
    act(event) {
      const panel = shown();
      return panel && (always || panel.dataset) && listens(panel) ? act(panel, event) : false;
    },
  });
  const gesture = (id: string, title: string, gestures: readonly string[], keys: readonly string[] = []): Command => ({
    id: `projector.${id}`,
    title,
    gestures,
    keys,
  });

  return [
    gesture("drag", "Rotate in 3-D, pan in 2-D", ["drag"]),
    gesture("move", "Pan in 3-D", ["right drag", "Shift drag"]),
    gesture("zoom", "Zoom at the pointer", ["wheel"], ["+", "-"]),
    gesture("select_point", "Select a point; with Shift add to the selection", ["click"]),
    command("select_box", "Select with a box; Shift adds, Alt removes", [KEYS.box], ({ tools }) => tools.use("box")),
    command(
      "select_lasso",
      "Select with a lasso; Shift adds, Alt removes",
      [KEYS.lasso],
      ({ tools }) => tools.use("lasso"),
    ),
    command(
      "use_pointer",
      "Back to the move tool",
      [KEYS.pointer],
      ({ tools }) => tools.tool !== "pointer" && tools.use("pointer"),
    ),
    command(
      "isolate_selection",
      "Isolate the selection, or a point with its neighbors",
      [KEYS.isolate],
      (panel) => panel.isolate(),
    ),
    command("hide_selection", "Hide the selection", [KEYS.hide], (panel) => panel.hide()),
    command("show_all", "Show all", [KEYS.all], (panel) => panel.showEverything()),
    command("fit", "Fit the selection, or everything", [KEYS.fit], (panel) => panel.fitCloud()),
    // Even before there are points, a digit selects a projection and not a tab.
    command(
      "choose_projection",
      "PCA, t-SNE, UMAP, custom axes, random",
      [...byKey.keys()],
      (panel, { key }) => panel.setProjection(byKey.get(key) ?? panel.state.projection),
      { always: true, keysShown: "1 … 5" },
    ),
    command(
      "change_dimensions",
      "2-D or 3-D",
      [KEYS.dimensions],
      (panel) => panel.setDimensions(panel.state.dimensions === 3 ? 2 : 3),
    ),
    command(
      "pause",
      "Pause or resume a projection; play the steps",
      [KEYS.run],
      // Space presses a focused button.
      (panel) => document.activeElement?.matches("button, summary, input") ? false : pauseOrPlay(panel),
    ),
    command("flip_table", "Show the metadata table", [KEYS.table], ({ table }) => table.flip()),
    command(
      "search",
      "Search; there, Enter and Shift+Enter step through matches",
      [KEYS.search],
      ({ search }) => search.focus(),
    ),
    command("find_next", "Next match", [KEYS.next], ({ search }) => search.step(1)),
    command(
      "clear",
      "Clear the search, the selection, what is hidden",
      [KEYS.clear],
      (panel) => {
        const { tools, selection } = panel;
        return tools.tool !== "pointer" && !selection.length ? tools.use("pointer") : panel.clear();
      },
    ),
    gesture(
      "flip_category",
      "In the legend: show or hide; with Shift only this one, with Alt select",
      ["click"],
    ),
  ];
}
