/** Keys and gestures of the histograms panel; those of the window with a single histogram are bound in large.ts. */
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
