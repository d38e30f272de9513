// @ts-nocheck
// What opens from the sidebar: grouping, colours, columns and help; and what is said around the table.
import { elements, storage } from "../../web/core/dom.ts";
import { popover } from "../../web/core/popover.ts";
import { runTable } from "./table.ts";
import { runs as pageRuns } from "./state.ts";
import { view } from "../../web/page/view.ts";

const make = (...args) => elements.make(...args);
const value = (name) => view.values(name)[0] || "";
const set = (name, values) => view.update((_params, assign) => assign(name, values));
const MOST_LISTED = 300;
const HINT = "stepscope-seeds-hint";

// --- parts ---------------------------------------------------------------------------------------------------

function button(text, className, act, props) {
  const found = make("button", { className, type: "button", ...props }, text);
  found.addEventListener("click", act);
  return found;
}

/**
 * A choice of one; `pick` gets its value.
 * @param options value and label
 */
function select(label, options: [string, string][], chosen, pick) {
  const found = make(
    "select",
    { "aria-label": label },
    ...options.map(([name, text]) => make("option", { value: name, selected: name === chosen }, text)),
  );
  found.addEventListener("change", () => pick(found.value));
  return make("label", { className: "row" }, make("span", {}, label), found);
}

function check(label, on, pick, type, name) {
  const input = make("input", { type: type || "checkbox", checked: on, name: name || "" });
  input.addEventListener("change", () => pick(input.checked));
  return make("label", { className: "check" }, input, make("bdi", {}, label));
}

/** A list that a field above narrows. */
function searchable(label, entries: { text: string; element: HTMLElement }[], empty) {
  const list = make("div", { className: "choices", role: "group", "aria-label": label });
  const field = make("input", {
    type: "search",
    className: "text-field",
    placeholder: "Search",
    "aria-label": "Search " + label.toLowerCase(),
  });
  const show = () => {
    const wanted = field.value.trim().toLowerCase();
    const found = entries.filter((entry) => entry.text.toLowerCase().includes(wanted));
    list.replaceChildren(...found.slice(0, MOST_LISTED).map((entry) => entry.element));
    if (found.length > MOST_LISTED) {
      list.append(make("p", { className: "hint" }, `${found.length - MOST_LISTED} more: search for them`));
    }
    if (!found.length) list.append(make("p", { className: "hint" }, entries.length ? "Nothing of that name" : empty));
  };
  field.addEventListener("input", show);
  show();
  return { field, list, parts: entries.length > 8 ? [field, list] : [list] };
}

// --- grouping ------------------------------------------------------------------------------------------------

const MODES = [
  ["none", "No groups"],
  ["seeds", "Seeds of the same training"],
  ["path", "Folder"],
  ["hparams", "Hyperparameters"],
  ["regex", "Regular expression"],
];

function grouping() {
  const specs = view.values("runs.group");
  const first = specs[0] || "";
  if (!first) return "none";
  return first === "seeds"
    ? "seeds"
    : first.startsWith("path:")
    ? "path"
    : first.startsWith("regex:")
    ? "regex"
    : "hparams";
}

function openGrouping(anchor, fields) {
  const body = make("div", { className: "stack" });
  let mode = grouping();
  const pick = (name) => {
    mode = name;
    if (name === "none") set("runs.group", []);
    if (name === "seeds") set("runs.group", ["seeds"]);
    if (name === "path") set("runs.group", ["path:1"]);
    const differing = fields.hparams.filter((field) => field.differs);
    if (name === "hparams") set("runs.group", differing.slice(0, 1).map((field) => field.spec));
    if (name === "regex") set("runs.group", []);
    draw(name);
  };
  const draw = (focused) => {
    const { settings, runs } = pageRuns.around().seeds;
    const choices = MODES.flatMap(([name, label]) => {
      const text = name === "seeds" && settings
        ? `Seeds: ${runs} runs, ${settings} ${settings === 1 ? "setting" : "settings"}`
        : label;
      const entry = check(text, name === mode, () => pick(name), "radio", "group-mode");
      if (name === focused) requestAnimationFrame(() => entry.querySelector("input").focus());
      return name === mode ? [entry, ...details(name, fields)] : [entry];
    });
    body.replaceChildren(...choices, ...(mode === "none" ? [] : drawing()));
  };
  draw("");
  popover.show(anchor, "Group runs", [make("h3", {}, "Group runs by"), body], {
    className: "run-settings",
    focus: body.querySelector("input:checked"),
  });
}

