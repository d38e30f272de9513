/** Keys and gestures of the histograms panel; those of the window with one histogram are bound to it (large.ts). */
import { register } from "../../../web/core/commands.ts";

register({
  panel: "histograms",
  title: "Histograms",
  commands: [
    { id: "histograms.open_large", title: "Enlarge the histogram", gestures: ["click"] },
    {
      id: "histograms.turn_large",
      title: "In the large view: previous or next step",
      keys: ["ArrowLeft", "ArrowRight"],
    },
  ],
});
