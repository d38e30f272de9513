/** Keys and gestures of the histograms panel; those of the window with one histogram are bound to it (large.ts). */
import { register } from "../../../web/core/commands.ts";

register({
  panel: "histograms",
  title: "Histograms",
  commands: [
    { id: "histograms.open_large", title: "See a histogram large", gestures: ["click"] },
    { id: "histograms.turn_large", title: "There: the step before or after", keys: ["ArrowLeft", "ArrowRight"] },
  ],
});
