/** Commands for a clip that has the focus. */
import { type Command, register } from "../../../web/core/commands.ts";
import { clipUrl } from "./clip.ts";
import { player } from "./player.ts";
import { zoomed } from "./span.ts";
import { duration, type View, viewOf } from "./view.ts";

/** An action on the focused clip, whose position is `now` seconds; if no clip has the focus, the key is not handled. */
const onClip = (act: (view: View, now: number, event: KeyboardEvent) => void) => (event: KeyboardEvent): boolean => {
  const view = viewOf(event.target);
  if (!view?.shown) return false;
  act(view, player.time(clipUrl(view.shown.clip)) ?? 0, event);
  return true;
};

/** Keys of a picture, bound to each one so that they also work in the dialog of two clips. */
export const ON_CLIP: readonly Command[] = [
  {
    id: "audio.play",
    title: "Play, pause",
    keys: [" ", "Enter"],
    act: onClip((view) => view.handlers.toggle()),
  },
  {
    id: "audio.seek",
    title: "Seek; hold Shift for smaller steps",
    keys: ["ArrowLeft", "ArrowRight", "Shift ArrowLeft", "Shift ArrowRight"],
    keysShown: "Left, Right",
    act: onClip((view, now, { key, shiftKey }) => {
      const by = (view.span.stop - view.span.start) / (shiftKey ? 100 : 20);
      const wanted = key === "ArrowLeft" ? now - by : now + by;
      view.handlers.seek(Math.min(duration(view), Math.max(0, wanted)));
    }),
  },
  {
    id: "audio.seek_end",
    title: "Beginning, end",
    keys: ["Home", "End"],
    act: onClip((view, _now, { key }) => view.handlers.seek(key === "Home" ? 0 : duration(view))),
  },
  {
    id: "audio.zoom_in_time",
    title: "Zoom in time",
    keys: ["+", "-"],
    gestures: ["Ctrl wheel"],
    act: onClip((view, now, { key }) => view.handlers.zoom(zoomed(view.span, now, key === "+" ? 0.5 : 2))),
  },
  { id: "audio.move_in_time", title: "Pan in time", gestures: ["Shift wheel"] },
  {
    id: "audio.show_whole",
    title: "The whole clip",
    keys: ["0"],
    gestures: ["double click"],
    act: onClip((view) => view.handlers.zoom(null)),
  },
];

register({
  panel: "audio",
  title: "Audio (focused clip)",
  commands: [...ON_CLIP, {
    id: "audio.hear_other",
    title: "Switch between the two compared clips",
    keys: ["x"],
  }],
});
