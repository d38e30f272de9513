/** The column of controls: target, rows, and, for each table column, its visibility and a filter. */
import { integer } from "../../../web/core/numbers.ts";
import { iconButton, make } from "../../../web/core/dom.ts";
import type { Choice, Setting } from "../../../web/core/setting.ts";
import { type Assign, view } from "../../../web/page/view.ts";
import { letPass, passes, valueEntries, type ValueFilters, valuesIn } from "./entries.ts";
import { keepFocus } from "./focus.ts";
import type { Column } from "./messages.generated.ts";
import { short } from "./scales.ts";
import { settings } from "./settings.generated.ts";
import { data, pairs, setPairs, update } from "./state.ts";

type Kind = Column["kind"];
type Options<T extends string = string> = readonly (readonly [value: T, text: string])[];
const SEARCHABLE = 8;
const LISTED = 40;

/** Open filters and search texts, kept while the page is open. */
const opened = new Set<string>();
const searched = { hparam: "", metric: "" };
/** A part of the column, and the state it was drawn from. */
interface Part {
  readonly element: HTMLElement;
  of: string;
}
let parts: Part[] = [];

function selectBox<T extends string>(
  label: string,
  setting: Setting<T>,
  options: Options<T>,
  title: string,
): HTMLSelectElement {
  const value = view.read(setting);
  const change = () => view.write(setting, options[select.selectedIndex][0]);
  const select = make("select", { ariaLabel: label, title, onchange: change });
  for (const [key, text] of options) select.append(make("option", { value: key }, text));
  select.value = options.some(([key]) => key === value) ? value : options[0][0];
  select.dataset.focus = setting.name;
  return select;
}

const field = (label: string, control: HTMLElement) =>
  make("div", { className: "field" }, make("span", { className: "dim" }, label), control);

const quiet = (text: string, title: string, onclick: () => void) =>
  make("button", { className: "quiet", title, onclick }, text);

/** A section with a heading. */
const section = (head: HTMLElement[], ...parts: HTMLElement[]) =>
  make("section", {}, make("div", { className: "section-head" }, ...head), ...parts);

// --- filters -----------------------------------------------------------------------------------------------

const valueFilters = (): ValueFilters => ({
  allowed: valuesIn(view.read(settings.values)),
  excluded: valuesIn(view.read(settings.without)),
});
function setValueFilters(set: Assign, { allowed, excluded }: ValueFilters): void {
  set(settings.values, valueEntries(allowed));
  set(settings.without, valueEntries(excluded));
}
function changeValueFilters(change: (filters: ValueFilters) => unknown): void {
  const filters = valueFilters();
  change(filters);
  update((set) => setValueFilters(set, filters));
}
function isFiltered(key: string): boolean {
  const { allowed, excluded } = valueFilters();
  return [allowed, excluded, pairs(settings.range)].some((filter) => filter.has(key));
}

function valueLine(column: Column, value: string, filters: ValueFilters): HTMLElement {
  const box = make("input", { type: "checkbox", checked: passes(filters, column.key, value) });
  box.onchange = () => changeValueFilters((changed) => letPass(changed, column, value, box.checked));
  box.dataset.focus = `value ${column.key} ${value}`;
  const text = value === "" ? "not set" : value;
  const only = () =>
    changeValueFilters(({ allowed, excluded }) => {
      allowed.set(column.key, new Set([value]));
      excluded.delete(column.key);
    });
  const label = make("label", { title: text }, box, make("span", {}, text));
  return make("div", { className: "value" }, label, quiet("only", `Only ${text}`, only));
}

function valueList(column: Column): HTMLElement {
  const filters = valueFilters();
  const lines = column.values.slice(0, LISTED).map((value) => valueLine(column, value, filters));
  const list = make("div", { className: "values" }, ...lines);
  if (column.count > LISTED) {
    list.append(make("span", { className: "dim" }, `and ${column.count - LISTED} more; search the table for them`));
  }
  return list;
}

function rangeInputs(column: Column): HTMLElement {
  const [low, high] = (pairs(settings.range).get(column.key) ?? ":").split(":");
  const known = column.values.map(Number).filter(Number.isFinite);
  const input = (name: string, value: string, bound: number) => {
    const made = make("input", {
      type: "text",
      inputMode: "decimal",
      value,
      placeholder: known.length && column.count === known.length ? short(bound) : name,
      ariaLabel: `${name} ${column.label}`,
      onchange: apply,
    });
    made.dataset.focus = `${name} ${column.key}`;
    return made;
  };
  const inputs = [input("min", low, Math.min(...known)), input("max", high, Math.max(...known))];
  function apply() {
    const texts = inputs.map((one) => one.value.trim());
    const wrong = texts.map((text) => Number.isNaN(Number(text)));
    inputs.forEach((one, at) => one.classList.toggle("wrong", wrong[at]));
    if (wrong.some(Boolean)) return;
    const map = pairs(settings.range).set(column.key, texts.some((text) => text !== "") ? texts.join(":") : "");
    update((set) => setPairs(set, settings.range, map));
  }
  return make("div", { className: "range" }, inputs[0], make("span", { className: "dim" }, "to"), inputs[1]);
}

