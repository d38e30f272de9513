/** Panels of other distributions: what serves them is loaded where there are any. */
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
  /** There is new data, or what callbacks of plug-ins failed at. */
  async tellPlugins(revision: number | null, failures: string[] | null) {
    (await host)?.tell(revision, failures);
    return noUpdate();
  },
});
