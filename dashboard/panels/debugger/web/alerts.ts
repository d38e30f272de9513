/** Everything that went wrong, in order, under a one-sentence summary of the first bad value. */
import { icon, make, stepText } from "../../../web/core/dom.ts";
import { counted, integer } from "../../../web/core/numbers.ts";
import { type Api, messageOf } from "../../../web/core/request.ts";
import { view } from "../../../web/page/view.ts";
import { Details } from "./details.ts";
import { toLine, toObservation, toRow, toScalars, toStep } from "./links.ts";
import type { AlertRow, Alerts } from "./messages.generated.ts";
import { settings } from "./settings.generated.ts";
import type { State, SubView } from "./state.ts";
import { button, codeLink, copyTable, saveTable } from "./widgets.ts";

const HINT = "Select an alert to see what caused it.";
const NAMES = ["rule", "step", "message", "tensor", "phase", "operation", "file", "line"];

export class AlertsView implements SubView {
  readonly element = make("div", { className: "debugger-split debugger-alerts" });
  readonly tools = [
    button("Copy", "Copy the alerts as CSV", () => copyTable(this.#rows()), "copy"),
    button("CSV", "Download the alerts as CSV", () => saveTable(this.#rows(), "alerts.csv"), "download"),
  ];
  #api: Api;
  #main = make("div", { className: "debugger-main", tabIndex: 0, role: "region", "aria-label": "Alerts" });
  #details: Details;
  #key = "";
  #state: State | null = null;
  #found: Alerts | null = null;
  #rule = "";

  constructor(api: Api, ended: AbortSignal) {
    this.#api = api;
    this.#details = new Details(api, ended);
    this.element.append(this.#main, this.#details.element);
  }

  show(state: State): void {
    this.#state = state;
    const key = `${state.id} ${state.version}`;
    if (key !== this.#key) {
      this.#key = key;
      void this.#load(state, key);
    } else this.#select();
  }

  facts = () => ({ alerts: this.#found?.total ?? null, details: this.#details.shown?.number ?? null });

  async #load(state: State, key: string): Promise<void> {
    try {
      const found = await this.#api.ask<Alerts>("alerts", { id: state.id });
      if (this.#key !== key) return;
      this.#found = found;
      this.#draw(state);
      this.#select();
    } catch (error) {
      if (this.#key !== key) return;
      this.#key = "";
      this.#main.replaceChildren(make("p", { className: "debugger-hint" }, messageOf(error)));
    }
  }

  /** Selects the observation in the address, or else the first bad one. */
  #select(): void {
    const [state, found] = [this.#state, this.#found];
    if (!state || !found) return;
    const wanted = view.read(settings.at);
    const number = wanted === "" ? found.verdict.observation : Number(wanted);
    for (const row of this.#main.querySelectorAll<HTMLElement>("[data-observation]")) {
      row.setAttribute("aria-pressed", String(row.dataset.observation === String(number)));
    }
    this.element.classList.toggle("alone", number === null);
    void this.#details.show(state, number, HINT);
  }

  #draw(state: State): void {
    const found = this.#found!;
    const alerts = found.alerts.filter(({ rule }) => !this.#rule || rule === this.#rule);
    this.#main.replaceChildren(
      this.#verdict(state, found),
      ...(found.rules.length ? [this.#chips(found)] : []),
      ...(found.alerts.length
        ? [make("div", { className: "debugger-alert-list" }, ...alerts.map((alert) => this.#row(state, alert)))]
        : [make("p", { className: "debugger-none" }, found.verdict.good ? "No rule found anything either." : "")]),
      ...(found.total > found.alerts.length
        ? [make("p", { className: "debugger-none" }, `and ${integer(found.total - found.alerts.length)} more`)]
        : []),
    );
  }

  #verdict(state: State, { verdict }: Alerts): HTMLElement {
    const { observation, tensor, line, step } = verdict;
    const links = [
      ...(observation !== null
        ? [button("Execution", "Show it among all executions", () => toObservation(observation), "debugger")]
        : []),
      ...(line?.kept
        ? [button(`Line ${line.line}`, `${line.path}: show it in Source`, () => toLine(line.path, line.line), "text")]
        : []),
      ...(tensor
        ? [button("Health map", "Show its row in the health map", () => toRow(tensor.number), "pr_curves")]
        : []),
      ...(tensor && state.curves
        ? [button("Scalars", `Show step ${stepText(step)} on the curves`, () => toScalars(state.run, step), "scalars")]
        : []),
    ];
    return make(
      "div",
      { className: `debugger-verdict ${verdict.good ? "good" : "bad"}`, role: "status" },
      icon(verdict.good ? "check" : "alert", 22),
      make(
        "div",
        {},
        make("h2", {}, verdict.sentence),
        make(
          "p",
          {},
          `${counted(state.overview.observations, "value")} of ${
            counted(state.overview.tensors, "tensor")
          } by ${state.overview.source}`,
        ),
        ...state.overview.problems.slice(0, 8).map((problem) => make("p", { className: "debugger-problem" }, problem)),
        make("div", { className: "debugger-links" }, ...links),
      ),
    );
  }

  #chips({ rules, alerts }: Alerts): HTMLElement {
    const chip = (rule: string, text: string, count: number) => {
      const made = make(
        "button",
        { type: "button", className: "debugger-chip", "aria-pressed": String(this.#rule === rule) },
        `${text} `,
        make("span", { className: "count" }, integer(count)),
      );
      made.addEventListener("click", () => {
        this.#rule = rule;
        if (this.#state) this.#draw(this.#state);
        this.#select();
      });
      return made;
    };
    return make(
      "div",
      { className: "debugger-chips", role: "group", "aria-label": "Alerts by rule" },
      chip("", "All", alerts.length),
      ...rules.map(({ rule, title, alerts: count }) => chip(rule, title, count)),
    );
  }

  #row(state: State, alert: AlertRow): HTMLElement {
    const { observation, tensor, step } = alert;
    const act = () => {
      if (observation !== null) view.write(settings.at, String(observation));
      else if (tensor) toRow(tensor.number);
      else if (state.curves) toScalars(state.run, step);
      else toStep(step);
    };
    const row = make(
      "button",
      {
        type: "button",
        className: `debugger-alert ${alert.rule}`,
        ...(observation === null ? {} : { "data-observation": observation }),
      },
      make("span", { className: "step" }, stepText(step)),
      make("span", { className: "rule" }, alert.title),
      make("span", { className: "message" }, alert.message),
    );
    row.addEventListener("click", act);
    return make("div", { className: "debugger-alert-line" }, row, ...(alert.line ? [codeLink(alert.line)] : []));
  }

  #rows() {
    return [
      NAMES,
      ...(this.#found?.alerts ?? []).map(({ rule, step, message, tensor, line }) => [
        rule,
        step,
        message,
        tensor?.name ?? null,
        tensor?.phase ?? null,
        tensor?.op ?? null,
        line?.path ?? null,
        line?.line ?? null,
      ]),
    ];
  }
}
