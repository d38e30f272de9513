// @ts-nocheck
// The editor of custom scalar layouts (dashboard/panels/custom_scalars/routes.py).
import { elements } from "../../../web/core/dom.ts";
import { view } from "../../../web/page/view.ts";

const make = (...parts) => elements.make(...parts);

export interface Margin {
  value: string;
  lower: string;
  upper: string;
}
export interface Chart {
  title: string;
  multiline?: { tag: string[] };
  margin?: { series: Margin[] };
}
export interface Category {
  title: string;
  chart: Chart[];
  closed: boolean;
}

let categories: Category[] = [];
let folder = "";
let sheet = null;
let body = null;

const filled = (category) => ({ title: category.title || "", closed: !!category.closed, chart: category.chart || [] });

async function open() {
  close();
  const answer = await (await fetch("/api/custom_scalars/layout")).json();
  categories = (answer.layout.category || []).map(filled);
  folder = answer.folder;
  if (!categories.length) categories = [{ title: "Charts", closed: false, chart: [newChart()] }];
  body = make("div", { className: "layout-body" });
  const problem = make("span", { className: "problem", role: "alert" });
  sheet = make(
    "form",
    { className: "sheet layout", role: "dialog", "aria-label": "Layout of custom scalars" },
    make(
      "header",
      {},
      make("strong", {}, "Layout"),
      make("span", { className: "dim" }, "categories of charts, each of several tags"),
    ),
    body,
    make("button", {
      type: "button",
      className: "add",
      onclick: () => change(() => categories.push({ title: "", closed: false, chart: [newChart()] })),
    }, "Add a category"),
    make(
      "footer",
      {},
      problem,
      make("button", { type: "button", onclick: close }, "Cancel"),
      make("button", { type: "button", onclick: download, title: "Python that writes this layout" }, "Download Python"),
      make("button", {
        type: "submit",
        className: "primary",
        disabled: !folder,
        title: folder ? `Writes an event file into ${folder}` : "The log directory is no single local folder",
      }, "Save"),
    ),
  );
  sheet.addEventListener("submit", (event) => {
    event.preventDefault();
    save(problem);
  });
  document.body.append(sheet);
  render();
  const first = body.querySelector("input");
  if (first) first.focus();
}

function close() {
  if (sheet) sheet.remove();
  sheet = null;
}

const newChart = () => ({ title: "", multiline: { tag: [""] } });

function change(act) {
  act();
  render();
}

function render() {
  body.replaceChildren(...categories.map(categoryForm));
}

/** Buttons that move an entry of a list up, and take it away. */
function moves(list, index) {
  const swap = () => list.splice(index - 1, 2, list[index], list[index - 1]);
  return [
    make("button", { type: "button", title: "Move up", disabled: index === 0, onclick: () => change(swap) }, "↑"),
    make("button", { type: "button", title: "Remove", onclick: () => change(() => list.splice(index, 1)) }, "×"),
  ];
}

function text(value, label, set, list) {
  const input = make("input", {
    type: "text",
    value,
    placeholder: label,
    "aria-label": label,
    oninput: () => set(input.value),
    ...(list ? { list } : {}),
  });
  if (list) input.setAttribute("list", list);
  return input;
}

function categoryForm(category, index) {
  const closed = make("input", {
    type: "checkbox",
    checked: category.closed,
    onchange: () => (category.closed = closed.checked),
  });
  return make(
    "fieldset",
    {},
    make(
      "div",
      { className: "row" },
      text(category.title, "Category", (value) => (category.title = value)),
      make("label", {}, closed, "closed at first"),
      ...moves(categories, index),
    ),
    ...category.chart.map((chart, at) => chartForm(category, chart, at)),
    make(
      "button",
      { type: "button", className: "add", onclick: () => change(() => category.chart.push(newChart())) },
      "Add a chart",
    ),
  );
}

