/** Keyboard commands of the Timeline panel. */
import type { Act, Command, Group } from "../../../web/core/commands.ts";
import type { TimelinePanel } from "./panel.ts";

/** Movements that continue while their key is held. */
export interface Moves {
  zoomIn: Act;
  zoomOut: Act;
  panLeft: Act;
  panRight: Act;
}

/** The commands, each with a key that works while the timeline or nothing has the focus. */
export function groupsOf(panel: TimelinePanel, canvas: HTMLElement, moves: Moves): Group[] {
  const page = () => (panel.scene.height - panel.scene.top) * 0.9;
  const scroll = (by: () => number) => () => void panel.scrollBy(by());
  const moving: Command[] = [
    {
      id: "timeline.zoom_in",
      title: "Zoom in at the pointer",
      keys: ["w", "+", "="],
      keysShown: "W",
      gestures: ["Ctrl wheel", "wheel over the time axis", "pinch"],
      act: moves.zoomIn,
    },
    { id: "timeline.zoom_out", title: "Zoom out", keys: ["s", "-"], keysShown: "S", act: moves.zoomOut },
    { id: "timeline.pan_left", title: "Pan left", keys: ["a", "ArrowLeft"], act: moves.panLeft },
    { id: "timeline.pan_right", title: "Pan right", keys: ["d", "ArrowRight"], act: moves.panRight },
    { id: "timeline.pan", title: "Pan and scroll (flick to keep moving)", gestures: ["drag", "Shift wheel"] },
    { id: "timeline.scroll_up", title: "Scroll the lanes up", keys: ["ArrowUp"], act: scroll(() => -60) },
    { id: "timeline.scroll_down", title: "Scroll the lanes down", keys: ["ArrowDown"], act: scroll(() => 60) },
    { id: "timeline.page_up", title: "A page of lanes up", keys: ["PageUp"], act: scroll(() => -page()) },
    { id: "timeline.page_down", title: "A page of lanes down", keys: ["PageDown"], act: scroll(page) },
    { id: "timeline.zoom_to_range", title: "Zoom to a range", gestures: ["Alt drag", "drag on the time axis"] },
    {
      id: "timeline.fit",
      title: "Fit the selection, the area, or everything",
      keys: ["f"],
      act: () => panel.fit(),
    },
    { id: "timeline.show_all", title: "Show everything", keys: ["0", "Home"], act: () => panel.showAll() },
    {
      id: "timeline.undo",
      title: "Undo the last zoom or pan",
      keys: ["z", "Ctrl z", "Backspace"],
      keysShown: "Z, Backspace",
      act: () => panel.undo(),
    },
  ];
  const slices: Command[] = [
    { id: "timeline.select", title: "Select a slice; its details open below", gestures: ["click"] },
    { id: "timeline.zoom_to_slice", title: "Zoom to a slice", gestures: ["double click"] },
    {
      id: "timeline.previous_slice",
      title: "Previous slice of the row",
      keys: [","],
      act: ({ repeat }) => panel.selection.step(-1, repeat),
    },
    {
      id: "timeline.next_slice",
      title: "Next slice of the row",
      keys: ["."],
      act: ({ repeat }) => panel.selection.step(1, repeat),
    },
    // Keys that no arrow of a slice can use are left to the page.
    {
      id: "timeline.to_launch",
      title: "Follow the arrow to what launched it",
      keys: ["["],
      act: () => panel.selection.follow("incoming"),
    },
    {
      id: "timeline.to_launched",
      title: "Follow the arrow to what it launched",
      keys: ["]"],
      act: () => panel.selection.follow("outgoing"),
    },
    { id: "timeline.area", title: "Select an area to see totals", gestures: ["Shift drag"] },
    {
      id: "timeline.choose_area",
      title: "Select areas without Shift",
      keys: ["r"],
      act: () => panel.setChoosing(!panel.choosing),
    },
    { id: "timeline.mark", title: "Mark the selection and measure it", keys: ["m"], act: () => panel.mark() },
    {
      id: "timeline.search",
      title: "Search; there, Enter and Shift+Enter step through matches",
      keys: ["/"],
      act: () => panel.search.focus(),
    },
    {
      id: "timeline.clear",
      title: "Clear selection, area, marks and search",
      keys: ["Escape"],
      act: () => panel.clear(),
    },
  ];
  const lanes: Command[] = [
    { id: "timeline.fold", title: "Collapse or expand", gestures: ["click a name"] },
    { id: "timeline.order", title: "Reorder", gestures: ["drag a name"] },
    { id: "timeline.lane_menu", title: "Full menu: hide, show only this one, copy", gestures: ["right click"] },
    {
      id: "timeline.fit_names",
      title: "Fit the name column to its names",
      keys: ["n"],
      gestures: ["double click its edge"],
      act: () => panel.setLabelWidth(null),
    },
    {
      id: "timeline.pin",
      title: "Pin the lane under the mouse to the top",
      keys: ["p"],
      act: () => panel.pinAt(panel.cursor),
    },
    { id: "timeline.critical_path", title: "Critical path", keys: ["c"], act: () => panel.turn("critical") },
    { id: "timeline.idle_time", title: "Idle time by cause", keys: ["i"], act: () => panel.turn("idle") },
  ];
  /** If another part of the page has the focus, the keys belong to it. */
  const isMeant = () => {
    const active = document.activeElement;
    return canvas.isConnected && panel.ready &&
      (!active || active === document.body || active === canvas || panel.root.contains(active));
  };
  const meant = ({ act, ...command }: Command): Command => ({
    ...command,
    when: isMeant,
    act: act && ((event) => {
      const taken = act(event);
      panel.changed();
      return taken;
    }),
  });
  const named = { "Timeline": moving, "Slices": slices, "Lanes and overlays": lanes };
  return Object.entries(named).map(([title, rows]) => ({ panel: "timeline", title, commands: rows.map(meant) }));
}
