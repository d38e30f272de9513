// @ts-nocheck
// The column of controls of the hparams panel: target, rows, and for every column whether it is shown and a filter.
import { coded, data as hparamsData, decoded, pairs, setPairs, setSetting, setting, settings } from "./index.ts";
import { elements } from "../../../web/core/dom.ts";
import { short } from "./scales.ts";
import { view } from "../../../web/page/view.ts";

const { make, icon } = elements;
const SEARCHABLE = 8;
const LISTED = 40;

/** Filters that are open, and what is searched for; while the page is open. */
const opened = new Set();
const searched = { hparam: "", metric: "" };
let shown = "";
let place = null;

const update = (change) => view.update((_params, set) => change(set));

function selectBox(label, name, options, title) {
  const value = setting(name);
  const select = make("select", {
    ariaLabel: label,
    title: title || label,
    onchange: () => setSetting(name, select.value),
  });
  for (const [key, text] of options) select.append(make("option", { value: key }, text));
  select.value = options.some(([key]) => key === value) ? value : options[0][0];
  select.dataset.focus = name;
  return select;
}

const field = (label, ...controls) =>
  make("div", { className: "field" }, make("span", { className: "dim" }, label), ...controls);

// --- filters -----------------------------------------------------------------------------------------------

/** Values that pass, by column; columns without an entry are not filtered. */
function allowed() {
  const found = new Map();
  for (const entry of settings("values")) {
    const [key, value] = entry.split(":").map(decoded);
    if (value !== undefined) found.set(key, (found.get(key) || new Set()).add(value));
  }
  return found;
}

function setAllowed(set, map) {
  const entries = [...map].flatMap(([key, values]) => [...values].map((value) => `${coded(key)}:${coded(value)}`));
  set("hparams.values", entries);
}

const isFiltered = (key) => allowed().has(key) || pairs("range").has(key);

export function removeFilters() {
  update((set) => ["values", "range", "status"].forEach((name) => set("hparams." + name, [])));
}

function toggleValue(column, value, on) {
  const map = allowed();
  const values = map.get(column.key) || new Set(column.values);
  if (on) values.add(value);
  else values.delete(value);
  if (values.size === column.values.length || !values.size) map.delete(column.key);
  else map.set(column.key, values);
  update((set) => setAllowed(set, map));
}

function onlyValue(column, value) {
  update((set) => setAllowed(set, allowed().set(column.key, new Set([value]))));
}

function valueList(column) {
  const passing = allowed().get(column.key);
  const list = make("div", { className: "values" });
  for (const value of column.values.slice(0, LISTED)) {
    const box = make("input", { type: "checkbox", checked: !passing || passing.has(value) });
    box.onchange = () => toggleValue(column, value, box.checked);
    box.dataset.focus = `value ${column.key} ${value}`;
    const text = value === "" ? "not set" : value;
    const only = make(
      "button",
      { className: "quiet", title: `Only ${text}`, onclick: () => onlyValue(column, value) },
      "only",
    );
    list.append(make("div", { className: "value" }, make("label", { title: text }, box, make("span", {}, text)), only));
  }
  if (column.count > LISTED) {
    list.append(make("span", { className: "dim" }, `and ${column.count - LISTED} more; search the table for them`));
  }
  return list;
}

function rangeInputs(column) {
  const [low, high] = (pairs("range").get(column.key) || ":").split(":");
  const bounds = make("div", { className: "range" });
  const known = column.values.map(Number).filter(Number.isFinite);
  const inputs = [["least", low, Math.min(...known)], ["most", high, Math.max(...known)]].map(
    ([name, value, bound]) => {
      const input = make("input", {
        type: "text",
        inputMode: "decimal",
        value,
        placeholder: known.length && column.count === known.length ? short(bound) : name,
        ariaLabel: `${name} ${column.label}`,
      });
      input.dataset.focus = `${name} ${column.key}`;
      input.onchange = () => {
        const texts = inputs.map((one) => one.value.trim());
        inputs.forEach((one, at) => one.classList.toggle("wrong", Number.isNaN(Number(texts[at]))));
        if (texts.some((text) => Number.isNaN(Number(text)))) return;
        const map = pairs("range");
        map.set(column.key, texts.some((text) => text !== "") ? texts.join(":") : "");
        update((set) => setPairs(set, "range", map));
      };
      return input;
    },
  );
  bounds.append(inputs[0], make("span", { className: "dim" }, "to"), inputs[1]);
  return bounds;
}