function removeFilter(column: Column): void {
  update((set) => {
    const [filters, ranges] = [valueFilters(), pairs(settings.range)];
    for (const filter of [filters.allowed, filters.excluded, ranges]) filter.delete(column.key);
    setValueFilters(set, filters);
    setPairs(set, settings.range, ranges);
  });
}

function filterOf(column: Column): HTMLElement {
  const box = make("div", { className: "filter" });
  if (column.type === "number") box.append(rangeInputs(column));
  if (column.type === "text" || (column.count > 1 && column.count <= SEARCHABLE)) box.append(valueList(column));
  if (isFiltered(column.key)) {
    box.append(quiet("Remove filter", `Remove the filter on ${column.label}`, () => removeFilter(column)));
  }
  return box;
}

// --- lists of columns ----------------------------------------------------------------------------------------

const SHOWN_OF = { hparam: settings.hparams, metric: settings.metrics };

const show = (kind: Kind, columns: Column[]) =>
  view.write(SHOWN_OF[kind], columns.length ? columns.map((column) => column.key) : [""]);

/** Whether a column is wanted: as chosen, even if the data does not reflect it yet, or otherwise as in the data. */
function isWanted(column: Column): boolean {
  const chosen = view.read(SHOWN_OF[column.kind]);
  return chosen.length ? chosen.includes(column.key) : column.shown;
}

/** A name without enough room is truncated at its beginning, which the tags of a group share. */
function nameOf(label: string): HTMLElement {
  const cut = label.lastIndexOf("/") + 1;
  return make(
    "span",
    { className: "cut-name" },
    make("span", { className: "head" }, label.slice(0, cut)),
    make("span", { className: "tail" }, label.slice(cut)),
  );
}

const columnsOf = (kind: Kind) => data().all.filter((column) => column.kind === kind);
const isFound = (column: Column) => column.label.toLowerCase().includes(searched[column.kind]);

function columnLine(column: Column, all: Column[]): HTMLElement {
  const box = make("input", { type: "checkbox", checked: isWanted(column), ariaLabel: column.label });
  box.dataset.focus = `show ${column.kind} ${column.key}`;
  box.onchange = () => show(column.kind, all.filter((one) => (one === column ? box.checked : isWanted(one))));
  const open = opened.has(column.key);
  const toggle = iconButton("filter", `Filter by ${column.label}`, () => {
    if (!opened.delete(column.key)) opened.add(column.key);
    drawControls();
  }, 13);
  toggle.classList.toggle("filtered", isFiltered(column.key));
  toggle.ariaExpanded = String(open);
  toggle.dataset.focus = `filter ${column.key}`;
  const title = [column.label, column.about, column.constant ? "the same in all sessions" : ""].filter(Boolean);
  return make(
    "div",
    { className: "column" + (column.constant ? " constant" : "") },
    make("label", { title: title.join("\n") }, box, nameOf(column.label)),
    toggle,
    ...(open ? [filterOf(column)] : []),
  );
}

function columnList(kind: Kind, title: string): HTMLElement[] {
  const all = columnsOf(kind);
  if (!all.length) return [];
  const lines = all.map((column) => ({ column, element: columnLine(column, all) }));
  const narrow = () => lines.forEach(({ column, element }) => element.hidden = !isFound(column));
  narrow();
  const search = make("input", {
    type: "search",
    className: "search",
    placeholder: "Search",
    ariaLabel: `Search ${title.toLowerCase()}`,
    value: searched[kind],
  });
  search.dataset.focus = "search " + kind;
  search.oninput = () => {
    searched[kind] = search.value.toLowerCase();
    narrow();
  };
  const found = all.length > SEARCHABLE ? "all search results" : "all";
  const buttons = make(
    "span",
    { className: "section-buttons" },
    quiet(
      "All",
      `Show ${found}`,
      () => show(kind, all.filter((one) => isWanted(one) || isFound(one))),
    ),
    quiet(
      "None",
      `Hide ${found}`,
      () => show(kind, all.filter((one) => isWanted(one) && !isFound(one))),
    ),
    quiet(
      "Reset",
      kind === "hparam"
        ? "Show the columns that differ"
        : "Show the declared metrics, or the first few if none are declared",
      () => view.write(SHOWN_OF[kind], []),
    ),
  );
  const count = make("span", { className: "count" }, `${all.filter(isWanted).length} of ${all.length}`);
  const list = make("div", { className: "columns" }, ...lines.map(({ element }) => element));
  return [section([make("h3", {}, title), count, buttons], ...(all.length > SEARCHABLE ? [search] : []), list)];
}

