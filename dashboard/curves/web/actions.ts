// @ts-nocheck
// What can be done with cards of curves: pin, order, combine, resize, fill the window, limits, downloads.
import { curveCards } from "./cards.ts";
import { elements } from "../../web/core/dom.ts";
import { shortcuts } from "../../web/page/shortcuts.ts";
import { view } from "../../web/page/view.ts";

const DRAGGED = "application/x-stepscope-card";

let panel = "";
const make = (...parts) => elements.make(...parts);
// As the view is now: what the cards follow may be a step behind, and what was done since would be taken back.
const list = (name) => view.values(`${panel}.${name}`);
const assign = (name, values) => view.update((_params, set) => set(`${panel}.${name}`, values));
const cardOf = (element) => curveCards.find(element.closest(".card").dataset.key);

// --- menus -------------------------------------------------------------------------------------------------

function closeMenus() {
  document.querySelectorAll(".menu, .sheet").forEach((menu) => menu.remove());
}

function openMenu(button, ...items) {
  closeMenus();
  const menu = make("div", { className: "menu", role: "menu" }, ...items);
  document.body.append(menu);
  const place = button.getBoundingClientRect();
  menu.style.top = Math.min(place.bottom + 4, innerHeight - menu.offsetHeight - 6) + "px";
  menu.style.left = Math.max(6, place.right - menu.offsetWidth) + "px";
  const first = menu.querySelector("a, button, input");
  if (first) first.focus();
  return menu;
}

const item = (text, act) => make("button", { role: "menuitem", onclick: () => (closeMenus(), act()) }, text);
const heading = (text) => make("div", { className: "menu-heading" }, text);

function tableLink(format, key) {
  const query = new URLSearchParams([
    ["view", view.params().toString()],
    ["format", format],
    ...(key === undefined ? [] : [["key", key]]),
  ]);
  const link = make(
    "a",
    { href: `/api/${panel}/table?${query}`, download: "", role: "menuitem" },
    { csv: "CSV", json: "JSON", parquet: "Parquet" }[format],
  );
  link.addEventListener("click", () => setTimeout(closeMenus));
  return link;
}

function save(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const fileName = (title, ending) => (title.replace(/[^\w.-]+/g, "_").replace(/^_+|_+$/g, "") || "chart") + "." + ending;
const titleOf = (card) => card.element.querySelector("h3").title;

function cardMenu(card, button) {
  const title = titleOf(card);
  openMenu(
    button,
    heading("Every point, unsmoothed"),
    ...["csv", "json", "parquet"].map((format) => tableLink(format, card.key)),
    heading("The chart as it is"),
    item("PNG", async () => save(await card.plot.toPng(title, 2), fileName(title, "png"))),
    item("SVG", () => save(new Blob([card.plot.toSvg(title)], { type: "image/svg+xml" }), fileName(title, "svg"))),
    heading("Axes"),
    limits(card),
    item("Copy a link to this view", copyLink),
    ...(card.key.startsWith("[[")
      ? [item("Take apart", () => assign("chart", list("chart").filter((key) => key !== card.key)))]
      : []),
  );
}

function copyLink() {
  const url = view.link ? view.link() : location.href;
  elements.toClipboard(url);
}

/** Fields for the ends of the axes; empty ends fit the data. */
function limits(card) {
  const range = curveCards.rangeOf(card.key) || {};
  const right = card.chart && card.chart.lines.some((line) => line.side === "right");
  const axes = [["x", "x"], ["y", "y"], ...(right ? [["y2", "right"]] : [])];
  const fields = axes.map(([name, label]) => {
    const [low, high] = range[name] || ["", ""];
    const field = (which, value) =>
      make("input", {
        type: "number",
        step: "any",
        value: value === "" ? "" : Number(Number(value).toPrecision(6)),
        placeholder: which === 0 ? "from" : "to",
        "aria-label": `${label} ${which === 0 ? "from" : "to"}`,
      });
    return { name, inputs: [field(0, low), field(1, high)], label };
  });
  const form = make(
    "form",
    { className: "limits" },
    ...fields.map(({ label, inputs }) => make("label", {}, make("span", {}, label), ...inputs)),
    make("div", {}, make("button", { type: "submit" }, "Set"), make("button", { type: "reset" }, "Fit")),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const seen = card.plot.visibleRange();
    const next = {};
    for (const { name, inputs } of fields) {
      const [low, high] = inputs.map((input, index) => (input.value === "" ? NaN : Number(input.value)));
      if (Number.isNaN(low) && Number.isNaN(high)) continue;
      const pair = [Number.isNaN(low) ? seen[name][0] : low, Number.isNaN(high) ? seen[name][1] : high];
      inputs[1].setCustomValidity(pair[0] < pair[1] ? "" : "The end has to be above the beginning.");
      if (pair[0] >= pair[1]) return void inputs[1].reportValidity();
      next[name] = pair;
    }
    closeMenus();
    curveCards.setRange(card.key, Object.keys(next).length ? next : null);
  });
  form.addEventListener("input", () => fields.forEach(({ inputs }) => inputs[1].setCustomValidity("")));
  form.addEventListener("reset", () => (closeMenus(), curveCards.setRange(card.key, null)));
  return form;
}