function filterOf(column) {
  const box = make("div", { className: "filter" });
  if (column.type === "number") box.append(rangeInputs(column));
  if (column.type === "text" || (column.count > 1 && column.count <= SEARCHABLE)) box.append(valueList(column));
  if (isFiltered(column.key)) {
    const reset = make(
      "button",
      { className: "quiet", title: `Remove the filter of ${column.label}` },
      "Remove filter",
    );
    reset.onclick = () =>
      update((set) => {
        const [values, ranges] = [allowed(), pairs("range")];
        values.delete(column.key);
        ranges.delete(column.key);
        setAllowed(set, values);
        setPairs(set, "range", ranges);
      });
    box.append(reset);
  }
  return box;
}

// --- lists of columns ----------------------------------------------------------------------------------------

const SETTING = { hparam: "hparams", metric: "metrics" };

function show(kind, keys) {
  setSetting(SETTING[kind], ...(keys.length ? keys : [""]));
}

/** Whether a column is wanted: as chosen, which the data may not follow yet, or else as the data has it. */
function isWanted(column) {
  const chosen = settings(SETTING[column.kind]);
  return chosen.length ? chosen.includes(column.key) : column.shown;
}

/** Of a name that finds no room the beginning is cut: tags of a group share it. */
function nameOf(label) {
  const cut = label.lastIndexOf("/") + 1;
  return make(
    "span",
    { className: "cut-name" },
    make("span", { className: "head" }, label.slice(0, cut)),
    make("span", { className: "tail" }, label.slice(cut)),
  );
}

function columnLine(column, all) {
  const box = make("input", { type: "checkbox", checked: isWanted(column), ariaLabel: column.label });
  box.dataset.focus = `show ${column.kind} ${column.key}`;
  box.onchange = () => {
    const keys = all.filter((one) => (one === column ? box.checked : isWanted(one))).map((one) => one.key);
    show(column.kind, keys);
  };
  const open = opened.has(column.key);
  const toggle = make("button", {
    className: "icon-button" + (isFiltered(column.key) ? " filtered" : ""),
    title: `Filter by ${column.label}`,
    ariaLabel: `Filter by ${column.label}`,
    ariaExpanded: String(open),
  }, icon("filter", 13));
  toggle.dataset.focus = `filter ${column.key}`;
  toggle.onclick = () => {
    if (!opened.delete(column.key)) opened.add(column.key);
    shown = "";
    drawControls();
  };
  const title = [column.label, column.about, column.constant ? "the same in all sessions" : ""].filter(Boolean).join(
    "\n",
  );
  const line = make(
    "div",
    { className: "column" + (column.constant ? " constant" : "") },
    make("label", { title }, box, nameOf(column.label)),
    toggle,
  );
  line.dataset.name = column.label.toLowerCase();
  if (open) line.append(filterOf(column));
  return line;
}

function columnList(kind, title) {
  const all = hparamsData().all.filter((column) => column.kind === kind);
  if (!all.length) return "";
  const list = make("div", { className: "columns" }, ...all.map((column) => columnLine(column, all)));
  const narrow = () => {
    for (const line of list.children) line.hidden = !line.dataset.name.includes(searched[kind]);
  };
  const visible = () => all.filter((column) => column.label.toLowerCase().includes(searched[kind]));
  const button = (text, hint, action) => make("button", { className: "quiet", title: hint, onclick: action }, text);
  const head = make(
    "div",
    { className: "section-head" },
    make("h3", {}, title),
    make("span", { className: "count" }, `${all.filter(isWanted).length} of ${all.length}`),
    make(
      "span",
      { className: "section-buttons" },
      button(
        "All",
        "Show all that the search finds",
        () =>
          show(
            kind,
            all.filter((column) => isWanted(column) || visible().includes(column)).map((column) => column.key),
          ),
      ),
      button("None", "Hide all that the search finds", () =>
        show(
          kind,
          all.filter((column) => isWanted(column) && !visible().includes(column)).map((column) => column.key),
        )),
      button(
        "Reset",
        kind === "hparam" ? "Show those that differ" : "Show the declared ones, or the first few",
        () => setSetting(SETTING[kind]),
      ),
    ),
  );
  const section = make("section", {}, head);
  if (all.length > SEARCHABLE) {
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
    section.append(search);
  }
  section.append(list);
  narrow();
  return section;
}