function statusList(): HTMLElement[] {
  const { statuses } = data();
  const names = Object.keys(statuses);
  if (names.length < 2) return [];
  const chosen = view.read(settings.status);
  const passes = (name: string) => !chosen.length || chosen.includes(name);
  const boxes = names.map((name) => {
    const box = make("input", { type: "checkbox", checked: passes(name) });
    box.dataset.focus = "status " + name;
    box.onchange = () => {
      const kept = names.filter((one) => (one === name ? box.checked : passes(one)));
      view.write(settings.status, kept.length === names.length ? [] : kept);
    };
    const count = make("span", { className: "count" }, integer(statuses[name]));
    return make("label", {}, box, make("span", {}, name), count);
  });
  return [section([make("h3", {}, "Status")], make("div", { className: "statuses" }, ...boxes))];
}

const VALUES = { last: "last", min: "min", max: "max" };
const ROWS = {
  sessions: "every session",
  avg: "mean of group",
  median: "median of group",
  min: "min of group",
  max: "max of group",
};

const choiceBox = <T extends string>(label: string, setting: Choice<T>, texts: Record<T, string>, title: string) =>
  selectBox(label, setting, setting.options.map((option) => [option, texts[option]]), title);

function general(): HTMLElement {
  const { all, folders, groups, lower, sessions, target: chosen } = data();
  const parts: HTMLElement[] = [];
  if (folders.length) {
    const options: Options = [["", "all"], ...folders.map((name): [string, string] => [name, name])];
    const title = "Experiment or log directory: the first folder of the runs";
    parts.push(field("Folder", selectBox("Folder", settings.folder, options, title)));
  }
  const metrics = all.filter(({ kind }) => kind === "metric").map(({ key, label }): [string, string] => [key, label]);
  if (metrics.length) {
    const target = selectBox(
      "Target metric",
      settings.target,
      metrics,
      "The metric for colors, sorting and importance",
    );
    target.value = chosen;
    const better = { auto: `auto: ${lower ? "minimize" : "maximize"}`, lower: "minimize", higher: "maximize" };
    const title = "Whether lower or higher values of the target are better";
    parts.push(
      field("Target", target),
      field("Goal", choiceBox("Goal", settings.better, better, title)),
      field("Value", choiceBox("Value of a metric", settings.value, VALUES, "Which of a metric's values to use")),
    );
  }
  if (groups < sessions) {
    const title = "Sessions of one group, such as seeds of one configuration, as one row: " +
      "the mean of each metric and its standard deviation, or the session whose target is the median, min or max";
    const auto = `auto: ${data().all_rows < data().passing ? ROWS.avg : ROWS.sessions}`;
    parts.push(field("Rows", choiceBox("Rows", settings.rows, { auto, ...ROWS }, title)));
  }
  return make("section", {}, ...parts);
}

const { folder, target, better, value, rows, status, values, without, range, hparams, metrics } = settings;
/** What each part is drawn from: settings and data. */
const PARTS = [
  {
    settings: [folder, target, better, value, rows],
    data: () => {
      const { all, folders, groups, sessions, lower, target, all_rows, passing } = data();
      const named = all.filter(({ kind }) => kind === "metric").map(({ key, label }) => [key, label]);
      return [folders, named, target, lower, groups < sessions, all_rows < passing];
    },
    draw: () => [general()],
  },
  { settings: [status], data: () => data().statuses, draw: statusList },
  {
    settings: [values, without, range, metrics],
    data: () => columnsOf("metric"),
    draw: () => columnList("metric", "Metrics"),
  },
  {
    settings: [values, without, range, hparams],
    data: () => columnsOf("hparam"),
    draw: () => columnList("hparam", "Hyperparameters"),
  },
];

/** Draws the parts that have changed. The others stay as they are: a list in them may be open while data arrives. */
export function drawControls(): void {
  const aside = document.getElementById("hparams-controls");
  if (!aside) return;
  if (parts[0]?.element.parentElement !== aside) {
    parts = PARTS.map(() => ({ element: make("div", { className: "part" }), of: "" }));
    aside.replaceChildren(...parts.map(({ element }) => element));
  }
  const top = aside.scrollTop;
  PARTS.forEach((drawn, at) => {
    const of = JSON.stringify([drawn.data(), drawn.settings.map(({ name }) => view.values(name)), [...opened]]);
    const part = parts[at];
    if (part.of === of) return;
    part.of = of;
    keepFocus(part.element, () => part.element.replaceChildren(...drawn.draw()));
  });
  aside.scrollTop = top;
}
