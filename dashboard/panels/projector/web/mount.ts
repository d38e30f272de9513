// @ts-nocheck
/** Joins the Projector panel to the page: the selector opens embeddings, files that are dropped are listed in it. */
import "./help.ts";
import "./pictures.ts";
import * as parts from "./parts.ts";
import { format } from "./parts.ts";
import { Api } from "./data.ts";
import { Drop } from "./drop.ts";
import { mount, panel as projectorPanel, ProjectorPanel } from "./panel.ts";
import { acts } from "./external_events.ts";
import { projecting } from "./projection_session.ts";
import { selecting } from "./selection.ts";
import { view } from "../../../web/page/view.ts";

for (const methods of [acts, projecting, selecting]) {
  Object.defineProperties(ProjectorPanel.prototype, Object.getOwnPropertyDescriptors(methods));
}

const API = "api/projector";
const ID = { type: "setting", name: "projector:id" };

const choose = (id: string) => window.dash_clientside.set_props(ID, { value: id });

/**
 * Lists embeddings by run, those that were dropped last.
 * @param unlisted series of checkpoints that are too many to be opened
 */
function offer(
  embeddings: { id: string; run: string; label: string; kind: string; shape: number[] | null }[],
  unlisted: number,
) {
  const groups: Map<string, { value: string; label: string; disabled?: boolean }[]> = new Map();
  const current = projectorPanel()?.state.id ?? "";
  for (const one of embeddings) {
    const name = one.kind === "dropped" ? "Dropped" : one.run === "." || !one.run ? "The log directory" : one.run;
    const shown = one.run && one.run !== "." ? `${one.run} · ${one.label}` : one.label;
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name)?.push({ value: one.id, label: shown });
  }
  if (current && !embeddings.some((one) => one.id === current)) {
    groups.set("No longer there", [{ value: current, label: current }]);
  }
  if (unlisted) {
    groups.set("Not listed", [{
      value: "unlisted",
      label: `${format.counted(unlisted, "older checkpoint")}: open a file with stepscope project FILE`,
      disabled: true,
    }]);
  }
  window.dash_clientside.set_props(ID, { data: [...groups].map(([group, items]) => ({ group, items })) });
}

/** The page without any embedding: a file can be dropped on it. */
function empty(host: HTMLElement) {
  const said = parts.make("p", { className: "pj-note bad", role: "alert" });
  const panel = {
    root: host,
    dataset: null,
    api: new Api(API),
    opened: (id: string) => {
      view.update((_params: URLSearchParams, set: (name: string, values: string[]) => void) => {
        set("tab", ["projector"]);
        set("projector.id", [id]);
      });
      // The page hears of the view behind the next frame, which would be too late.
      window.dash_clientside.set_props("view", { data: view.query() });
      window.dash_clientside.set_props("panel-again", { data: Date.now() });
    },
    joined: () => {},
    notify: (text: string) => (said.textContent = text),
  };
  const drop = new Drop(panel);
  host.querySelector(".pj-drop-here")?.append(
    parts.button("Choose a file", "Open an embedding from a file", () => drop.ask(), "main"),
    said,
  );
}

/** Opens what the selector says. */
export function open(id: string | null) {
  const host = document.getElementById("projector-host");
  const tools = document.getElementById("projector-tools");
  if (!host || !tools) return window.dash_clientside.no_update;
  const panel = mount(host, tools, { api: API, choose, offer });
  void panel.open(id || "");
  return id;
}

/** There is no embedding. */
export function welcome() {
  const host = document.getElementById("projector-empty");
  if (host) empty(host);
  return "yes";
}

/** New data. */
export function refresh(revision: number | null) {
  projectorPanel()?.refresh();
  return String(revision ?? "");
}
