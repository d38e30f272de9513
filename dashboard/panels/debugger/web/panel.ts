/** Owns the state of the Debugger: which recording is open, and its sub-views. */
import { know } from "../../../curves/web/profiled_steps.ts";
import { make } from "../../../web/core/dom.ts";
import { Api, messageOf } from "../../../web/core/request.ts";
import { view } from "../../../web/page/view.ts";
import { AlertsView } from "./alerts.ts";
import { CompareView } from "./compare.ts";
import { ExecutionView } from "./execution.ts";
import { clearFilters } from "./links.ts";
import { MapView } from "./map.ts";
import type { Overview, Recordings } from "./messages.generated.ts";
import { settings } from "./settings.generated.ts";
import { SourceView } from "./source.ts";
import type { State, SubView } from "./state.ts";

export class DebuggerPanel {
  readonly host: HTMLElement;
  readonly api = new Api("api/debugger");
  #ended = new AbortController();
  readonly alerts = new AlertsView(this.api, this.#ended.signal);
  readonly map = new MapView(this.api, this.#ended.signal);
  readonly execution = new ExecutionView(this.api, this.#ended.signal);
  readonly source = new SourceView(this.api);
  readonly compare = new CompareView(this.api);
  #tools: HTMLElement;
  #message = make("p", { className: "debugger-hint", role: "status" }, "Reading the recording…");
  #state: State | null = null;
  #asked = "";
  #scheme: State["scheme"] = "light";

  constructor(host: HTMLElement, tools: HTMLElement) {
    this.host = host;
    this.#tools = tools;
    host.append(this.#message);
  }

  get page(): SubView {
    return this[view.read(settings.view)];
  }

  /** Brings everything up to date with the selector, the address, and the data. */
  show(recording: string, revision: number | null, scheme: string): void {
    this.#scheme = scheme === "dark" ? "dark" : "light";
    const asked = `${recording} ${revision}`;
    if (asked !== this.#asked) {
      const other = this.#asked !== "" && this.#state !== null && this.#state.id !== recording;
      this.#asked = asked;
      if (other) this.#forget();
      void this.#load(recording, asked);
    }
    this.#draw();
  }

  end(): void {
    this.#asked = "";
    this.#ended.abort();
  }

  facts = () => ({
    id: this.#state?.id ?? null,
    version: this.#state?.version ?? null,
    page: view.read(settings.view),
    requests: this.api.requests,
    pending: this.api.pending,
    ...this.page.facts(),
  });

  /** Forgets the numbers of one recording, which mean nothing in another. */
  #forget(): void {
    this.#state = null;
    view.update((_params, set) => {
      for (const setting of [settings.at, settings.file, settings.line]) {
        set(setting, "");
      }
      clearFilters(set);
    });
  }

  async #load(recording: string, asked: string): Promise<void> {
    try {
      const [overview, { recordings }] = await Promise.all([
        this.api.ask<Overview>("overview", { id: recording }),
        this.api.ask<Recordings>("recordings", {}),
      ]);
      if (this.#asked !== asked) return;
      know();
      if (overview.problem) throw new Error(overview.problem);
      const { run, scalars: curves } = recordings.find(({ id }) => id === overview.id) ?? { run: "", scalars: false };
      this.#state = {
        id: overview.id,
        run,
        curves,
        version: overview.version,
        overview,
        recordings,
        scheme: this.#scheme,
      };
      this.#draw();
    } catch (error) {
      if (this.#asked !== asked) return;
      this.#asked = "";
      this.#state = null;
      this.#message.textContent = messageOf(error);
      this.host.replaceChildren(this.#message);
      this.#tools.replaceChildren();
    }
  }

  #draw(): void {
    if (!this.#state) return;
    this.#state = { ...this.#state, scheme: this.#scheme };
    const { page } = this;
    if (this.host.firstElementChild !== page.element) {
      this.host.replaceChildren(page.element);
      this.#tools.replaceChildren(...page.tools);
      page.opened?.();
    }
    page.show(this.#state);
  }
}
