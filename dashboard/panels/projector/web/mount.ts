/** Connects the Projector panel to the page: the selector opens embeddings and lists dropped files. */
import { counted } from "../../../web/core/numbers.ts";
import { register } from "../../../web/core/commands.ts";
import { noUpdate, setProps, settingId } from "../../../web/core/dash.ts";
import { make } from "../../../web/core/dom.ts";
import { view } from "../../../web/page/view.ts";
import { commandsOf } from "./commands.ts";
import { Api } from "./data.ts";
import { Drop } from "./drop.ts";
import { mount, panel } from "./panel.ts";
import { settings } from "./settings.generated.ts";
import { button } from "./widgets.ts";
import type { EmbeddingRow } from "./messages.generated.ts";

const API = "api/projector";
const ID = settingId(settings.id.name);

register({ panel: "projector", title: "Projector", commands: commandsOf(panel) });

const choose = (id: string) => setProps(ID, { value: id });

/** An entry in the selector. */
interface Choice {
  value: string;
  label: string;
  disabled?: boolean;
}

/**
 * Lists embeddings by run, with dropped ones last.
 * @param unlisted number of checkpoint series left out because there are too many
 */
function offer(embeddings: EmbeddingRow[], unlisted: number): void {
  const groups = new Map<string, Choice[]>();
  const current = panel()?.state.id ?? "";
  for (const { id, run, label, kind } of embeddings) {
    const top = !run || run === ".";
    const name = kind === "dropped" ? "Dropped files" : top ? "The log directory" : run;
    groups.set(name, [...(groups.get(name) ?? []), { value: id, label: top ? label : `${run} · ${label}` }]);
  }
  if (current && !embeddings.some(({ id }) => id === current)) {
    groups.set("Removed", [{ value: current, label: current }]);
  }
  if (unlisted) {
    const label = `${counted(unlisted, "older checkpoint")}: open a file with stepscope project FILE`;
    groups.set("Not listed", [{ value: "unlisted", label, disabled: true }]);
  }
  setProps(ID, { data: [...groups].map(([group, items]) => ({ group, items })) });
}

/** Sets up the page when there is no embedding: a file can be dropped on it. */
function empty(host: HTMLElement): void {
  const said = make("p", { className: "pj-note bad", role: "alert" });
  const drop = new Drop({
    root: host,
    dataset: null,
    api: new Api(API),
    opened(id) {
      // If the user has gone to another tab in the meantime, stay there.
      if (!document.querySelector("#projector-empty, #projector-host")) return;
      view.update((_params, set) => {
        set("tab", ["projector"]);
        set(settings.id, id);
      });
      // The page only hears of the view after the next frame, which would be too late.
      setProps("view", { data: view.query() });
      setProps("panel-again", { data: Date.now() });
    },
    joined() {},
    notify: (text) => (said.textContent = text),
  });
  const choice = button("Choose a file", "Open an embedding from a file", () => drop.ask(), "main");
  host.querySelector(".pj-drop-here")?.append(choice, said);
}

/** Opens the embedding in the selector. */
export function open(id: string | null): unknown {
  const host = document.getElementById("projector-host");
  const tools = document.getElementById("projector-tools");
  if (!host || !tools) return noUpdate();
  void mount(host, tools, { api: API, choose, offer }).open(id || "");
  return id;
}

/** Called when there is no embedding. */
export function welcome(): string {
  const host = document.getElementById("projector-empty");
  if (host) empty(host);
  return "yes";
}

/** Called when there is new data. */
export function refresh(revision: number | null): string {
  panel()?.refresh();
  return String(revision ?? "");
}
