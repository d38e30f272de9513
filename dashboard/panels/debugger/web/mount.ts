/** Connects the Debugger panel to the page: the selector opens recordings; the address holds their view. */
import { noUpdate } from "../../../web/core/dash.ts";
import { register } from "../../../web/core/commands.ts";
import { groupsOf } from "./commands.ts";
import { DebuggerPanel } from "./panel.ts";

let panel: DebuggerPanel | null = null;
export const current = (): DebuggerPanel | null => panel?.host.isConnected ? panel : null;

/** Shows what the selector and the address ask for; called again with every revision of the data. */
export function show(recording: string | null, _view: string, revision: number | null, scheme: string | null) {
  const host = document.getElementById("debugger-host");
  const tools = document.getElementById("debugger-tools");
  if (!host || !tools) return noUpdate();
  if (panel?.host !== host) {
    panel?.end();
    panel = new DebuggerPanel(host, tools);
  }
  panel.show(recording ?? "", revision, scheme ?? "light");
  return noUpdate();
}

for (const group of groupsOf(current)) register(group);