// --- all cards ---------------------------------------------------------------------------------------------

function allMenu(button) {
  const cards = () => curveCards.all().filter((card) => card.chart && card.element.offsetParent);
  openMenu(
    button,
    heading("Every point of all tags"),
    ...["csv", "json", "parquet"].map((format) => tableLink(format)),
    heading("The charts on this page"),
    item("PNG", async () => save(await sheetPng(cards()), "charts.png")),
    item("SVG", () => save(new Blob([sheetSvg(cards())], { type: "image/svg+xml" }), "charts.svg")),
  );
}

const GAP = 16;

/** Charts side by side, as many in a row as on the page. */
function sheet(sizes) {
  const across = Math.max(1, Math.round(Math.sqrt(sizes.length)));
  const width = Math.max(...sizes.map((size) => size.width));
  const height = Math.max(...sizes.map((size) => size.height));
  const place = (index) => ({ x: (index % across) * (width + GAP), y: Math.floor(index / across) * (height + GAP) });
  const rows = Math.ceil(sizes.length / across);
  return { place, width: across * (width + GAP) - GAP, height: rows * (height + GAP) - GAP };
}

function sheetSvg(cards) {
  const drawn = cards.map((card) =>
    new DOMParser().parseFromString(card.plot.toSvg(titleOf(card)), "image/svg+xml").documentElement
  );
  const sizes = drawn.map((svg) => ({
    width: Number(svg.getAttribute("width")),
    height: Number(svg.getAttribute("height")),
  }));
  const { place, width, height } = sheet(sizes);
  const root = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  root.setAttribute("width", width);
  root.setAttribute("height", height);
  drawn.forEach((svg, index) => {
    const { x, y } = place(index);
    svg.setAttribute("x", x);
    svg.setAttribute("y", y);
    root.append(svg);
  });
  return new XMLSerializer().serializeToString(root);
}

async function sheetPng(cards) {
  const pictures = await Promise.all(
    cards.map(async (card) => createImageBitmap(await card.plot.toPng(titleOf(card), 2))),
  );
  const { place, width, height } = sheet(pictures);
  const canvas = make("canvas", { width, height });
  const context = canvas.getContext("2d");
  context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--surface");
  context.fillRect(0, 0, width, height);
  pictures.forEach((picture, index) => context.drawImage(picture, place(index).x, place(index).y));
  return new Promise((resolve) => canvas.toBlob(resolve));
}

// --- pin, full, height -------------------------------------------------------------------------------------

function pin(card) {
  const pinned = list("pin");
  assign("pin", pinned.includes(card.key) ? pinned.filter((key) => key !== card.key) : [...pinned, card.key]);
}

function fill(card) {
  assign("full", list("full")[0] === card.key ? [] : [card.key]);
}

