/** Connects the panel of live tensors to the page; the code that draws it is loaded on the first visit. */
import { register } from "../../../web/core/commands.ts";
import { callbacksLater } from "../../../web/core/dash.ts";
import { view } from "../../../web/page/view.ts";

callbacksLater("live_tensors", "stepscopeLiveTensors", ["show"], () => import("./mount.ts"));

register({
  title: "Everywhere",
  commands: [{
    id: "live_tensors.open",
    title: "Show arrays of a running program",
    palette: "live_tensors",
    act: () => view.update((_params, set) => set("tab", ["live_tensors"])),
  }],
});
