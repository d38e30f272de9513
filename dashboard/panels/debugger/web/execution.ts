/** Lists every execution in order, filtered, with everything known about the selected one beside the list. */
import { make, stepText } from "../../../web/core/dom.ts";
import { integer } from "../../../web/core/numbers.ts";
import { type Api, messageOf, type Parameters } from "../../../web/core/request.ts";
import { say } from "../../../web/page/layout.ts";
import { view } from "../../../web/page/view.ts";
import { Details } from "./details.ts";
import { toObservation } from "./links.ts";
import type { ObservationDetails, ObservationPage, ObservationPlace, ObservationRow } from "./messages.generated.ts";
import { settings } from "./settings.generated.ts";
import type { State, SubView } from "./state.ts";
import { deviceText, PHASES, short } from "./texts.ts";
import { button, copyTable, fill, healthDot, offer, saveTable, SearchField, select } from "./widgets.ts";
import { VirtualList } from "./virtual_list.ts";

const MOST_WAITING = 8;
const HINT = "Select an execution to see what produced it, its inputs and its code.";
const MOST_SAVED = 20_000;
const ALL_OPERATIONS = [["", "Operation"]] as const;
const ALL_MODULES = [["", "Module"]] as const;
const ALL_DEVICES = [["", "Device"]] as const;
const NAMES = [
  "number",
  "step",
  "wall",
  "name",
  "phase",
  "module",
  "op",
  "dtype",
  "shape",
  "device",
  "health",
  "nan",
  "infinite",
  "size",
  "minimum",
  "maximum",
  "l2",
] as const;