function heights() {
  const pairs = list("height").map((
    entry,
  ) => [decodeURIComponent(entry.slice(0, entry.lastIndexOf(":"))), Number(entry.slice(entry.lastIndexOf(":") + 1))]);
  return new Map(pairs.filter(([, height]) => height >= 100 && height <= 2000));
}

function dress(card) {
  const { element, key } = card;
  element.classList.toggle("full", list("full")[0] === key);
  const pinned = list("pin").includes(key);
  element.classList.toggle("pinned", pinned);
  const button = element.querySelector(".act-pin");
  if (button) button.title = pinned ? "Take off the top" : "Pin to the top";
  const height = heights().get(key);
  element.querySelector(".curve").style.height = height && !element.classList.contains("full") ? height + "px" : "";
}

// The corner of a chart is pulled: its height stays.
document.addEventListener("pointerup", (event) => {
  const host = event.target.closest && event.target.closest(".curve");
  if (!host || !host.style.height) return;
  const card = cardOf(host);
  const height = Math.round(host.getBoundingClientRect().height);
  if (!card || heights().get(card.key) === height || card.element.classList.contains("full")) return;
  const entries = list("height").filter((entry) =>
    entry.slice(0, entry.lastIndexOf(":")) !== curveCards.entryKey(card.key)
  );
  assign("height", [...entries, `${curveCards.entryKey(card.key)}:${height}`]);
});

// --- order -------------------------------------------------------------------------------------------------

let dragged = null;

document.addEventListener("dragstart", (event) => {
  const head = event.target.closest && event.target.closest(".card > header[draggable]");
  if (!head) return;
  dragged = head.parentNode;
  event.dataTransfer.setData(DRAGGED, dragged.dataset.key);
  event.dataTransfer.effectAllowed = "move";
  dragged.classList.add("dragged");
});
document.addEventListener("dragover", (event) => {
  const over = target(event);
  document.querySelectorAll(".drop-before, .drop-behind").forEach((card) =>
    card.classList.remove("drop-before", "drop-behind")
  );
  if (!over) return;
  event.preventDefault();
  over.classList.add(isBehind(over, event) ? "drop-behind" : "drop-before");
});
document.addEventListener("dragend", () => {
  document.querySelectorAll(".drop-before, .drop-behind, .dragged").forEach((card) =>
    card.classList.remove("drop-before", "drop-behind", "dragged")
  );
  dragged = null;
});
document.addEventListener("drop", (event) => {
  const over = target(event);
  if (!over) return;
  event.preventDefault();
  move(dragged, over, isBehind(over, event));
});

function target(event) {
  const over = dragged && event.target.closest && event.target.closest(".card");
  return over && over !== dragged && over.parentNode === dragged.parentNode ? over : null;
}

function isBehind(card, event) {
  const box = card.getBoundingClientRect();
  return event.clientX > box.left + box.width / 2;
}

function move(card, over, behind) {
  const siblings = [...card.parentNode.children].filter((other) => other !== card);
  siblings.splice(siblings.indexOf(over) + (behind ? 1 : 0), 0, card);
  const keys = siblings.map((other) => other.dataset.key);
  const name = card.classList.contains("pinned") ? "pin" : keys[0].startsWith("[[") ? "chart" : "order";
  assign(name, [...list(name).filter((key) => !keys.includes(key)), ...keys]);
}

// --- several tags in one chart -----------------------------------------------------------------------------

const sidesOf = (key) => (key.startsWith("[[") ? JSON.parse(key) : [[key], []]);