function chartForm(category, chart, index) {
  const kind = make(
    "select",
    { "aria-label": "Kind of chart", onchange: () => change(() => setKind(chart, kind.value)) },
    make("option", { value: "multiline" }, "Lines"),
    make("option", { value: "margin" }, "Margins"),
  );
  kind.value = chart.margin ? "margin" : "multiline";
  return make(
    "div",
    { className: "chart-form" },
    make(
      "div",
      { className: "row" },
      text(chart.title || "", "Chart", (value) => (chart.title = value)),
      kind,
      ...moves(category.chart, index),
    ),
    ...(chart.margin ? marginForms(chart) : patternForms(chart)),
  );
}

function setKind(chart, kind) {
  if (kind === "margin") {
    delete chart.multiline;
    chart.margin = { series: [{ value: "", lower: "", upper: "" }] };
  } else {
    delete chart.margin;
    chart.multiline = { tag: [""] };
  }
}

function patternForms(chart) {
  const tags = (chart.multiline = chart.multiline || { tag: [] }).tag || (chart.multiline.tag = []);
  return [
    ...tags.map((tag, index) => {
      const found = make("span", { className: "dim matches" });
      const input = text(tag, "Regular expression of tags", (value) => {
        tags[index] = value;
        tell(value, found);
      });
      tell(tag, found);
      return make("div", { className: "row" }, input, found, ...moves(tags, index));
    }),
    make("button", { type: "button", className: "add", onclick: () => change(() => tags.push("")) }, "Add tags"),
  ];
}

/** How many tags an expression matches now. */
async function tell(pattern, place) {
  if (!pattern) return void (place.textContent = "");
  const query = new URLSearchParams({ pattern: pattern.slice(0, 300), view: view.params().toString() });
  const answer = await (await fetch("/api/custom_scalars/matches?" + query)).json();
  place.textContent = answer.error ? "no expression" : `${answer.count} ${answer.count === 1 ? "tag" : "tags"}`;
  place.title = answer.error || (answer.tags || []).join("\n");
}

function marginForms(chart) {
  const series = chart.margin.series || (chart.margin.series = []);
  return [
    ...series.map((one, index) =>
      make(
        "div",
        { className: "row" },
        ...["value", "lower", "upper"].map((part) =>
          text(one[part] || "", `Tag of the ${part}`, (value) => (one[part] = value))
        ),
        ...moves(series, index),
      )
    ),
    make("button", {
      type: "button",
      className: "add",
      onclick: () => change(() => series.push({ value: "", lower: "", upper: "" })),
    }, "Add a line"),
  ];
}

/** The layout without what was left empty. */
function written() {
  const chartOf = (
    chart,
  ) => (chart.margin
    ? { title: chart.title, margin: { series: chart.margin.series.filter((one) => one.value) } }
    : { title: chart.title, multiline: { tag: chart.multiline.tag.filter(Boolean) } });
  const full = (chart) => (chart.margin ? chart.margin.series.length : chart.multiline.tag.length);
  return {
    category: categories.map(({ title, closed, chart }) => ({ title, closed, chart: chart.map(chartOf).filter(full) }))
      .filter(({ chart }) => chart.length),
  };
}

async function save(problem) {
  const answer = await fetch("/api/custom_scalars/layout", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(written()),
  });
  if (!answer.ok) return void (problem.textContent = (await answer.json()).detail);
  close();
  view.update((_params, set) => set("tab", ["custom_scalars"]));
}

function download() {
  const layout = {};
  for (const { title, chart } of written().category) {
    const charts = (layout[title] = layout[title] || {});
    for (const one of chart) {
      const lines = one.margin
        ? one.margin.series.flatMap(({ value, lower, upper }) => [value, lower, upper])
        : one.multiline.tag;
      charts[one.title] = [one.margin ? "Margin" : "Multiline", lines];
    }
  }
  const code =
    `from summary import SummaryWriter\n\nwith SummaryWriter("logs") as writer:\n    writer.add_custom_scalars(${
      JSON.stringify(layout, null, 4).replace(/\n/g, "\n    ")
    })\n`;
  const link = make("a", {
    href: URL.createObjectURL(new Blob([code], { type: "text/x-python" })),
    download: "layout.py",
  });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

document.addEventListener("click", (event) => {
  if (event.target.closest && event.target.closest(".act-layout")) open();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && sheet) close();
});