/** What belongs to a way of grouping. */
function details(mode, fields) {
  const specs = view.values("runs.group");
  if (mode === "path") {
    const depth = (specs.find((spec) => spec.startsWith("path:")) || "path:1").slice(5);
    const input = make("input", {
      type: "number",
      min: 1,
      max: 32,
      value: depth,
      "aria-label": "Folders from the top",
    });
    input.addEventListener(
      "change",
      () => set("runs.group", ["path:" + Math.min(Math.max(Number(input.value) || 1, 1), 32)]),
    );
    return [make("label", { className: "row detail" }, make("span", {}, "Folders from the top"), input)];
  }
  if (mode === "regex") {
    const pattern = (specs.find((spec) => spec.startsWith("regex:")) || "regex:").slice(6);
    const input = make("input", {
      type: "text",
      className: "text-field",
      value: pattern,
      placeholder: "lr_([0-9.]+)",
      "aria-label": "Regular expression",
      spellcheck: false,
    });
    input.addEventListener("change", () => set("runs.group", input.value ? ["regex:" + input.value] : []));
    return [
      make(
        "div",
        { className: "detail" },
        input,
        make("p", { className: "hint" }, "Runs with the same text in parentheses are a group. Enter to apply."),
      ),
    ];
  }
  if (mode === "hparams") {
    const toggle = (spec, on) => {
      const rest = view.values("runs.group").filter((other) => other !== spec);
      set("runs.group", on ? [...rest, spec] : rest);
    };
    const entries = fields.hparams.map((field) => ({
      text: field.label,
      element: check(field.label, specs.includes(field.spec), (on) => toggle(field.spec, on)),
    }));
    const { parts } = searchable("Hyperparameters", entries, "No run has hyperparameters.");
    return [make("div", { className: "detail" }, ...parts)];
  }
  return [];
}

/** How groups are drawn. */
function drawing() {
  const lines = [["mean", "Mean"], ["median", "Median"], ["min", "Minimum"], ["max", "Maximum"]];
  const bands = [["none", "None"], ["minmax", "Minimum to maximum"], ["std", "Standard deviation"], [
    "stderr",
    "Standard error",
  ], ["ci95", "95 % interval of the mean"]];
  const aligns = [["interpolate", "Interpolated"], ["bucket", "In buckets"]];
  return [
    make("h3", {}, "Draw a group as"),
    select("Line", lines, value("runs.line"), (name) => set("runs.line", [name])),
    select("Band", bands, value("runs.band"), (name) => set("runs.band", [name])),
    select("Steps that differ", aligns, value("runs.align"), (name) => set("runs.align", [name])),
    check(
      "Runs of the group as thin lines",
      value("runs.members") === "on",
      (on) => set("runs.members", [on ? "on" : "off"]),
    ),
    make(
      "div",
      { className: "row" },
      button("Fold all", "quiet", () => pageRuns.foldAll(true)),
      button("Unfold all", "quiet", () => pageRuns.foldAll(false)),
    ),
  ];
}

// --- colours -------------------------------------------------------------------------------------------------

function openColors(anchor, fields) {
  const chosen = value("runs.color");
  const option = (spec, label) => ({
    text: label,
    element: check(label, chosen === spec, () => set("runs.color", [spec]), "radio", "run-color"),
  });
  const fixed = [["auto", "The group, else the run"], ["run", "The run"], ["group", "The group"]].map(([spec, label]) =>
    option(spec, label).element
  );
  const metrics = fields.metrics.map((metric) => ({
    text: metric.tag,
    element: metricChoices(
      metric,
      fields.statistics,
      (spec) => chosen === spec,
      (spec) => set("runs.color", [spec]),
      "radio",
    ),
  }));
  const entries = [...fields.hparams.map((field) => option(field.spec, field.label)), ...metrics];
  const { parts, field } = searchable("Hyperparameters and metrics", entries, "");
  const more = entries.length ? [make("h3", {}, "Or by value"), ...parts] : [];
  popover.show(anchor, "Colours", [make("h3", {}, "Colours tell"), ...fixed, ...more], {
    className: "run-settings",
    focus: field.isConnected ? field : fixed[0].querySelector("input"),
  });
}