export class ExecutionView implements SubView {
  readonly element = make("div", { className: "debugger-split debugger-execution" });
  readonly tools: HTMLElement[];
  readonly list: VirtualList<ObservationRow>;
  #api: Api;
  #details: Details;
  #search = new SearchField(
    "Filter: operation, module, name (regex)",
    "Filter",
    (text) => view.write(settings.search, text),
  );
  #phase = select("Phase", [["", "Phase"]], "", (value) => view.write(settings.phase, value));
  #operation = select("Operation", ALL_OPERATIONS, "", (value) => view.write(settings.operation, value));
  #module = select("Module", ALL_MODULES, "", (value) => view.write(settings.module, value));
  #device = select("Device", ALL_DEVICES, "", (value) => view.write(settings.device, value));
  #bad = make("input", { type: "checkbox" });
  #count = make("span", { className: "count" });
  #only = make("span", { className: "debugger-only", hidden: true });
  #state: State | null = null;
  #filter = "";
  #key = "";
  #wanted = "";
  /** Key presses that move on from the selected execution, how many are waiting, and where the last one led. */
  #going: Promise<void> = Promise.resolve();
  #waiting = 0;
  #reached = "";

  constructor(api: Api, ended: AbortSignal) {
    this.#api = api;
    this.#details = new Details(api, ended);
    this.list = new VirtualList<ObservationRow>("Executions", {
      fetch: (offset, limit, signal) => this.#fetch(offset, limit, signal),
      draw: (row) => line(row),
      choose: (row) => view.write(settings.at, String(row.number)),
      open: () => this.#details.element.focus(),
    });
    this.#bad.addEventListener("change", () => view.write(settings.bad, this.#bad.checked));
    const head = make(
      "div",
      { className: "debugger-row head", "aria-hidden": "true" },
      ...["Step", "", "Tensor", "Operation", "Phase", "Minimum", "Maximum", "L2"].map((text) => make("span", {}, text)),
    );
    this.element.append(
      make("div", { className: "debugger-main" }, head, this.list.element),
      this.#details.element,
    );
    for (const filter of [this.#phase, this.#operation, this.#module, this.#device]) {
      filter.classList.add("debugger-filter");
    }
    this.tools = [
      this.#search.element,
      this.#phase,
      this.#operation,
      this.#module,
      this.#device,
      make("label", { className: "debugger-check" }, this.#bad, "Only non-finite"),
      this.#only,
      this.#count,
      button(
        "CSV",
        "Download the filtered executions as CSV",
        () => void this.#save().catch((error) => say(messageOf(error))),
        "download",
      ),
    ];
  }

  show(state: State): void {
    this.#state = state;
    const tensor = view.read(settings.tensor);
    fill(this.#search.field, view.read(settings.search));
    this.#bad.checked = view.read(settings.bad);
    offer(
      this.#phase,
      [["", "Phase"], ...state.overview.phases.map((phase): [string, string] => [phase, PHASES[phase]])],
      view.read(settings.phase),
    );
    const { operations, modules, devices } = state.overview;
    const same = (name: string): [string, string] => [name, name];
    choice(this.#operation, ALL_OPERATIONS, operations.map(({ name }) => same(name)), view.read(settings.operation));
    choice(this.#module, ALL_MODULES, modules.map(same), view.read(settings.module));
    const named = devices.map((name): [string, string] => [name, deviceText(name, devices)]);
    choice(this.#device, ALL_DEVICES, named, view.read(settings.device));
    const steps = view.read(settings.steps);
    this.#only.hidden = !tensor && !steps;
    this.#only.replaceChildren(
      [tensor && "one tensor", steps && `steps ${steps.replace(":", " to ")}`].filter(Boolean).join(", "),
      button("×", "Show all tensors and steps again", () =>
        view.update((_params, set) => {
          set(settings.tensor, "");
          set(settings.steps, "");
        })),
    );
    const filter = JSON.stringify(this.#parameters(state));
    const key = `${state.version} ${filter}`;
    if (key !== this.#key) {
      const same = this.#filter === filter;
      [this.#key, this.#filter] = [key, filter];
      this.list.reset(same);
      if (!same) this.#wanted = "";
    }
    const at = view.read(settings.at);
    void this.#showDetails(state);
    if (at !== this.#wanted) {
      this.#wanted = at;
      if (at !== "" && this.list.rowAt(this.list.selected)?.number !== Number(at)) void this.#goTo(Number(at));
    }
  }

  facts = () => ({
    total: this.list.total,
    selected: this.list.selected,
    details: this.#details.shown?.number ?? null,
  });

  /** Goes to the first input of the selected execution that is not finite. */
  walkUp(): void {
    this.#fromSelected((shown) => {
      if (!shown) say("Select an execution first");
      else if (shown.bad_input === null) say(shown.verdict);
      else toObservation(shown.bad_input);
    });
  }

  /** Goes to the next or previous execution of the same tensor. */
  along(by: 1 | -1): void {
    this.#fromSelected((shown) => {
      const next = by > 0 ? shown?.following : shown?.previous;
      if (next === null || next === undefined) say(`No ${by > 0 ? "later" : "earlier"} execution of this tensor`);
      else view.write(settings.at, String(next));
    });
  }

  #showDetails(state: State): Promise<void> {
    const at = view.read(settings.at);
    return this.#details.show(state, at === "" ? null : Number(at), HINT);
  }

  /**
   * Moves on from the selected execution once everything about it has loaded and earlier key presses are done, unless
   * another one has been chosen by hand in the meantime.
   */
  #fromSelected(go: (shown: ObservationDetails | null) => void): void {
    // A key that is held down repeats faster than answers arrive.
    if (this.#waiting >= MOST_WAITING) return;
    if (!this.#waiting) this.#reached = view.read(settings.at);
    this.#waiting += 1;
    const isMeant = () => this.element.isConnected && view.read(settings.at) === this.#reached;
    const follow = async () => {
      if (!this.#state || !isMeant()) return;
      await this.#showDetails(this.#state);
      const { shown } = this.#details;
      // The reason why nothing is known about it is shown instead.
      if (!isMeant() || (!shown && this.#reached !== "")) return;
      go(shown);
      this.#reached = view.read(settings.at);
    };
    this.#going = this.#going.then(follow)
      .catch((error) => say(messageOf(error)))
      .finally(() => this.#waiting -= 1);
  }

  focusSearch(): void {
    this.#search.focus();
  }

  toggleBad(): void {
    view.write(settings.bad, !view.read(settings.bad));
  }

  #parameters(state: State): Parameters {
    const [first, last] = view.read(settings.steps).split(":");
    return {
      id: state.id,
      q: view.read(settings.search),
      phase: view.read(settings.phase),
      op: view.read(settings.operation),
      module: view.read(settings.module),
      device: view.read(settings.device),
      bad: view.read(settings.bad),
      tensor: view.read(settings.tensor),
      first,
      last,
    };
  }

  async #fetch(offset: number, limit: number, signal: AbortSignal) {
    const page = await this.#api.ask<ObservationPage>(
      "observations",
      { ...this.#parameters(this.#state!), offset, limit },
      { signal },
    );
    this.#search.refuse(page.search_problem);
    this.#count.textContent = `${integer(page.total)} of ${integer(this.#state!.overview.observations)}`;
    return page;
  }

  async #goTo(number: number): Promise<void> {
    const state = this.#state!;
    const before = this.list.selected;
    const filter = this.#filter;
    const { place, total } = await this.#api.ask<ObservationPlace>("place", { ...this.#parameters(state), number })
      .catch(() => ({ place: -1, total: 0 }));
    const isLate = this.#filter !== filter || this.#wanted !== String(number) || this.list.selected !== before;
    if (!total || place < 0 || isLate) return;
    this.list.total = Math.max(this.list.total, total);
    this.list.select(place, false);
  }

  async #save(): Promise<void> {
    const rows: ObservationRow[] = [];
    const asked = this.#parameters(this.#state!);
    for (let total = Infinity; rows.length < Math.min(total, MOST_SAVED);) {
      const page = await this.#api.ask<ObservationPage>("observations", { ...asked, offset: rows.length, limit: 1000 });
      rows.push(...page.rows);
      total = page.rows.length ? page.total : 0;
    }
    if (rows.length >= MOST_SAVED) say(`The first ${integer(MOST_SAVED)} are saved; filter for others`);
    saveTable([NAMES, ...rows.map((row) => NAMES.map((name) => row[name]))], "executions.csv");
  }

  copySelected(): void {
    const row = this.list.rowAt(this.list.selected);
    if (row) copyTable([NAMES, NAMES.map((name) => row[name])]);
  }
}

/** Offers the available options; hidden if there are none. */
function choice(
  element: HTMLSelectElement,
  all: readonly (readonly [string, string])[],
  options: readonly (readonly [string, string])[],
  value: string,
): void {
  const gone: [string, string][] = value && !options.some(([own]) => own === value) ? [[value, value]] : [];
  offer(element, [...all, ...options, ...gone], value);
  element.hidden = !options.length && !value;
}

function line(row: ObservationRow): HTMLElement {
  const cells: [string, string][] = [
    [row.op || "–", "op"],
    [PHASES[row.phase], "phase"],
    [short(row.minimum), "number"],
    [short(row.maximum), "number"],
    [short(row.l2), "number"],
  ];
  return make(
    "div",
    {
      className: `debugger-row ${row.health}`,
      title: `${row.name}, ${row.dtype} ${row.shape}, ${[row.module, row.device].filter(Boolean).join(", ")}`,
    },
    make("span", { className: "number" }, stepText(row.step)),
    healthDot(row.health),
    make("span", { className: "name" }, row.name),
    ...cells.map(([text, className]) => make("span", { className }, text)),
  );
}
