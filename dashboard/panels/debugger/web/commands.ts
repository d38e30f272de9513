/** The keyboard commands of the Debugger. */
import type { Act, Command, Group } from "../../../web/core/commands.ts";
import { view } from "../../../web/page/view.ts";
import { openPage } from "./links.ts";
import type { DebuggerPanel } from "./panel.ts";
import { settings } from "./settings.generated.ts";

type Page = (typeof settings.view.options)[number];

/** Returns the commands of a panel that may not exist yet. */
export function groupsOf(panel: () => DebuggerPanel | null): Group[] {
  const isOn = (page: Page) => () => panel() !== null && view.read(settings.view) === page;
  const on = (
    page: Page,
    act: (of: DebuggerPanel, event: KeyboardEvent) => unknown,
  ): Pick<Command, "act" | "when"> => ({
    when: isOn(page),
    act: ((event) => {
      const open = panel();
      return open ? act(open, event) : false;
    }) as Act,
  });
  const pages: [Page, string, string][] = [
    ["alerts", "Shift a", "Alerts"],
    ["map", "Shift m", "Health map"],
    ["execution", "Shift e", "Execution"],
    ["source", "Shift s", "Source"],
    ["compare", "Shift c", "Compare"],
  ];
  const general: Command[] = pages.map(([page, key, title]) => ({
    id: `debugger.${page}`,
    title: `${title}`,
    keys: [key],
    when: () => panel() !== null,
    act: () => openPage(page),
  }));
  const map: Command[] = [
    { id: "debugger.row", title: "Select a row; its curve is beside it", gestures: ["click"] },
    { id: "debugger.box", title: "Zoom to a box", gestures: ["drag"] },
    { id: "debugger.pan", title: "Pan", gestures: ["Shift drag", "wheel", "Shift wheel"] },
    {
      id: "debugger.zoom_in",
      title: "Zoom in on steps",
      keys: ["+", "=", "w"],
      keysShown: "+, W",
      gestures: ["Ctrl wheel"],
      ...on("map", ({ map }) => map.zoom(0.6)),
    },
    {
      id: "debugger.zoom_out",
      title: "Zoom out of steps",
      keys: ["-", "s"],
      keysShown: "-, S",
      ...on("map", ({ map }) => map.zoom(1 / 0.6)),
    },
    {
      id: "debugger.rows_in",
      title: "Zoom in on rows",
      keys: ["Shift ArrowUp"],
      gestures: ["Alt wheel"],
      ...on("map", ({ map }) => map.zoomRows(0.6)),
    },
    {
      id: "debugger.rows_out",
      title: "Zoom out of rows",
      keys: ["Shift ArrowDown"],
      ...on("map", ({ map }) => map.zoomRows(1 / 0.6)),
    },
    {
      id: "debugger.left",
      title: "Pan to earlier steps",
      keys: ["a", "Shift ArrowLeft"],
      ...on("map", ({ map }) => map.pan(0, -0.2)),
    },
    {
      id: "debugger.right",
      title: "Pan to later steps",
      keys: ["d", "Shift ArrowRight"],
      ...on("map", ({ map }) => map.pan(0, 0.2)),
    },
    { id: "debugger.row_up", title: "Previous row", keys: ["ArrowUp"], ...on("map", ({ map }) => map.move(-1, 0)) },
    { id: "debugger.row_down", title: "Next row", keys: ["ArrowDown"], ...on("map", ({ map }) => map.move(1, 0)) },
    {
      id: "debugger.cell_left",
      title: "Previous step",
      keys: ["ArrowLeft"],
      ...on("map", ({ map }) => map.move(0, -1)),
    },
    { id: "debugger.cell_right", title: "Next step", keys: ["ArrowRight"], ...on("map", ({ map }) => map.move(0, 1)) },
    {
      id: "debugger.page_up",
      title: "A page of rows up",
      keys: ["PageUp"],
      ...on("map", ({ map }) => map.pan(-0.9, 0)),
    },
    {
      id: "debugger.page_down",
      title: "A page of rows down",
      keys: ["PageDown"],
      ...on("map", ({ map }) => map.pan(0.9, 0)),
    },
    {
      id: "debugger.open",
      title: "The execution of the selected cell",
      keys: ["Enter"],
      ...on("map", ({ map }, event) => event.target instanceof HTMLButtonElement ? false : map.openSelected()),
    },
    {
      id: "debugger.all",
      title: "All rows and steps",
      keys: ["0"],
      gestures: ["double click"],
      ...on("map", ({ map }) => map.reset()),
    },
    {
      id: "debugger.first_bad",
      title: "The first non-finite cell",
      keys: ["b"],
      ...on("map", ({ map }) => map.firstBad()),
    },
    { id: "debugger.search_map", title: "Search", keys: ["/"], ...on("map", ({ map }) => map.focusSearch()) },
  ];
  const execution: Command[] = [
    {
      id: "debugger.walk_up",
      title: "Up to the first input that is not finite",
      keys: ["u"],
      ...on("execution", ({ execution }) => execution.walkUp()),
    },
    {
      id: "debugger.previous",
      title: "Previous execution of the same tensor",
      keys: [","],
      ...on("execution", ({ execution }) => execution.along(-1)),
    },
    {
      id: "debugger.next",
      title: "Next execution of the same tensor",
      keys: ["."],
      ...on("execution", ({ execution }) => execution.along(1)),
    },
    {
      id: "debugger.up",
      title: "The line above",
      keys: ["ArrowUp"],
      ...on("execution", ({ execution }) => execution.list.step(-1)),
    },
    {
      id: "debugger.down",
      title: "The line below",
      keys: ["ArrowDown"],
      ...on("execution", ({ execution }) => execution.list.step(1)),
    },
    {
      id: "debugger.only_bad",
      title: "Only non-finite ones, or all",
      keys: ["b"],
      ...on("execution", ({ execution }) => execution.toggleBad()),
    },
    {
      id: "debugger.copy",
      title: "Copy the selected line as CSV",
      keys: ["y"],
      ...on("execution", ({ execution }) => execution.copySelected()),
    },
    {
      id: "debugger.search",
      title: "Filter",
      keys: ["/"],
      ...on("execution", ({ execution }) => execution.focusSearch()),
    },
  ];
  const source: Command[] = [
    {
      id: "debugger.next_bad_line",
      title: "Next line that produced something non-finite",
      keys: ["b"],
      ...on("source", ({ source }) => source.nextBad()),
    },
  ];
  const named = { "Debugger": general, "Health map": map, "Execution": execution, "Source": source };
  return Object.entries(named).map(([title, commands]) => ({ panel: "debugger", title, commands }));
}
