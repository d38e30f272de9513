/** Keeps the single view of live tensors while its panel is open. */
import { register } from "../../../web/core/commands.ts";
import { noUpdate } from "../../../web/core/dash.ts";
import { LiveView } from "./live_view.ts";

let shown: LiveView | null = null;
export const current = (): LiveView | null => shown?.host.isConnected ? shown : null;

/** Shows the view in the panel that was opened; the view reads everything it needs from the address itself. */
export function show(_view: string) {
  const host = document.getElementById("live-tensors-host");
  if (host && shown?.host !== host) {
    shown?.stop();
    shown = new LiveView(host);
  }
  return noUpdate();
}

register({
  panel: "live_tensors",
  title: "Live tensors",
  commands: [
    { id: "live_tensors.look", title: "Connect or disconnect", keys: ["l"], act: () => current()?.toggle() },
    { id: "live_tensors.read", title: "Read a value", gestures: ["pointer on an image"] },
  ],
});
