/** The line above the chart: how many sessions there are, what all have in common, and what is selected. */
import { make } from "../../../web/core/dom.ts";
import { counted, integer } from "../../../web/core/numbers.ts";
import { runs } from "../../../runs/web/state.ts";
import { settings } from "./settings.generated.ts";
import { clear, data, refusal, selectedRows, selectedRuns, update } from "./state.ts";

/** What elements show, as text. */
const shown = new WeakMap<HTMLElement, string>();

/** Replaces what an element shows, unless it shows the same already: a press or the focus may be on it. */
function fill(id: string, state: unknown[], parts: () => HTMLElement[]): void {
  const place = document.getElementById(id);
  const text = JSON.stringify(state);
  if (!place || shown.get(place) === text) return;
  shown.set(place, text);
  place.replaceChildren(...parts());
}

const button = (id: string, text: string, title: string, onclick: () => void, className = "quiet") =>
  make("button", { className, id, title, onclick }, text);

export function removeFilters(): void {
  update((set) => [settings.values, settings.range, settings.status].forEach((list) => set(list, [])));
}

function selectionParts(chosen: number, rows: number | undefined): HTMLElement[] {
  const refused = refusal();
  if (!chosen) return refused ? [make("span", { className: "hparams-warning" }, refused)] : [];
  const words = rows
    ? `${integer(rows)} of ${integer(data().rows.length)} selected`
    : `${chosen} selected, not in the table`;
  return [
    make("span", { className: refused ? "hparams-warning" : "count" }, refused || words),
    button(
      "hparams-only",
      "Show only these runs",
      "Hide all other runs in every tab",
      () => runs.only([...selectedRuns()]),
      "quiet strong",
    ),
    button("hparams-clear", "Clear", "Select nothing, remove brushes (Escape)", clear),
  ];
}

function factParts(): HTMLElement[] {
  const { sessions, passing, rows, constant } = data();
  let words = counted(sessions, "session");
  if (passing < sessions) words = `${integer(passing)} of ${words}`;
  if (rows.length < passing) words += ` in ${counted(rows.length, "group")}`;
  const parts: HTMLElement[] = [make("span", { className: "count" }, words)];
  if (passing < sessions) {
    parts.push(button("hparams-unfilter", "Remove filters", "Remove every filter", removeFilters));
  }
  if (constant.length) {
    const text = constant.map(([name, value]) => `${name} = ${value === "" ? '""' : value}`).join(", ");
    const props = { className: "hparams-constant", title: "The same in all sessions: " + text };
    parts.push(make("span", props, make("span", { className: "dim" }, "constant: "), text));
  }
  return parts;
}

export function drawFacts(): void {
  const { sessions, passing, rows, constant } = data();
  fill("hparams-facts", [sessions, passing, rows.length, constant], factParts);
  const [chosen, among] = [selectedRuns().size, selectedRows()?.size];
  fill("hparams-selection", [refusal(), chosen, among, rows.length], () => selectionParts(chosen, among));
}
