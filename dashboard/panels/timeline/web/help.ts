/** The sheet with the Timeline's keys and gestures. */
import * as details from "./details.ts";

const KEYS: [string, [string, string][]][] = [
  ["Move", [
    ["W  S", "Zoom in and out at the mouse"],
    ["A  D", "Pan left and right (also ← →)"],
    ["↑  ↓", "Scroll the lanes"],
    ["Drag", "Pan and scroll; let go to throw"],
    ["Ctrl + wheel", "Zoom at the mouse; also the wheel over the time axis, or a pinch"],
    ["Shift + wheel", "Pan"],
    ["Alt + drag", "Zoom to a range; also a drag on the time axis"],
    ["F", "Fit the selection, the area, or everything"],
    ["0  Home", "Show everything"],
    ["Z  Backspace", "Undo the last zoom or pan"],
  ]],
  ["Slices", [
    ["Click", "Select a slice; its details open below"],
    ["Double click", "Zoom to a slice"],
    [",  .", "Previous and next slice of the row"],
    ["[  ]", "Along an arrow: to what launched it, to what it launched"],
    ["Shift + drag", "An area: totals of what ran there. R: without Shift"],
    ["M", "Mark the selection and measure it"],
    ["/", "Search; Enter and Shift + Enter step through matches"],
    ["Esc", "Clear selection, area, marks and search"],
  ]],
  ["Lanes and overlays", [
    ["Click a name", "Fold or unfold"],
    ["Drag a name", "Another order"],
    ["Right click", "All else: hide, only this one, copy"],
    ["P", "Pin the lane under the mouse to the top"],
    ["C", "Critical path"],
    ["I", "Idle time by cause"],
    ["?", "This sheet"],
  ]],
];

export function help(close: () => void) {
  const { element, button } = details;
  const columns = element("div", "timeline-help-columns");
  for (const [title, keys] of KEYS) {
    const list = element("div", "timeline-help-keys", element("h4", "", title));
    for (const [combination, what] of keys) {
      const shown = element("span", "timeline-help-key");
      for (const key of combination.split("  ")) shown.append(element("kbd", "", key), " ");
      list.append(shown, element("span", "", what));
    }
    columns.append(list);
  }
  const sheet = element(
    "div",
    "timeline-help-sheet",
    element(
      "div",
      "timeline-help-head",
      element("b", "", "Keys and mouse"),
      button("✕", "Close (Esc)", close, "plain"),
    ),
    columns,
  );
  sheet.setAttribute("role", "dialog");
  sheet.setAttribute("aria-label", "Keys and mouse of the timeline");
  const cover = element("div", "timeline-help", sheet);
  cover.addEventListener("click", (event) => {
    if (event.target === cover) close();
  });
  return cover;
}
