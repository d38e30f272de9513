/** Keyboard commands of the Graph panel. */
import type { Command } from "../../../web/core/commands.ts";
import type { GraphPanel } from "./panel.ts";
import { menuOfSelected } from "./tools.ts";

const ZOOM_STEP = 1.3;
const PAN_STEP = 120;

/** The commands, each with a key that works while the graph or nothing has the focus. */
export function commandsOf(panel: GraphPanel, canvas: HTMLElement): Command[] {
  const middle = () => panel.cursor ?? { x: panel.view.width / 2, y: panel.view.height / 2 };
  const zoom = (factor: number) => () => {
    panel.remember();
    panel.zoomBy(factor, middle());
  };
  const pan = (x: number, y: number) => () => {
    panel.remember();
    panel.view.pan(x, y);
    panel.viewMoved = true;
  };
  const rows: Omit<Command, "when">[] = [
    { id: "graph.move", title: "Pan (flick to keep moving)", gestures: ["drag"] },
    {
      id: "graph.zoom_in",
      title: "Zoom in at the pointer; also a pinch",
      gestures: ["wheel"],
      keys: ["+", "="],
      keysShown: "+",
      act: zoom(ZOOM_STEP),
    },
    { id: "graph.zoom_out", title: "Zoom out", keys: ["-"], act: zoom(1 / ZOOM_STEP) },
    { id: "graph.select", title: "Select; with Shift a second node", gestures: ["click"] },
    {
      id: "graph.toggle",
      title: "Expand or collapse; so does a click on the chevron",
      gestures: ["double click"],
      keys: ["Enter"],
      act: (event) => (event.target === canvas ? panel.toggleSelected() : false),
    },
    { id: "graph.to_input", title: "To an input", keys: ["ArrowUp"], act: () => panel.step("input") },
    { id: "graph.to_output", title: "To an output", keys: ["ArrowDown"], act: () => panel.step("output") },
    { id: "graph.to_left", title: "To the node on the left", keys: ["ArrowLeft"], act: () => panel.step("left") },
    { id: "graph.to_right", title: "To the node on the right", keys: ["ArrowRight"], act: () => panel.step("right") },
    { id: "graph.pan_up", title: "Move the view up", keys: ["Shift ArrowUp"], act: pan(0, PAN_STEP) },
    { id: "graph.pan_down", title: "Move the view down", keys: ["Shift ArrowDown"], act: pan(0, -PAN_STEP) },
    { id: "graph.pan_left", title: "Move the view to the left", keys: ["Shift ArrowLeft"], act: pan(PAN_STEP, 0) },
    { id: "graph.pan_right", title: "Move the view to the right", keys: ["Shift ArrowRight"], act: pan(-PAN_STEP, 0) },
    { id: "graph.light_inputs", title: "Highlight all inputs", keys: ["i"], act: () => panel.trace("inputs") },
    { id: "graph.light_outputs", title: "Highlight all outputs", keys: ["o"], act: () => panel.trace("outputs") },
    { id: "graph.light_paths", title: "Paths between the two selected nodes", keys: ["p"], act: () => panel.path() },
    {
      id: "graph.expand_children",
      title: "Expand all children; one more level each time",
      keys: ["e"],
      act: () => panel.expandChildren(),
    },
    {
      id: "graph.collapse",
      title: "Collapse, or collapse the enclosing scope",
      keys: ["c"],
      act: () => panel.collapseSelected(),
    },
    { id: "graph.set_aside", title: "Set aside or restore", keys: ["x"], act: () => panel.setAsideSelected() },
    { id: "graph.fit", title: "Fit the selection, or everything", keys: ["f"], act: () => panel.fit(true) },
    { id: "graph.fit_all", title: "Fit everything", keys: ["0", "Home"], act: () => panel.fit(false) },
    {
      id: "graph.search",
      title: "Search; there, Enter and Shift+Enter step through matches",
      keys: ["/"],
      act: () => panel.search.focus(),
    },
    {
      id: "graph.undo",
      title: "Undo the last move or expansion",
      keys: ["Backspace", "z", "Ctrl z"],
      keysShown: "Backspace, Z",
      act: () => panel.undo(),
    },
    {
      id: "graph.clear",
      title: "Clear the highlights, the selection and the search",
      keys: ["Escape"],
      act: () => panel.clear(),
    },
    {
      id: "graph.menu",
      title: "Full menu",
      gestures: ["right click", "menu key"],
      keys: ["ContextMenu"],
      keysShown: "",
      act: () => menuOfSelected(panel),
    },
  ];
  /** If another part of the page has the focus, the keys belong to it. */
  const isMeant = () => {
    const active = document.activeElement;
    return canvas.isConnected && panel.ready &&
      (!active || active === document.body || active === canvas || panel.root.contains(active));
  };
  return rows.map((row) => ({ ...row, when: isMeant }));
}