/** A metric with a choice for each statistic. */
function metricChoices(metric, statistics, on, pick, type) {
  const specs = statistics.map((statistic) => [statistic, metric.spec.replace(/\.last$/, "." + statistic)]);
  const boxes = specs.map(([statistic, spec]) =>
    check(statistic, on(spec), (checked) => pick(spec, checked), type, type === "radio" ? "run-color" : "")
  );
  return make(
    "div",
    { className: "metric", title: metric.tag },
    make("span", { className: "tag" }, make("bdi", {}, metric.tag)),
    make("span", { className: "statistics" }, ...boxes),
  );
}

// --- columns -------------------------------------------------------------------------------------------------

function openColumns(anchor, fields) {
  const chosen = () => pageRuns.around().columns.map((column) => column.spec);
  let wanted = view.values("runs.columns").length ? view.values("runs.columns") : chosen();
  const toggle = (spec, on) => {
    wanted = [...wanted.filter((other) => other !== spec && other !== "none"), ...(on ? [spec] : [])];
    // Nothing at all would mean the columns that come by themselves.
    set("runs.columns", wanted.length ? wanted : ["none"]);
  };
  const entries = [
    ...fields.hparams.map((field) => ({
      text: field.label,
      element: check(field.label, wanted.includes(field.spec), (on) => toggle(field.spec, on)),
    })),
    ...fields.metrics.map((metric) => ({
      text: metric.tag,
      element: metricChoices(metric, fields.statistics, (spec) => wanted.includes(spec), toggle),
    })),
  ];
  const { parts } = searchable("Hyperparameters and metrics", entries, "No run has hyperparameters or scalars.");
  const reset = button("Reset", "quiet", () => {
    set("runs.columns", []);
    popover.close();
  }, { title: "The hyperparameters that differ" });
  popover.show(anchor, "Columns", [make("div", { className: "row" }, make("h3", {}, "Columns"), reset), ...parts], {
    className: "run-settings",
    focus: parts[0].matches("input") ? parts[0] : null,
  });
}

// --- help ----------------------------------------------------------------------------------------------------

const EXAMPLES = [
  ["adam|sgd", "a regular expression over the names"],
  ["lr < 0.01 and loss.last < 0.2", "a condition on hyperparameters and metrics"],
  ['name ~ "adam" or not opt == "sgd"', "~ and !~ search in a text"],
  ["lr in (0.1, 0.01)", "one of several"],
  ["step >= 1000", "the furthest step"],
  ["`learning rate` > 0.1", "backquotes around other names"],
];

function openHelp(anchor, fields) {
  const examples = make("dl", { className: "examples" });
  for (const [text, meaning] of EXAMPLES) {
    const use = button(text, "example-search", () => {
      popover.close();
      write(text);
    }, { title: "Search for this" });
    examples.append(make("dt", {}, use), make("dd", {}, meaning));
  }
  const names = [
    ...fields.builtIn,
    ...fields.hparams.map((field) => quoted(field.label)),
    ...fields.metrics.map((metric) => quoted(metric.tag)),
  ];
  const list = make("div", { className: "names" }, ...names.slice(0, 60).map((name) => make("code", {}, name)));
  if (names.length > 60) list.append(`and ${names.length - 60} more`);
  popover.show(anchor, "What can be searched for", [
    make("h3", {}, "Search runs"),
    examples,
    make("h3", {}, "Names"),
    list,
    make(
      "p",
      { className: "hint" },
      "A metric is its last value; .min and .max are its least and greatest. Tab completes a name.",
    ),
  ], { className: "run-settings search-help" });
}

// --- the search field: completion ----------------------------------------------------------------------------

const field = () => (document.querySelector("#runs-search input") as HTMLInputElement | null);
const quoted = (
  name,
) => (/^[^\W\d][\w./-]*$/.test(name) && !["and", "or", "not", "in", "true", "false"].includes(name)
  ? name
  : "`" + name + "`");

