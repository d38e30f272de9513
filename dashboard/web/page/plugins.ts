/** Panels of other distributions: their host is loaded only if there are any. */
import { callbacks, noUpdate } from "../core/dash.ts";
import { had } from "../core/lost_scripts.ts";
import { view } from "./view.ts";

let host: Promise<typeof import("./plugin_host.ts")> | null = null;

view.onBegin(({ plugins }) => {
  if (!plugins) return;
  host = had(import("./plugin_host.ts"));
  void host.then(({ begin }) => begin(plugins));
});

callbacks("stepscope", {
  /** Passes on new data, and failures of plug-ins' callbacks. */
  async tellPlugins(revision: number | null, failures: string[] | null) {
    (await host)?.tell(revision, failures);
    return noUpdate();
  },
});
