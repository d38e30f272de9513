/** Texts around the table of runs: the notes above it, the legend below it, and its buttons, which show what is set. */
import { counted, integer } from "../../web/core/numbers.ts";
import { setProps, settingId } from "../../web/core/dash.ts";
import { iconButton, make, storage } from "../../web/core/dom.ts";
import { view } from "../../web/page/view.ts";
import { grouping } from "./grouping.ts";
import { button } from "./widgets.ts";
import { settings } from "./settings.generated.ts";
import { runs, type ScaleLegend, type ValuesLegend } from "./state.ts";
import { clearFilters, filtered, onFilter, passing } from "./table.ts";
import { formatOf, full } from "./values.ts";

/** About as many rows as fit on the screen. */
const SEEN_AT_ONCE = 20;
const HINT = "stepscope-seeds-hint";
const logdir = () => document.title + location.pathname;

const note = (...parts: Node[]) => make("div", { className: "note" }, ...parts);

function seedsHint(): HTMLElement[] {
  const { seeds } = runs.around();
  if (!seeds.settings || view.read(settings.group).length || storage.get(HINT) === logdir()) return [];
  const dismiss = iconButton("close", "Don't show again", () => {
    storage.set(HINT, logdir());
    notes();
  }, 11);
  const text = seeds.settings === 1
    ? `${seeds.runs} runs look like one configuration with different seeds. Group them?`
    : `${seeds.runs} runs look like ${seeds.settings} configurations with different seeds. Group them?`;
  return [note(make("span", {}, text), button("Group", "link", () => view.write(settings.group, ["seeds"])), dismiss)];
}

function filterNote(): HTMLElement[] {
  const left = filtered();
  if (left === null) return [];
  const [few, all] = [integer(left), integer(runs.count())];
  const leave = runs.around().whole_table
    ? `match ${few} of ${all} runs.`
    : `match ${few} of the first ${integer(runs.countListed())} of ${all} runs; a search goes through all.`;
  return [note(
    make("span", {}, `Column filters ${leave}`),
    button("Show only these", "link", () => runs.only(passing().map(({ run }) => run))),
    button("Clear", "link", clearFilters),
  )];
}

/** Tells how many of the runs found by a search are shown. */
function searchNote(): HTMLElement[] {
  if (!runs.around().searched || filtered() !== null) return [];
  const [found, on] = [runs.count(), runs.countOn()];
  // Runs switched off by hand can be seen in the rows.
  if (on === found || (on > 0 && found <= SEEN_AT_ONCE)) return [];
  return [note(
    make(
      "span",
      {},
      `Showing ${on ? integer(on) : "none"} of ${counted(found, "run")} found.`,
    ),
    button("Show these", "link", runs.showFound),
  )];
}

/** Shown if the table does not list all rows. */
function lengthNote(): HTMLElement[] {
  if (runs.around().whole_table) return [];
  const listed = `The table lists the first ${integer(runs.countListed())} of ${integer(runs.count())} runs`;
  const rest = runs.hasMore() ? "; scroll down for more." : "; sort or search to see others.";
  return [note(make("span", {}, listed + rest))];
}

function notes(): void {
  const error = runs.around().group_error;
  const wrong = error ? [make("div", { className: "note bad", role: "alert" }, error)] : [];
  document.getElementById("runs-notes")?.replaceChildren(
    ...wrong,
    ...seedsHint(),
    ...filterNote(),
    ...searchNote(),
    ...lengthNote(),
  );
}

function legendOfValues({ entries, more }: ValuesLegend): HTMLElement {
  const dots = entries.map((entry) => {
    const dot = make("i", { className: "run-dot" });
    dot.style.setProperty("--light", entry.light);
    dot.style.setProperty("--dark", entry.dark);
    return make("span", { className: "legend-entry", title: entry.value }, dot, make("bdi", {}, entry.value));
  });
  const rest = more ? [make("span", { className: "dim" }, `${more} more`)] : [];
  return make("div", { className: "legend-entries" }, ...dots, ...rest);
}

function legendOfScale({ low, high, light, dark }: ScaleLegend): HTMLElement {
  const bar = make("div", { className: "legend-bar" });
  bar.style.setProperty("--light", `linear-gradient(to right, ${light.join(",")})`);
  bar.style.setProperty("--dark", `linear-gradient(to right, ${dark.join(",")})`);
  const written = formatOf([low, high]);
  const end = (number: number) => make("span", { title: full(number) }, written(number));
  return make("div", { className: "legend-scale" }, end(low), bar, end(high));
}

function legend(): void {
  const reported = runs.around().legend;
  const title = (more: string) =>
    make(
      "div",
      { className: "legend-title", title: reported?.label },
      make("bdi", {}, reported?.label ?? ""),
      ...(more ? [make("span", { className: "dim" }, more)] : []),
    );
  const parts = !reported
    ? []
    : "entries" in reported
    ? [title(""), legendOfValues(reported)]
    : [title(reported.logarithmic ? " logarithmic" : ""), legendOfScale(reported)];
  document.getElementById("runs-legend")?.replaceChildren(...parts);
}

const MODES = { none: "Group", seeds: "Seeds", path: "Folder", hparams: "Hparams", regex: "Regex" };

/** Makes the buttons show what is set. */
function buttons(): void {
  const say = (id: string, text: string, on: boolean) => {
    const found = document.getElementById(id);
    if (found?.lastElementChild) found.lastElementChild.textContent = text;
    found?.classList.toggle("set", on);
  };
  const mode = grouping(view.read(settings.group));
  say("runs-group", MODES[mode], mode !== "none");
  say("runs-color", "Color", view.read(settings.color) !== settings.color.default);
  say("runs-columns", "Columns", view.read(settings.columns).length > 0);
  const selected = document.getElementById("runs-selected");
  if (selected) selected.hidden = !runs.view().selected.size;
}

onFilter(notes);
runs.onChange((what) => {
  notes();
  buttons();
  if (what !== "rows") return;
  legend();
  setProps(settingId("run_filter"), { placeholder: runs.around().placeholder });
});