/** Writes into the field as a hand would. */
function write(text) {
  const input = field();
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(input, text);
  input.dispatchEvent(new Event("input", { bubbles: true }));
  input.focus();
}

/** Names that may complete what is typed; they are asked for when the field gets the focus. */
let words: Promise<string[]> = Promise.resolve([]);
let list = null;

async function learnWords() {
  const fields = await pageRuns.fields();
  const metrics = fields.metrics.flatMap((metric) =>
    fields.statistics.map((statistic) => quoted(`${metric.tag}.${statistic}`))
  );
  return [...fields.builtIn, ...fields.hparams.map((one) => quoted(one.label)), ...metrics];
}

function closeList() {
  if (list) list.remove();
  list = null;
  const input = field();
  if (input) input.removeAttribute("aria-activedescendant");
}

/** The word at the caret, if one is being typed that names may complete. */
function word(input) {
  const before = input.value.slice(0, input.selectionStart || 0);
  const found = /(?:^|[\s(<>=~!,])(`[^`]*|[^\W\d][\w./-]*)$/.exec(before);
  return found && (found[1].startsWith("`") || found[1].length > 0)
    ? { text: found[1], start: before.length - found[1].length }
    : null;
}

async function offer() {
  const names = await words.catch(() => []);
  const input = field();
  closeList();
  const at = input === document.activeElement && word(input);
  if (!at) return;
  const wanted = at.text.replace(/^`/, "").toLowerCase();
  const fits = names.filter((name) => name.replace(/`/g, "").toLowerCase().includes(wanted) && name !== at.text);
  fits.sort((a, b) => Number(b.toLowerCase().startsWith(wanted)) - Number(a.toLowerCase().startsWith(wanted)));
  if (!fits.length) return;
  list = make(
    "ul",
    { className: "completions", role: "listbox", id: "run-completions" },
    ...fits.slice(0, 8).map((name, place) => {
      const entry = make(
        "li",
        { role: "option", id: "completion-" + place, "aria-selected": "false" },
        make("bdi", {}, name),
      );
      entry.addEventListener("pointerdown", (event) => {
        event.preventDefault();
        complete(name, at);
      });
      return entry;
    }),
  );
  const box = input.getBoundingClientRect();
  list.style.left = box.left + "px";
  list.style.top = box.bottom + 3 + "px";
  list.style.width = box.width + "px";
  document.body.append(list);
}

function complete(name, at) {
  const input = field();
  const rest = input.value.slice(input.selectionStart || 0);
  write(input.value.slice(0, at.start) + name + " " + rest.replace(/^ /, ""));
  const caret = at.start + name.length + 1;
  input.setSelectionRange(caret, caret);
  closeList();
}

function move(by) {
  const all = [...list.children];
  const now = all.findIndex((entry) => entry.getAttribute("aria-selected") === "true");
  const next = all[(now + by + all.length + (now < 0 && by < 0 ? 1 : 0)) % all.length];
  all.forEach((entry) => entry.setAttribute("aria-selected", String(entry === next)));
  field().setAttribute("aria-activedescendant", next.id);
}

function onSearchKey(event) {
  if (!list) return;
  const chosen = list.querySelector("[aria-selected=true]");
  if (event.key === "ArrowDown" || event.key === "ArrowUp") move(event.key === "ArrowDown" ? 1 : -1);
  else if (event.key === "Escape") closeList();
  else if (event.key === "Tab" || (event.key === "Enter" && chosen)) {
    complete((chosen || list.firstElementChild).textContent, word(field()));
  } else return;
  event.preventDefault();
  event.stopPropagation();
}

const inSearch = (event) => event.target === field();
document.addEventListener("focusin", (event) => inSearch(event) && (words = learnWords()));
document.addEventListener("focusout", (event) => inSearch(event) && closeList());
// After React has the text: it would undo what is written meanwhile.
document.addEventListener("input", (event) => inSearch(event) && event.isTrusted && setTimeout(offer));
document.addEventListener("keydown", (event) => inSearch(event) && onSearchKey(event), true);

// --- what is said around the table ---------------------------------------------------------------------------

const logdir = () => document.title + location.pathname;

