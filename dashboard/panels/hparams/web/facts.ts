/** The line above the chart: the number of sessions, what they all have in common, and the selection. */
import { make } from "../../../web/core/dom.ts";
import { counted, integer } from "../../../web/core/numbers.ts";
import { runs } from "../../../runs/web/state.ts";
import { settings } from "./settings.generated.ts";
import { hasShades } from "./shades.ts";
import { clear, data, refusal, selectedRows, selectedRuns, update } from "./state.ts";

/** The state shown by each element, as text. */
const shown = new WeakMap<HTMLElement, string>();

/** Replaces an element's content unless it is already the same: it may be pressed or have the focus. */
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
  update((set) =>
    [settings.values, settings.without, settings.range, settings.status].forEach((list) => set(list, []))
  );
}

function selectionParts(chosen: number, rows: number | undefined): HTMLElement[] {
  const refused = refusal();
  const clearing = button("hparams-clear", "Clear", "Clear the selection and the brushes (Escape)", clear);
  if (refused) return [make("span", { className: "hparams-warning" }, refused), clearing];
  if (!chosen) return [];
  const { whole_table, all_rows, rows: sent } = data();
  const words = rows
    ? `${integer(rows)} of ${whole_table ? integer(all_rows) : `${integer(sent.length)} on the page`} selected`
    : `${chosen} selected, not in the table`;
  return [
    make("span", { className: "count" }, words),
    button(
      "hparams-only",
      "Show only these runs",
      "Hide all other runs in every tab",
      () => runs.only([...selectedRuns()]),
      "quiet strong",
    ),
    clearing,
  ];
}

function factParts(): HTMLElement[] {
  const { sessions, passing, rows, constant, whole_table, listed, all_rows, found, loading } = data();
  let words = counted(sessions, "session");
  if (passing < sessions) words = `${integer(passing)} of ${words}`;
  if (all_rows < passing) words += ` in ${counted(all_rows, "group")}`;
  if (loading) words += ", loading more…";
  const parts: HTMLElement[] = [make("span", { className: "count" }, words)];
  if (passing < sessions) {
    parts.push(button("hparams-unfilter", "Remove filters", "Remove every filter", removeFilters));
  }
  if (!whole_table) {
    const searched = found < all_rows ? `the search finds ${integer(found)}` : "";
    const order = loading ? ", sorted by metric once all have been read" : " in its sort order";
    const tabled = listed < found ? `the table has the first ${integer(listed)}${order}` : "";
    const chosen = hasShades()
      ? "charts draw these over a shaded density of all sessions"
      : `${integer(rows.length)} are drawn`;
    const drawn = rows.length < found ? chosen : "";
    const about = [searched, tabled, drawn].filter(Boolean).join(", ");
    const title =
      "Sort, search or filter to see other rows; downloads contain all rows. Charts draw the first rows of the table, " +
      `over the density of all sessions as shading. Brushes select among ${counted(rows.length, "row")}: the first, ` +
      "those with the smallest and largest values, and an even sample.";
    if (about) parts.push(make("span", { className: "count hparams-window", title }, about));
  }
  if (constant.length) {
    const text = constant.map(([name, value]) => `${name} = ${value === "" ? '""' : value}`).join(", ");
    const props = { className: "hparams-constant", title: "The same in all sessions: " + text };
    parts.push(make("span", props, make("span", { className: "dim" }, "constant: "), text));
  }
  return parts;
}

export function drawFacts(): void {
  const { sessions, passing, rows, constant, listed, all_rows, found, loading } = data();
  fill(
    "hparams-facts",
    [sessions, passing, rows.length, constant, listed, all_rows, found, loading, hasShades()],
    factParts,
  );
  const [chosen, among] = [selectedRuns().size, selectedRows()?.size];
  fill("hparams-selection", [refusal(), chosen, among, rows.length], () => selectionParts(chosen, among));
}
