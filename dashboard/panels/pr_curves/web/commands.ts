/** Gestures of the PR curves panel, which Plotly handles. */
import { register } from "../../../web/core/commands.ts";

register({
  panel: "pr_curves",
  title: "PR curves",
  commands: [
    { id: "pr_curves.zoom", title: "Zoom", gestures: ["drag"] },
    { id: "pr_curves.show_all", title: "Axes from 0 to 1", gestures: ["double click"] },
  ],
});
