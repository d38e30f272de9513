// The editor of custom scalar layouts (dashboard/panels/custom_scalars/routes.py).
import { openSheet } from "../../../curves/web/sheet.ts";
import { make } from "../../../web/core/dom.ts";
import { saveText } from "../../../web/core/download.ts";
import { integer } from "../../../web/core/numbers.ts";
import { popover } from "../../../web/core/popover.ts";
import { Api, messageOf } from "../../../web/core/request.ts";
import { say } from "../../../web/page/layout.ts";
import { view } from "../../../web/page/view.ts";
import {
  type Category,
  type Chart,
  type Margin,
  newCategory,
  newChart,
  newMargin,
  programOf,
  read,
  written,
} from "./layout.ts";
import type { LayoutAnswer, Matches, SavedLayout } from "./messages.generated.ts";

const LONGEST_PATTERN = 300;
/** The number of charts that a message names. */
const MOST_NAMED = 5;
const OTHERS = "Another layout was saved after you opened this editor. Save again to replace it, or cancel to see it.";
const PARTS: (keyof Margin)[] = ["value", "lower", "upper"];

const api = new Api("api/custom_scalars");
let categories: Category[] = [];
/** The version of the layout that is edited. */
let version = "";
const body = make("div", { className: "layout-body" });

/** Opens the editor. */
export async function open() {
  const presses = popover.presses();
  const answer = await api.ask<LayoutAnswer>("layout", {}).catch(messageOf);
  if (typeof answer === "string") return say(answer);
  if (presses !== popover.presses()) return;
  const { layout, folder } = answer;
  version = answer.version;
  categories = read(layout);
  if (!categories.length) categories = [newCategory("Charts")];
  const problem = make("span", { className: "problem", role: "alert" });
  const sheet = openSheet(
    "layout",
    "Layout of custom scalars",
    () => save(sheet, problem),
    make(
      "header",
      {},
      make("strong", {}, "Layout"),
      make("span", { className: "dim" }, "categories of charts, each of several tags"),
    ),
    body,
    adder("Add a category", () => categories.push(newCategory())),
    make(
      "footer",
      {},
      problem,
      make("button", { type: "button", onclick: () => sheet.close() }, "Cancel"),
      make(
        "button",
        { type: "button", onclick: download, title: "Python that writes this layout" },
        "Download Python code",
      ),
      make("button", {
        type: "submit",
        className: "primary",
        disabled: !folder,
        title: folder
          ? `Writes an event file into ${folder}`
          : "Cannot save: the log directory is not a single local folder. Download the Python code instead.",
      }, "Save"),
    ),
  );
  render();
  body.querySelector("input")?.focus();
}

async function save(sheet: HTMLDialogElement, problem: HTMLElement) {
  const button = sheet.querySelector<HTMLButtonElement>("button[type=submit]")!;
  button.disabled = true;
  const body = written(categories);
  const answer = await api.ask<SavedLayout>("layout", { version }, { body }).catch(messageOf);
  if (typeof answer === "string" || !answer.saved) {
    button.disabled = false;
    problem.textContent = typeof answer === "string" ? answer : OTHERS;
    if (typeof answer !== "string") version = answer.version;
    return;
  }
  if (!sheet.open) return;
  sheet.close();
  const [named, others] = [answer.stays.slice(0, MOST_NAMED), answer.stays.length - MOST_NAMED];
  const more = others > 0 ? [`${integer(others)} more`] : [];
  if (named.length) say(`Saved. Charts defined by the runs themselves are kept: ${[...named, ...more].join(", ")}`);
  view.update((_params, set) => set("tab", ["custom_scalars"]));
}

const download = () => saveText(programOf(categories), "layout.py", "text/x-python");

// --- the forms -----------------------------------------------------------------------------------------------

const render = () => body.replaceChildren(...categories.map(categoryForm));

function change(act: () => unknown) {
  act();
  render();
}

const adder = (label: string, act: () => unknown) =>
  make("button", { type: "button", className: "add", onclick: () => change(act) }, label);

/** Buttons that move an entry of a list up or remove it. */
function moves<T>(list: T[], index: number): HTMLButtonElement[] {
  const swap = () => list.splice(index - 1, 2, list[index], list[index - 1]);
  return [
    make("button", { type: "button", title: "Move up", disabled: index === 0, onclick: () => change(swap) }, "↑"),
    make("button", { type: "button", title: "Remove", onclick: () => change(() => list.splice(index, 1)) }, "×"),
  ];
}

function text(value: string, label: string, set: (value: string) => void): HTMLInputElement {
  const input = make("input", { type: "text", value, placeholder: label, "aria-label": label });
  input.addEventListener("input", () => set(input.value));
  return input;
}

const row = (...parts: Node[]) => make("div", { className: "row" }, ...parts);

function categoryForm(category: Category, index: number): HTMLElement {
  const closed = make("input", { type: "checkbox", checked: category.closed });
  closed.addEventListener("change", () => (category.closed = closed.checked));
  return make(
    "fieldset",
    {},
    row(
      text(category.title, "Category", (value) => (category.title = value)),
      make("label", {}, closed, "collapsed by default"),
      ...moves(categories, index),
    ),
    ...category.charts.map((chart, at) => chartForm(category.charts, chart, at)),
    adder("Add a chart", () => category.charts.push(newChart())),
  );
}

function chartForm(charts: Chart[], chart: Chart, index: number): HTMLElement {
  const kind = make(
    "select",
    { "aria-label": "Kind of chart" },
    make("option", { value: "multiline" }, "Lines"),
    make("option", { value: "margin" }, "Margins"),
  );
  kind.value = chart.kind;
  kind.addEventListener(
    "change",
    () => change(() => (charts[index] = newChart(chart.title, kind.value === "margin" ? "margin" : "multiline"))),
  );
  return make(
    "div",
    { className: "chart-form" },
    row(text(chart.title, "Chart", (value) => (chart.title = value)), kind, ...moves(charts, index)),
    ...(chart.kind === "margin" ? marginForms(chart.series) : patternForms(chart.tags)),
  );
}

function patternForms(tags: string[]): HTMLElement[] {
  const forms = tags.map((tag, index) => {
    const found = make("span", { className: "dim matches" });
    const input = text(tag, "Regular expression for tags", (value) => {
      tags[index] = value;
      void tell(value, found);
    });
    void tell(tag, found);
    return row(input, found, ...moves(tags, index));
  });
  return [...forms, adder("Add tags", () => tags.push(""))];
}

/** Shows how many tags an expression matches now. */
async function tell(pattern: string, place: HTMLElement) {
  place.dataset.pattern = pattern;
  if (!pattern) return void (place.textContent = "");
  const requested = { pattern: pattern.slice(0, LONGEST_PATTERN), view: view.query() };
  const found = await api.ask<Matches>("matches", requested).catch(messageOf);
  // Another expression may have been typed meanwhile.
  if (place.dataset.pattern !== pattern) return;
  if (typeof found === "string") return void Object.assign(place, { textContent: "not counted", title: found });
  const { count, tags, error } = found;
  place.textContent = error ? "invalid expression" : `${count} ${count === 1 ? "tag" : "tags"}`;
  place.title = error || tags.join("\n");
}

function marginForms(series: Margin[]): HTMLElement[] {
  const forms = series.map((one, index) =>
    row(
      ...PARTS.map((part) => text(one[part], `Tag of the ${part}`, (value) => (one[part] = value))),
      ...moves(series, index),
    )
  );
  return [...forms, adder("Add a line", () => series.push(newMargin()))];
}