function statusList() {
  const { statuses } = hparamsData();
  const names = Object.keys(statuses);
  if (names.length < 2) return "";
  const passes = (name) => {
    const chosen = settings("status");
    return !chosen.length || chosen.includes(name);
  };
  const boxes = names.map((name) => {
    const box = make("input", { type: "checkbox", checked: passes(name) });
    box.dataset.focus = "status " + name;
    box.onchange = () => {
      const kept = names.filter((one) => (one === name ? box.checked : passes(one)));
      setSetting("status", ...(kept.length === names.length ? [] : kept));
    };
    return make(
      "label",
      {},
      box,
      make("span", {}, name),
      make("span", { className: "count" }, statuses[name].toLocaleString("en-US")),
    );
  });
  return make(
    "section",
    {},
    make("div", { className: "section-head" }, make("h3", {}, "Status")),
    make("div", { className: "statuses" }, ...boxes),
  );
}

function general() {
  const data = hparamsData();
  const metrics = data.all.filter((column) => column.kind === "metric").map((column) => [column.key, column.label]);
  const section = make("section", {});
  if (data.folders.length) {
    section.append(
      field(
        "Folder",
        selectBox(
          "Folder",
          "folder",
          [["", "all"], ...data.folders.map((name) => [name, name])],
          "Experiment or log directory: the first folder of the runs",
        ),
      ),
    );
  }
  if (metrics.length) {
    const target = selectBox("Target metric", "target", metrics, "What colours, sorting and importance are about");
    target.value = data.target;
    const better = selectBox("Which is better", "better", [["auto", `auto: ${data.lower ? "lower" : "higher"}`], [
      "lower",
      "lower",
    ], ["higher", "higher"]], "Whether lower or higher values of the target are better");
    section.append(field("Target", target), field("Better", better));
    section.append(
      field(
        "Value",
        selectBox(
          "Value of a metric",
          "value",
          [["last", "last"], ["min", "least"], ["max", "greatest"]],
          "Which of a metric's values is taken",
        ),
      ),
    );
  }
  if (data.groups < data.sessions) {
    section.append(
      field(
        "Rows",
        selectBox(
          "Rows",
          "rows",
          [["sessions", "every session"], ["avg", "groups: mean"], ["median", "groups: median session"], [
            "min",
            "groups: least session",
          ], ["max", "groups: greatest session"]],
          "Sessions of one group as one row: the mean of each metric, or the session whose target is the median, least or greatest",
        ),
      ),
    );
  }
  return section;
}

export function drawControls() {
  const aside = document.getElementById("hparams-controls");
  const data = hparamsData();
  if (!aside) return;
  const state = JSON.stringify([
    data.all,
    data.groups,
    data.sessions,
    data.statuses,
    data.folders,
    data.target,
    data.lower,
    ["folder", "target", "better", "value", "rows", "status", "values", "range", "hparams", "metrics"].map((name) =>
      settings(name)
    ),
    [...opened],
  ]);
  if (state === shown && place === aside) return;
  [shown, place] = [state, aside];
  const focused = aside.contains(document.activeElement) ? document.activeElement.dataset.focus : "";
  const top = aside.scrollTop;
  aside.replaceChildren(
    general(),
    statusList(),
    columnList("metric", "Metrics"),
    columnList("hparam", "Hyperparameters"),
  );
  aside.scrollTop = top;
  if (focused) aside.querySelector(`[data-focus="${CSS.escape(focused)}"]`)?.focus();
}
