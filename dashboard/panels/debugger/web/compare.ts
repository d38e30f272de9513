/** Compares two recordings: the first tensor that differs, and all that do. */
import { make, stepText } from "../../../web/core/dom.ts";
import { counted, integer } from "../../../web/core/numbers.ts";
import { type Api, isAbort, messageOf } from "../../../web/core/request.ts";
import { view } from "../../../web/page/view.ts";
import { toObservation } from "./links.ts";
import type { CompareAnswer, DifferenceRow } from "./messages.generated.ts";
import { settings } from "./settings.generated.ts";
import type { State, SubView } from "./state.ts";
import { figureText, kindOf, PHASES, short } from "./texts.ts";
import { button, copyTable, offer, saveTable, select } from "./widgets.ts";

const percent = (share: number) => `${Number((100 * Math.min(share, 1)).toPrecision(3))}%`;
const NAMES = [
  "tensor",
  "phase",
  "step",
  "figure",
  "value",
  "other_value",
  "relative",
  "largest",
  "differing",
  "compared",
];

export class CompareView implements SubView {
  readonly element = make("div", {
    className: "debugger-compare",
    tabIndex: 0,
    role: "region",
    "aria-label": "Comparison",
  });
  readonly tools: HTMLElement[];
  #api: Api;
  #other = select("Compare with", [["", "Compare with…"]], "", (value) => view.write(settings.other, value));
  #tolerance = select("Tolerance: relative differences up to this value are ignored", [], "", (value) => {
    const found = settings.tolerance.options.find((option) => option === value);
    if (found) view.write(settings.tolerance, found);
  });
  #key = "";
  #asking: AbortController | null = null;
  #found: CompareAnswer | null = null;

  constructor(api: Api) {
    this.#api = api;
    this.tools = [
      this.#other,
      this.#tolerance,
      button("Copy", "Copy the differences as CSV", () => copyTable(this.#rows()), "copy"),
      button("CSV", "Download the differences as CSV", () => saveTable(this.#rows(), "differences.csv"), "download"),
    ];
  }

  show(state: State): void {
    const others = state.recordings.filter(({ id }) => id !== state.id);
    // With only one other recording, there is nothing to choose.
    const named = view.read(settings.other);
    const other = named && named !== state.id ? named : others.length === 1 ? others[0].id : "";
    const tolerance = view.read(settings.tolerance);
    offer(
      this.#other,
      [["", "Compare with…"], ...others.map(({ id, label }): [string, string] => [id, label])],
      other,
    );
    offer(
      this.#tolerance,
      [...settings.tolerance.options].sort((a, b) => Number(a) - Number(b)).map((value): [string, string] => [
        value,
        value === "0" ? "exactly equal" : `within ${value}`,
      ]),
      tolerance,
    );
    const key = JSON.stringify([state.id, state.version, other, tolerance]);
    if (key === this.#key) return;
    this.#key = key;
    this.#asking?.abort();
    if (!other) {
      this.#found = null;
      return this.#say(
        others.length
          ? "Choose another recording above to see the first tensor whose health differs, and all others that differ."
          : "This log directory has no other recording to compare with.",
      );
    }
    void this.#load(state, other, tolerance);
  }

  facts = () => ({ differences: this.#found?.total ?? null });

  async #load(state: State, other: string, tolerance: string): Promise<void> {
    const asking = this.#asking = new AbortController();
    this.#say("Comparing…");
    try {
      const { signal } = asking;
      const found = await this.#api.ask<CompareAnswer>("compare", { id: state.id, other, tolerance }, { signal });
      if (signal.aborted) return;
      this.#found = found;
      this.#draw(found);
    } catch (error) {
      if (isAbort(error)) return;
      this.#key = "";
      this.#say(messageOf(error));
    }
  }

  #say(text: string): void {
    this.element.replaceChildren(make("p", { className: "debugger-hint" }, text));
  }

  #draw(found: CompareAnswer): void {
    const only = (title: string, names: readonly string[], total: number) =>
      total
        ? [
          make(
            "details",
            {},
            make("summary", {}, `${counted(total, "tensor")} ${title}`),
            make(
              "p",
              { className: "debugger-names" },
              names.join(", "),
              total > names.length ? ` and ${integer(total - names.length)} more` : "",
            ),
          ),
        ]
        : [];
    const heads = [
      "Tensor",
      "Phase",
      "First at step",
      "Statistic",
      "This recording",
      "Other recording",
      "Differs by",
      "Largest difference",
      "Values that differ",
    ];
    const rows = found.differences.map((row, at) => this.#row(row, at));
    this.element.replaceChildren(
      make(
        "div",
        { role: "status" },
        make("h2", { className: found.total || !found.compared ? "bad" : "good" }, found.sentence),
      ),
      make(
        "p",
        { className: "debugger-kind" },
        `Compared ${counted(found.compared, "pair")} of values from ${counted(found.matched, "tensor")}: ${
          counted(found.total, "tensor")
        } ${found.total === 1 ? "differs" : "differ"}`,
        found.left_out ? `; ${counted(found.left_out, "later value is", "later values are")} not compared` : "",
      ),
      ...only("only in this recording", found.only_first, found.only_first_total),
      ...only("only in the other recording", found.only_second, found.only_second_total),
      ...(rows.length
        ? [
          make(
            "table",
            {},
            make("thead", {}, make("tr", {}, ...heads.map((text) => make("th", {}, text)))),
            make("tbody", {}, ...rows),
          ),
        ]
        : []),
      ...(found.total > rows.length
        ? [make("p", { className: "debugger-none" }, `and ${integer(found.total - rows.length)} more`)]
        : []),
    );
  }

  #row(row: DifferenceRow, at: number): HTMLElement {
    const name = make(
      "button",
      { type: "button", className: "debugger-link", title: kindOf(row.tensor) },
      row.tensor.name,
    );
    name.addEventListener("click", () => toObservation(row.observation));
    const number = (text: string) => make("td", { className: "number" }, text);
    return make(
      "tr",
      { className: at ? "" : "first" },
      make("td", {}, name),
      make("td", {}, PHASES[row.tensor.phase]),
      number(stepText(row.step)),
      make("td", {}, figureText(row.figure)),
      number(short(row.value)),
      number(short(row.other_value)),
      number(percent(row.relative)),
      number(percent(row.largest)),
      number(`${integer(row.differing)} of ${integer(row.compared)}`),
    );
  }

  #rows() {
    return [
      NAMES,
      ...(this.#found?.differences ?? []).map((row) => [
        row.tensor.name,
        row.tensor.phase,
        row.step,
        row.figure,
        row.value,
        row.other_value,
        row.relative,
        row.largest,
        row.differing,
        row.compared,
      ]),
    ];
  }
}
