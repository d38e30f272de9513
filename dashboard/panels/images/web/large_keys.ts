/** Keys and gestures of the large view, named by its buttons and listed in its help. */
import type { Command } from "../../../web/core/commands.ts";

export const KEYS = {
  turn_step: { title: "Step", keys: ["ArrowLeft", "ArrowRight"] },
  go_to_end: { title: "First, newest step", keys: ["Home", "End"] },
  play: { title: "Play, pause", keys: [" "] },
  turn_run: { title: "Run", keys: ["ArrowUp", "ArrowDown"] },
  next_sample: { title: "Next sample", keys: ["s"] },
  zoom_out: { title: "Zoom out", keys: ["-"], gestures: ["wheel"] },
  zoom_in: { title: "Zoom in", keys: ["+", "="], gestures: ["wheel"] },
  fit: { title: "Fit", keys: ["0"], gestures: ["double click"] },
  actual_size: { title: "Actual size", keys: ["1"] },
  move_picture: {
    title: "Pan the image",
    keys: ["Shift ArrowLeft", "Shift ArrowRight", "Shift ArrowUp", "Shift ArrowDown"],
    keysShown: "Shift arrows",
    gestures: ["drag"],
  },
  next_comparison: { title: "Next comparison mode", keys: ["c"] },
  blink: { title: "Blink manually", keys: ["b"] },
  difference: { title: "Difference", keys: ["d"] },
  swap: { title: "Swap A and B", keys: ["x"] },
  move_divider: { title: "Move the swipe divider", keys: ["[", "]"] },
  invert: { title: "Invert", keys: ["i"] },
  restore: { title: "As stored", keys: ["r"] },
  toggle_column: { title: "Adjustments and histogram", keys: ["h"] },
  previous_frame: { title: "Previous frame", keys: [","] },
  next_frame: { title: "Next frame", keys: ["."] },
  play_frames: { title: "Play, pause the animation", keys: ["p"] },
  toggle_help: { title: "Keyboard and mouse shortcuts", keys: ["?"] },
} satisfies Record<string, Pick<Command, "title" | "keys" | "keysShown" | "gestures">>;

export type LargeKey = keyof typeof KEYS;
/** The dialog's own key. */
export const CLOSE = { title: "Close", keys: ["Escape"] };
/** Its section in the sheet of keys. */
export const SHEET = [{ title: "Enlarged image", commands: [...Object.values(KEYS), CLOSE] }];
