// The menus of a card of curves, and of all of them: downloads, pictures, limits of the axes.
import { make, toClipboard } from "../../web/core/dom.ts";
import { saveBlob, saveText } from "../../web/core/download.ts";
import { popover } from "../../web/core/popover.ts";
import type { Range } from "../../web/lines/scale.ts";
import type { AxisName, Zoom } from "../../web/lines/scene.ts";
import { view } from "../../web/page/view.ts";
import { isCombined } from "./entries.ts";
import { pngOf, sheetPng, sheetSvg, svgOf } from "./pictures.ts";
import { allCards, assign, type Card, list, setRange, state, titleOf } from "./state.ts";

const FORMATS = { csv: "CSV", json: "JSON", parquet: "Parquet" };
const SVG = "image/svg+xml";

const heading = (text: string) => make("div", { className: "menu-heading" }, text);

function item(text: string, act: () => unknown): HTMLElement {
  const button = make("button", { type: "button", role: "menuitem" }, text);
  button.addEventListener("click", () => {
    popover.close();
    act();
  });
  return button;
}

/** Links to tables of every point: of one card, or of all tags. */
function tables(key?: string): HTMLAnchorElement[] {
  return Object.entries(FORMATS).map(([format, text]) => {
    const query = new URLSearchParams({ view: view.query(), format, ...(key === undefined ? {} : { key }) });
    const link = make(
      "a",
      { href: `/api/${state.panel}/table?${query}`, download: "", role: "menuitem" },
      text,
    );
    link.addEventListener("click", () => setTimeout(() => popover.close()));
    return link;
  });
}

function openMenu(button: HTMLElement, label: string, title: string, links: HTMLElement[], ...others: Node[]) {
  const content = [heading(title), ...links, ...others];
  popover.show(button, label, content, { role: "menu", className: "menu", focus: links[0], atEnd: true });
}

const fileName = (title: string, ending: string) =>
  (title.replace(/[^\w.-]+/g, "_").replace(/^_+|_+$/g, "") || "chart") + "." + ending;

export function cardMenu(card: Card, button: HTMLElement): void {
  const title = titleOf(card);
  openMenu(
    button,
    "Limits and downloads",
    "Every point, unsmoothed",
    tables(card.key),
    heading("The chart as it is"),
    item("PNG", async () => saveBlob(await pngOf(card), fileName(title, "png"))),
    item("SVG", () => saveText(svgOf(card), fileName(title, "svg"), SVG)),
    heading("Axes"),
    limits(card),
    item("Copy a link to this view", () => toClipboard(view.link())),
    ...(isCombined(card.key)
      ? [item("Take apart", () => assign("chart", list("chart").filter((key) => key !== card.key)))]
      : []),
  );
}

export function allMenu(button: HTMLElement): void {
  const cards = () => allCards().filter((card) => card.chart && card.element.offsetParent);
  openMenu(
    button,
    "Downloads",
    "Every point of all tags",
    tables(),
    heading("The charts on this page"),
    item("PNG", async () => saveBlob(await sheetPng(cards()), "charts.png")),
    item("SVG", () => saveText(sheetSvg(cards()), "charts.svg", SVG)),
  );
}

/** Fields for the ends of the axes; empty ends fit the data. */
function limits(card: Card): HTMLFormElement {
  const range = state.ranges.get(card.key) ?? {};
  const axes: [AxisName, string][] = [["x", "x"], ["y", "y"]];
  if (card.chart?.lines.some((line) => line.side === "right")) axes.push(["y2", "right"]);
  const fields = axes.map(([axis, label]) => {
    const field = (placeholder: "from" | "to", edge: number | undefined) =>
      make("input", {
        type: "number",
        step: "any",
        value: edge === undefined ? "" : Number(edge.toPrecision(6)),
        placeholder,
        "aria-label": `${label} ${placeholder}`,
      });
    return { axis, label, low: field("from", range[axis]?.[0]), high: field("to", range[axis]?.[1]) };
  });
  const form = make(
    "form",
    { className: "limits" },
    ...fields.map(({ label, low, high }) => make("label", {}, make("span", {}, label), low, high)),
    make("div", {}, make("button", { type: "submit" }, "Set"), make("button", { type: "reset" }, "Fit")),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const seen = card.plot.visibleRange();
    const next: Zoom = {};
    for (const { axis, low, high } of fields) {
      if (low.value === "" && high.value === "") continue;
      const end = ({ value }: HTMLInputElement, otherwise: number) => (value === "" ? otherwise : Number(value));
      const [least, most] = seen[axis] ?? [NaN, NaN];
      const pair: Range = [end(low, least), end(high, most)];
      if (!(pair[0] < pair[1])) {
        high.setCustomValidity("The end has to be above the beginning.");
        return void high.reportValidity();
      }
      next[axis] = pair;
    }
    popover.close();
    setRange(card.key, Object.keys(next).length ? next : null);
  });
  form.addEventListener("input", () => fields.forEach(({ high }) => high.setCustomValidity("")));
  form.addEventListener("reset", () => {
    popover.close();
    setRange(card.key, null);
  });
  return form;
}
