/** The commands that are available everywhere on the page. */
import * as capture from "./capture.ts";
import * as layout from "./layout.ts";
import { toggleKeysSheet } from "./keys_sheet.ts";
import { live } from "./live.ts";
import * as palette from "./palette.ts";
import { openNth, panelInUse } from "./tabs.ts";
import { theme } from "./theme.ts";
import * as openTrace from "./open_trace.ts";
import { view } from "./view.ts";
import { settings as runSettings } from "../../runs/web/settings.generated.ts";
import { runs } from "../../runs/web/state.ts";
import { type Command, panelIsFoundBy, register } from "../core/commands.ts";

const isPaused = () => document.getElementById("live")?.dataset.state === "paused";
const isGrouped = () => view.read(runSettings.group).length > 0;
const group = (specs: string[]) => view.write(runSettings.group, specs);

function search(): unknown {
  const field = document.querySelector<HTMLInputElement>("#panel .pattern input") ??
    document.querySelector<HTMLInputElement>("#runs-search input");
  if (!field || (field.closest("#sidebar") && !layout.showSidebar())) return false;
  field.focus();
  field.select();
}

function openCapture(): void {
  const anchor = document.getElementById("palette-open");
  if (anchor) void capture.open(anchor);
}

export const COMMANDS: readonly Command[] = [
  {
    id: "page.open_tab",
    title: "Open a tab, counted from the left; Ctrl+K finds all",
    keys: ["1", "2", "3", "4", "5", "6", "7", "8", "9"],
    keysShown: "1 … 9",
    act: (event) => openNth(Number(event.key)),
  },
  { id: "page.search", title: "Filter tags, or search runs on tabs without tags", keys: ["/"], act: search },
  {
    id: "page.keys",
    title: "Keyboard and mouse shortcuts",
    keys: ["?"],
    palette: "keyboard",
    inDialogs: true,
    act: toggleKeysSheet,
  },
  { id: "page.switch_theme", title: "Toggle light/dark theme", keys: ["t"], palette: "sun", act: () => theme.toggle() },
  {
    id: "page.toggle_runs",
    title: "Hide or show the runs",
    keys: ["["],
    palette: "sidebar",
    act: () => layout.toggleSidebar(),
  },
  {
    id: "page.find",
    title: "Find runs, tags and commands",
    keys: ["Ctrl k"],
    inDialogs: true,
    act: () => palette.toggle(),
  },
  {
    id: "page.escape",
    title: "Close the dialog; clear the selection",
    keys: ["Escape"],
    when: () => runs.view().selected.size > 0,
    act: () => runs.select([]),
  },
  {
    id: "page.group_by_seeds",
    title: "Group runs by seeds",
    palette: "group",
    when: () => !isGrouped(),
    act: () => group(["seeds"]),
  },
  { id: "page.ungroup", title: "Do not group runs", palette: "group", when: isGrouped, act: () => group([]) },
  {
    id: "page.show_all",
    title: "Show all runs",
    palette: "check",
    act: () => runs.switchAll(true, [...runs.rows.values()]),
  },
  {
    id: "page.hide_all",
    title: "Hide all runs",
    palette: "close",
    act: () => runs.switchAll(false, [...runs.rows.values()]),
  },
  { id: "page.clear_selection", title: "Clear the selection of runs", palette: "reset", act: () => runs.select([]) },
  {
    id: "page.pause",
    title: "Pause live updates",
    palette: "pause",
    when: () => !isPaused(),
    act: () => live.togglePause(),
  },
  { id: "page.resume", title: "Resume live updates", palette: "play", when: isPaused, act: () => live.togglePause() },
  { id: "page.copy_link", title: "Copy a link to this view", palette: "link", act: () => layout.copyLink() },
  { id: "page.open_trace", title: "Open a trace from a file", palette: "open", act: () => openTrace.ask() },
  { id: "page.capture", title: "Capture a running program", palette: "capture", act: openCapture },
  { id: "page.reset", title: "Reset settings", palette: "reset", act: () => view.reset() },
];

panelIsFoundBy(panelInUse);
register({ title: "Everywhere", commands: COMMANDS });
