/** Joins the Projector panel to the page: the selector opens embeddings, files that are dropped are listed in it. */
import "./help.js";
import "./pictures.js";
import * as parts from "./parts.js";
import { format } from "./parts.js";
import { Api } from "./data.js";
import { Drop } from "./drop.js";
import { ProjectorPanel, mount, panel as projectorPanel } from "./panel.js";
import { acts } from "./external_events.js";
import { looks } from "./appearance.js";
import { projecting } from "./projection_session.js";
import { selecting } from "./selection.js";
import { view } from "../../../web/page/view.js";

for (const methods of [acts, projecting, selecting, looks]) Object.defineProperties(ProjectorPanel.prototype, Object.getOwnPropertyDescriptors(methods));

const API = "api/projector";
const ID = { type: "setting", name: "projector:id" };

const choose = (/** @type {string} */ id) => window.dash_clientside.set_props(ID, { value: id });

/**
 * Lists embeddings by run, those that were dropped last.
 * @param {{id: string, run: string, label: string, kind: string, shape: number[] | null}[]} embeddings
 * @param {number} unlisted series of checkpoints that are too many to be opened
 */
function offer(embeddings, unlisted) {
  /** @type {Map<string, {value: string, label: string, disabled?: boolean}[]>} */
  const groups = new Map();
  const current = projectorPanel()?.state.id ?? "";
  for (const one of embeddings) {
    const name = one.kind === "dropped" ? "Dropped" : one.run === "." || !one.run ? "The log directory" : one.run;
    const shown = one.run && one.run !== "." ? `${one.run} · ${one.label}` : one.label;
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name)?.push({ value: one.id, label: shown });
  }
  if (current && !embeddings.some((one) => one.id === current)) groups.set("No longer there", [{ value: current, label: current }]);
  if (unlisted) groups.set("Not listed", [{ value: "unlisted", label: `${format.counted(unlisted, "older checkpoint")}: open a file with stepscope project FILE`, disabled: true }]);
  window.dash_clientside.set_props(ID, { data: [...groups].map(([group, items]) => ({ group, items })) });
}

/** The page without any embedding: a file can be dropped on it. @param {HTMLElement} host */
function empty(host) {
  const said = parts.make("p", { className: "pj-note bad", role: "alert" });
  const panel = {
    root: host,
    dataset: null,
    api: new Api(API),
    opened: (/** @type {string} */ id) => {
      view.update((/** @type {URLSearchParams} */ _params, /** @type {(name: string, values: string[]) => void} */ set) => {
        set("tab", ["projector"]);
        set("projector.id", [id]);
      });
      // The page hears of the view behind the next frame, which would be too late.
      window.dash_clientside.set_props("view", { data: view.query() });
      window.dash_clientside.set_props("panel-again", { data: Date.now() });
    },
    joined: () => {},
    notify: (/** @type {string} */ text) => (said.textContent = text),
  };
  const drop = new Drop(panel);
  host.querySelector(".pj-drop-here")?.append(parts.button("Choose a file", "Open an embedding from a file", () => drop.ask(), "main"), said);
}

/** Opens what the selector says. @param {string | null} id */
export function open(id) {
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

/** New data. @param {number | null} revision */
export function refresh(revision) {
  projectorPanel()?.refresh();
  return String(revision ?? "");
}
