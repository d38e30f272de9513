// Keys and gestures of cards of curves. A chart with the focus handles its own keys.
import { type Command, register } from "../../web/core/commands.ts";
import { endFull, zoomAll } from "./actions.ts";
import { clear } from "./marks_table.ts";
import { isZoomed, resetRanges } from "./state.ts";
import { ALL_ROWS_KEY, toggleAll } from "./table.ts";

const commandsOf = (panel: string): Command[] => [
  {
    id: `${panel}.zoom_box`,
    title: "Zoom into a box; a wide, flat box zooms x only, a tall, narrow one y only",
    gestures: ["drag"],
  },
  { id: `${panel}.move_axes`, title: "Pan", gestures: ["Shift drag"] },
  { id: `${panel}.zoom_pointer`, title: "Zoom at the pointer", gestures: ["Ctrl wheel"] },
  { id: `${panel}.reset_zoom`, title: "Reset the zoom", gestures: ["double click"], keys: ["0"] },
  {
    id: `${panel}.zoom_all`,
    title: "Apply the zoom of the focused chart to all cards",
    keys: ["z"],
    act: () => zoomAll(),
  },
  {
    id: `${panel}.reset_all`,
    title: "Reset the zoom of all cards",
    keys: ["Shift z"],
    palette: "reset",
    when: isZoomed,
    act: resetRanges,
  },
  {
    id: `${panel}.all_rows`,
    title: "Show values of all runs, or only of the nearest",
    keys: [ALL_ROWS_KEY],
    act: toggleAll,
  },
  { id: `${panel}.set_marks`, title: "Mark A, then B: values, changes and slopes below", gestures: ["click"] },
  {
    id: `${panel}.move_cursor`,
    title: "Move the cursor by one point (focused chart)",
    keys: ["ArrowLeft", "ArrowRight"],
  },
  {
    id: `${panel}.show_step`,
    title: "Show the cursor's step on the Timeline, where it was profiled",
    keys: ["Enter"],
  },
  {
    id: `${panel}.list_steps`,
    title: "Profiled steps near here; click the strip below to open one",
    gestures: ["right click"],
  },
  { id: `${panel}.zoom_cursor`, title: "Zoom (focused chart)", keys: ["+", "-"] },
  {
    id: `${panel}.end`,
    title: "Cancel; remove the marks",
    keys: ["Escape"],
    act: () => endFull() || clear(),
  },
];

for (const [panel, title] of [["scalars", "Scalars"], ["custom_scalars", "Custom scalars"]]) {
  register({ panel, title, commands: commandsOf(panel) });
}
