/** The boxes that open from the sidebar: grouping, colors, columns and help. */
import { make, within } from "../../web/core/dom.ts";
import { popover } from "../../web/core/popover.ts";
import { messageOf } from "../../web/core/request.ts";
import type { Choice } from "../../web/core/setting.ts";
import { say } from "../../web/page/layout.ts";
import { view } from "../../web/page/view.ts";
import { quoted } from "./completion.ts";
import { detailOf, grouping, type Mode } from "./grouping.ts";
import { button, check, fitted, searchable, select } from "./widgets.ts";
import { write } from "./search.ts";
import { settings } from "./settings.generated.ts";
import { type RunFields, runs } from "./state.ts";

// --- grouping ------------------------------------------------------------------------------------------------

const MODES: [Mode, string][] = [
  ["none", "No groups"],
  ["seeds", "Seeds of the same configuration"],
  ["path", "Folder"],
  ["hparams", "Hyperparameters"],
  ["regex", "Regular expression"],
];

/** The initial specs of a grouping mode. */
function specsOf(mode: Mode, fields: RunFields): string[] {
  if (mode === "seeds") return ["seeds"];
  if (mode === "path") return ["path:1"];
  return mode === "hparams" ? fields.hparams.filter(({ differs }) => differs).slice(0, 1).map(({ spec }) => spec) : [];
}

function openGrouping(anchor: HTMLElement, fields: RunFields): void {
  const body = make("div", { className: "stack" });
  let mode = grouping(view.read(settings.group));
  const pick = (picked: Mode) => {
    mode = picked;
    view.write(settings.group, specsOf(mode, fields));
    draw(mode);
  };
  const draw = (focused?: Mode) => {
    const { seeds } = runs.around();
    const choices = MODES.flatMap(([name, label]) => {
      const text = name === "seeds" && seeds.settings
        ? `Seeds: ${seeds.runs} runs, ${seeds.settings} ${seeds.settings === 1 ? "configuration" : "configurations"}`
        : label;
      const entry = check(text, name === mode, () => pick(name), "group-mode");
      if (name === focused) requestAnimationFrame(() => entry.querySelector("input")?.focus());
      return name === mode ? [entry, ...details(name, fields)] : [entry];
    });
    body.replaceChildren(...choices, ...(mode === "none" ? [] : drawing()));
  };
  draw();
  popover.show(anchor, "Group runs", [make("h3", {}, "Group runs by"), body], {
    className: "run-settings",
    focus: body.querySelector<HTMLElement>("input:checked"),
  });
}

/** The options of a grouping mode. */
function details(mode: Mode, fields: RunFields): HTMLElement[] {
  const specs = view.read(settings.group);
  if (mode === "path") {
    const input = make("input", {
      type: "number",
      min: 1,
      max: 32,
      value: detailOf(specs, mode) ?? "1",
      "aria-label": "Folder depth",
    });
    input.addEventListener(
      "change",
      () => view.write(settings.group, [`path:${Math.min(Math.max(Number(input.value) || 1, 1), 32)}`]),
    );
    return [make("label", { className: "row detail" }, make("span", {}, "Folder depth"), input)];
  }
  if (mode === "regex") {
    const input = make("input", {
      type: "text",
      className: "text-field",
      value: detailOf(specs, mode) ?? "",
      placeholder: "lr_([0-9.]+)",
      "aria-label": "Regular expression",
      spellcheck: false,
    });
    input.addEventListener("change", () => view.write(settings.group, input.value ? [`regex:${input.value}`] : []));
    const hint = "Runs with the same text in parentheses are a group. Enter to apply.";
    return [make("div", { className: "detail" }, input, make("p", { className: "hint" }, hint))];
  }
  if (mode === "hparams") {
    const toggle = (spec: string, on: boolean) => {
      const rest = view.read(settings.group).filter((other) => other !== spec);
      view.write(settings.group, on ? [...rest, spec] : rest);
    };
    const entries = fields.hparams.map(({ label, spec }) => ({
      text: label,
      element: check(label, specs.includes(spec), (on) => toggle(spec, on)),
    }));
    const { parts } = searchable("Hyperparameters", entries, "No run has hyperparameters.");
    return [make("div", { className: "detail" }, ...parts)];
  }
  return [];
}

const LINES = { mean: "Mean", median: "Median", min: "Minimum", max: "Maximum" };
const BANDS = {
  none: "None",
  minmax: "Minimum to maximum",
  std: "Standard deviation",
  stderr: "Standard error",
  ci95: "95% confidence interval of the mean",
};
const ALIGNMENTS = { interpolate: "Interpolated", bucket: "In buckets" };

/** The options for how groups are drawn. */
function drawing(): HTMLElement[] {
  const choice = <T extends string>(label: string, labels: Record<T, string>, setting: Choice<T>) => {
    const options = setting.options.map((option) => [option, labels[option]] as const);
    return select(label, options, view.read(setting), (picked) => view.write(setting, picked));
  };
  return [
    make("h3", {}, "Draw a group as"),
    choice("Line", LINES, settings.line),
    choice("Band", BANDS, settings.band),
    choice("Unequal steps", ALIGNMENTS, settings.align),
    check(
      "Runs of the group as thin lines",
      view.read(settings.members),
      (on) => view.write(settings.members, on),
    ),
    make(
      "div",
      { className: "row" },
      button("Collapse all", "quiet", () => runs.foldAll(true)),
      button("Expand all", "quiet", () => runs.foldAll(false)),
    ),
  ];
}