function seedsHint() {
  const { settings, runs } = pageRuns.around().seeds;
  if (!settings || view.values("runs.group").length || storage.get(HINT) === logdir()) return [];
  const dismiss = button("", "icon-button", () => {
    storage.set(HINT, logdir());
    notes();
  }, { title: "Do not say this again", "aria-label": "Do not say this again" });
  dismiss.append(elements.icon("close", 11));
  const text = `${runs} runs are ${settings} ${settings === 1 ? "setting" : "settings"} with several seeds.`;
  return [
    make(
      "div",
      { className: "note" },
      make("span", {}, text),
      button("Group", "link", () => set("runs.group", ["seeds"])),
      dismiss,
    ),
  ];
}

function filterNote() {
  const left = runTable.filtered();
  if (left === null) return [];
  return [
    make(
      "div",
      { className: "note" },
      make("span", {}, `The columns' filters leave ${left} of ${pageRuns.rows.size} runs.`),
      button("Show only these", "link", () => pageRuns.only(runTable.passing().map((row) => row.run))),
      button("Clear", "link", () => runTable.clearFilters()),
    ),
  ];
}

export function notes() {
  const box = document.getElementById("runs-notes");
  if (!box) return;
  const error = pageRuns.around().groupError;
  const wrong = error ? [make("div", { className: "note bad", role: "alert" }, error)] : [];
  box.replaceChildren(...wrong, ...seedsHint(), ...filterNote());
}

function legend() {
  const box = document.getElementById("runs-legend");
  const told = pageRuns.around().legend;
  if (!box) return;
  if (!told) return box.replaceChildren();
  const title = make(
    "div",
    { className: "legend-title", title: told.label },
    make("bdi", {}, told.label),
    told.logarithmic ? make("span", { className: "dim" }, " logarithmic") : "",
  );
  if (told.entries) {
    const entries = told.entries.map((entry) => {
      const dot = make("i", { className: "run-dot" });
      dot.style.setProperty("--light", entry.light);
      dot.style.setProperty("--dark", entry.dark);
      return make("span", { className: "legend-entry", title: entry.value }, dot, make("bdi", {}, entry.value));
    });
    box.replaceChildren(
      title,
      make(
        "div",
        { className: "legend-entries" },
        ...entries,
        told.more ? make("span", { className: "dim" }, `${told.more} more`) : "",
      ),
    );
    return;
  }
  const bar = make("div", { className: "legend-bar" });
  bar.style.setProperty("--light", `linear-gradient(to right, ${told.light.join(",")})`);
  bar.style.setProperty("--dark", `linear-gradient(to right, ${told.dark.join(",")})`);
  const end = (number) => make("span", { title: runTable.full(number) }, runTable.short(number));
  box.replaceChildren(title, make("div", { className: "legend-scale" }, end(told.low), bar, end(told.high)));
}

/** The buttons say what is set. */
function buttons() {
  const mode = grouping();
  const say = (id, text, on) => {
    const found = document.getElementById(id);
    if (!found) return;
    found.lastElementChild.textContent = text;
    found.classList.toggle("set", on);
  };
  say(
    "runs-group",
    mode === "none" ? "Group" : { seeds: "Seeds", path: "Folder", hparams: "Hparams", regex: "Regex" }[mode],
    mode !== "none",
  );
  say("runs-color", "Colour", value("runs.color") !== "auto");
  say("runs-columns", "Columns", view.values("runs.columns").length > 0);
  const selected = document.getElementById("runs-selected");
  if (selected) selected.hidden = !pageRuns.view().selected.size;
}

const OPENERS = {
  "runs-group": openGrouping,
  "runs-color": openColors,
  "runs-columns": openColumns,
  "runs-help": openHelp,
};
document.addEventListener("click", async (event) => {
  const opener = event.target.closest && event.target.closest("button");
  if (!opener || !OPENERS[opener.id]) return;
  const presses = popover.presses();
  const fields = await pageRuns.fields();
  if (presses === popover.presses()) OPENERS[opener.id](opener, fields);
});
document.addEventListener("DOMContentLoaded", () =>
  pageRuns.onChange((what) => {
    notes();
    buttons();
    if (what === "rows") legend();
  }));