async function combine(card) {
  closeMenus();
  const answer = await fetch(`/api/${panel}/names?` + new URLSearchParams({ view: view.params().toString() }));
  const { tags } = await answer.json();
  const [left, right] = sidesOf(card.key).map((side) => new Set(side));
  const search = make("input", { type: "search", placeholder: "Find a tag", "aria-label": "Find a tag" });
  const rows = tags.map((tag) => {
    const choice = (side, label) =>
      make("button", {
        type: "button",
        className: "side",
        "aria-pressed": String(side.has(tag)),
        onclick: (event) => toggle(tag, side, event.target.closest("li")),
      }, label);
    return make(
      "li",
      { "data-tag": tag },
      make("span", { title: tag }, tag),
      choice(left, "left"),
      choice(right, "right"),
    );
  });
  const items = make("ul", {}, ...rows);
  search.addEventListener("input", () => {
    const words = search.value.toLowerCase().split(/\s+/);
    rows.forEach((row) => (row.hidden = !words.every((word) => row.dataset.tag.toLowerCase().includes(word))));
  });
  function toggle(tag, side, row) {
    const other = side === left ? right : left;
    if (side.has(tag)) side.delete(tag);
    else {
      side.add(tag);
      other.delete(tag);
    }
    const [one, two] = row.querySelectorAll("button");
    one.setAttribute("aria-pressed", String(left.has(tag)));
    two.setAttribute("aria-pressed", String(right.has(tag)));
  }
  const done = make("button", { type: "submit", className: "primary" }, "Show");
  const form = make(
    "form",
    { className: "sheet combine", role: "dialog", "aria-label": "Tags of this chart" },
    make(
      "header",
      {},
      make("strong", {}, "Tags of this chart"),
      make("span", { className: "dim" }, "each on the left or the right axis"),
    ),
    search,
    items,
    make("footer", {}, make("button", { type: "button", onclick: closeMenus }, "Cancel"), done),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    closeMenus();
    if (!left.size && !right.size) return;
    const key = JSON.stringify([[...left], [...right]]);
    const others = list("chart").filter((entry) => entry !== card.key && entry !== key);
    if (left.size + right.size > 1 || right.size) assign("chart", [...others, key]);
    else assign("chart", others);
  });
  document.body.append(form);
  search.focus();
}

// --- wiring ------------------------------------------------------------------------------------------------

const ACTS = { reset: (card) => curveCards.setRange(card.key, null), pin, full: fill, menu: cardMenu, combine };

document.addEventListener("click", (event) => {
  const button = event.target.closest && event.target.closest("button");
  if (!event.target.closest(".menu, .sheet, .act-menu, .act-all, .act-combine")) closeMenus();
  if (!button) return;
  if (button.classList.contains("act-all")) return allMenu(button);
  if (!button.closest(".actions")) return;
  const act = Object.keys(ACTS).find((name) => button.classList.contains("act-" + name));
  const card = act && button.closest(".card").querySelector(".curve") && cardOf(button);
  if (card) ACTS[act](card, button);
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  if (document.querySelector(".menu, .sheet")) closeMenus();
  else if (panel && list("full").length) assign("full", []);
});

const KEYS = [
  ["drag", "Zoom into a box; a flat one is time alone, a narrow one values alone"],
  ["Shift drag", "Move"],
  ["Ctrl wheel", "Zoom at the pointer"],
  ["double click, 0", "Reset the zoom"],
  ["click", "Mark A, then B: values, changes and slopes below"],
  ["Left, Right", "Cursor by one point, on a chart that has the focus"],
  ["Enter", "Show the cursor's step on the Timeline, where it was profiled"],
  ["right click", "The steps profiled there; a click on the strip below opens one"],
  ["+, -", "Zoom, on a chart that has the focus"],
  ["Escape", "End what is under way; remove the marks"],
];
// The registry of keys is a later script.
document.addEventListener("DOMContentLoaded", () => {
  for (const [name, title] of [["scalars", "Scalars"], ["custom_scalars", "Custom scalars"]]) {
    shortcuts.register(name, title, KEYS);
  }
});

export const curveActions = {
  mounted(card, name) {
    panel = name;
    if (card.element.querySelector(".act-pin")) card.element.querySelector("header").draggable = true;
    dress(card);
  },
  /** The view changed. */
  follow(name) {
    panel = name;
    curveCards.all().forEach(dress);
  },
};