// --- colors --------------------------------------------------------------------------------------------------

const TELLING: [string, string][] = [["auto", "Group (or run)"], ["run", "Run"], ["group", "Group"]];
const BY_COLOR = "run-color";

function openColors(anchor: HTMLElement, fields: RunFields): void {
  const chosen = view.read(settings.color);
  const pick = (spec: string) => view.write(settings.color, spec);
  const option = (spec: string, label: string) => check(label, chosen === spec, () => pick(spec), BY_COLOR);
  const fixed = TELLING.map(([spec, label]) => option(spec, label));
  const entries = [
    ...fields.hparams.map(({ spec, label }) => ({ text: label, element: option(spec, label) })),
    ...metricEntries(fields, (spec) => chosen === spec, pick, BY_COLOR),
  ];
  const { parts, field } = searchable("Hyperparameters and metrics", entries, "");
  const more = entries.length ? [make("h3", {}, "Or by the value of"), ...parts] : [];
  popover.show(anchor, "Colors", [make("h3", {}, "Color by"), ...fixed, ...more], {
    className: "run-settings",
    focus: field ?? fixed[0].querySelector("input"),
  });
}

/** Metrics, each with a choice for every statistic. */
function metricEntries(
  { metrics, statistics }: RunFields,
  isOn: (spec: string) => boolean,
  pick: (spec: string, on: boolean) => void,
  name?: string,
): { text: string; element: HTMLElement }[] {
  const short = fitted(metrics.map(({ tag }) => tag));
  return metrics.map(({ tag, spec: last }) => {
    const boxes = statistics.map((statistic) => {
      const spec = last.replace(/\.last$/, `.${statistic}`);
      return check(statistic, isOn(spec), (on) => pick(spec, on), name);
    });
    const element = make(
      "div",
      { className: "metric", title: tag },
      make("span", { className: "tag" }, make("bdi", {}, short(tag))),
      make("span", { className: "statistics" }, ...boxes),
    );
    return { text: tag, element };
  });
}

// --- columns -------------------------------------------------------------------------------------------------

function openColumns(anchor: HTMLElement, fields: RunFields): void {
  const own = view.read(settings.columns);
  let wanted = own.length ? own : runs.around().columns.map(({ spec }) => spec);
  const toggle = (spec: string, on: boolean) => {
    wanted = [...wanted.filter((other) => other !== spec && other !== "none"), ...(on ? [spec] : [])];
    // An empty list would mean the default columns.
    view.write(settings.columns, wanted.length ? wanted : ["none"]);
  };
  const entries = [
    ...fields.hparams.map(({ spec, label }) => ({
      text: label,
      element: check(label, wanted.includes(spec), (on) => toggle(spec, on)),
    })),
    ...metricEntries(fields, (spec) => wanted.includes(spec), toggle),
  ];
  const { parts, field } = searchable("Hyperparameters and metrics", entries, "No run has hyperparameters or scalars.");
  const reset = button("Reset", "quiet", () => {
    view.write(settings.columns, []);
    popover.close();
  }, { title: "The hyperparameters that differ" });
  popover.show(anchor, "Columns", [make("div", { className: "row" }, make("h3", {}, "Columns"), reset), ...parts], {
    className: "run-settings",
    focus: field,
  });
}

// --- help ----------------------------------------------------------------------------------------------------

function openHelp(anchor: HTMLElement, fields: RunFields): void {
  const examples = make("dl", { className: "examples" });
  for (const { text, meaning } of fields.examples) {
    const use = button(text, "example-search", () => {
      popover.close();
      write(text);
    }, { title: "Search for this" });
    examples.append(make("dt", {}, use), make("dd", {}, meaning));
  }
  const names = [
    ...fields.built_in,
    ...fields.hparams.map((field) => quoted(field.label)),
    ...fields.metrics.map((metric) => quoted(metric.tag)),
  ];
  const list = make("div", { className: "names" }, ...names.slice(0, 60).map((name) => make("code", {}, name)));
  if (names.length > 60) list.append(`and ${names.length - 60} more`);
  popover.show(anchor, "Search syntax", [
    make("h3", {}, "Search runs"),
    examples,
    make("h3", {}, "Names"),
    list,
    make(
      "p",
      { className: "hint" },
      "A metric is its last value; .min and .max are its minimum and maximum. Put other names in backquotes, such as `learning rate`. Tab completes a name.",
    ),
  ], { className: "run-settings search-help" });
}

const OPENERS: Record<string, (anchor: HTMLElement, fields: RunFields) => void> = {
  "runs-group": openGrouping,
  "runs-color": openColors,
  "runs-columns": openColumns,
  "runs-help": openHelp,
};
document.addEventListener("click", async (event) => {
  const opener = within(event, "button");
  if (!opener || !Object.hasOwn(OPENERS, opener.id)) return;
  const presses = popover.presses();
  try {
    const fields = await runs.fields();
    if (presses === popover.presses()) OPENERS[opener.id](opener, fields);
  } catch (error) {
    say(messageOf(error));
  }
});
