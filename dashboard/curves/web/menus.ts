// The menus of a single card of curves and of all of them: downloads, pictures, axis limits.
import { make } from "../../web/core/dom.ts";
import { fileName, saveBlob, saveText } from "../../web/core/download.ts";
import { popover } from "../../web/core/popover.ts";
import { messageOf } from "../../web/core/request.ts";
import type { Range } from "../../web/lines/scale.ts";
import type { AxisName, Zoom } from "../../web/lines/scene.ts";
import { copyLink, say } from "../../web/page/layout.ts";
import { view } from "../../web/page/view.ts";
import { load } from "./cards.ts";
import { edgeText, isCombined, type Own, ownOf as ownEntries, withOwn } from "./entries.ts";
import type { LineAbout } from "./messages.generated.ts";
import { pngOf, sheetPng, sheetSvg, svgOf } from "./pictures.ts";
import { rounded, smoothingField } from "./smoothing_box.ts";
import {
  allCards,
  assign,
  canShare,
  type Card,
  isZoomed,
  list,
  rangeOf,
  resetRange,
  resetRanges,
  setRange,
  shareRange,
  state,
  titleOf,
} from "./state.ts";

type Side = LineAbout["side"];

const FORMATS = { csv: "CSV", json: "JSON", parquet: "Parquet" };
const SVG = "image/svg+xml";

const heading = (text: string) => make("div", { className: "menu-heading" }, text);

function item(text: string, act: () => unknown): HTMLElement {
  const button = make("button", { type: "button" }, text);
  button.addEventListener("click", async () => {
    popover.close();
    try {
      await act();
    } catch (error) {
      say(messageOf(error));
    }
  });
  return button;
}

/** Links to tables of every point of one card, or of all tags. */
function tables(key?: string): HTMLAnchorElement[] {
  return Object.entries(FORMATS).map(([format, text]) => {
    const query = new URLSearchParams({ view: view.query(), format, ...(key === undefined ? {} : { key }) });
    const link = make("a", { href: `api/${state.panel}/table?${query}`, download: "" }, text);
    link.addEventListener("click", () => setTimeout(() => popover.close()));
    return link;
  });
}

function openMenu(button: HTMLElement, label: string, title: string, links: HTMLElement[], ...others: Node[]) {
  const content = [heading(title), ...links, ...others];
  popover.show(button, label, content, { className: "menu", focus: links[0], atEnd: true });
}

export function cardMenu(card: Card, button: HTMLElement): void {
  const { key } = card;
  const name = fileName(titleOf(card), "chart");
  const own = ownForm(card);
  const content = [
    heading("This card"),
    own,
    heading("Limits of the axes"),
    limits(card),
    ...(canShare(key) ? [item("Apply this zoom to all cards", () => shareRange(key))] : []),
    ...(isZoomed() ? [item("Reset the zoom of all cards", resetRanges)] : []),
    heading("All points, unsmoothed"),
    make("div", { className: "formats" }, ...tables(key)),
    heading("Chart as shown"),
    make(
      "div",
      { className: "formats" },
      item("PNG", async () => saveBlob(await pngOf(card), `${name}.png`)),
      item("SVG", () => saveText(svgOf(card), `${name}.svg`, SVG)),
    ),
    item("Copy a link to this view", () => copyLink()),
    ...(isCombined(key) ? [item("Split", () => assign("chart", list("chart").filter((other) => other !== key)))] : []),
    item("Reset this card", () => {
      assign("card", withOwn(list("card"), key, {}));
      if (state.ranges.has(key)) resetRange(key);
    }),
  ];
  popover.show(button, "Settings, limits and downloads", content, { className: "menu card-menu", atEnd: true });
}

/** Saves a picture of all charts of the page, of which those that were never on the screen are loaded first. */
async function savePage(save: (cards: readonly Card[]) => Promise<void> | void): Promise<void> {
  const cards = () => allCards().filter(({ element }) => element.offsetParent);
  const drawn = () => cards().filter(({ chart }) => chart);
  let why = "There is no chart on this page.";
  if (drawn().length < cards().length) say("Loading charts…");
  try {
    await load(cards());
  } catch (error) {
    why = messageOf(error);
  }
  const [all, found] = [cards().length, drawn()];
  if (!found.length) throw new Error(why);
  await save(found);
  if (found.length < all) say(`${all - found.length} of ${all} charts are missing: ${why}`);
}

export function allMenu(button: HTMLElement): void {
  openMenu(
    button,
    "Downloads",
    "All points of all tags",
    tables(),
    heading("Charts on this page"),
    item("PNG", () => savePage(async (cards) => saveBlob(await sheetPng(cards), "charts.png"))),
    item("SVG", () => savePage((cards) => saveText(sheetSvg(cards), "charts.svg", SVG))),
  );
}

/** A list of choices, the first of which is the setting of all cards. */
function choices(label: string, chosen: string, options: Record<string, string>, choose: (value: string) => void) {
  const list = make(
    "select",
    { "aria-label": label },
    ...Object.entries({ "": "Same as all cards", ...options }).map(([value, text]) => make("option", { value }, text)),
  );
  list.value = chosen;
  list.addEventListener("change", () => choose(list.value));
  return make("label", {}, make("span", {}, label), list);
}

/** Settings of this card that override those of all cards. */
function ownForm({ key }: Card): HTMLElement {
  let own = { ...ownEntries(list("card")).get(key) };
  const set = (part: Own) => {
    own = { ...own, ...part };
    assign("card", withOwn(list("card"), key, own));
  };
  const weight = smoothingField("Smoothing of this card", (smoothing) => set({ smoothing }));
  weight.placeholder = `all cards: ${rounded(state.weight)}`;
  weight.value = own.smoothing === undefined ? "" : String(own.smoothing);
  weight.addEventListener("change", () => weight.value === "" && set({ smoothing: undefined }));
  const chosen = own.inliers === undefined ? "" : own.inliers ? "inliers" : "all";
  return make(
    "div",
    { className: "limits own" },
    choices(
      "Vertical axis",
      own.scale ?? "",
      { linear: "Linear", log: "Logarithmic" },
      (scale) => set({ scale: scale === "linear" || scale === "log" ? scale : undefined }),
    ),
    make("label", {}, make("span", {}, "Smoothing"), weight),
    choices(
      "Outliers",
      chosen,
      { inliers: "Ignore", all: "Show" },
      (value) => set({ inliers: value ? value === "inliers" : undefined }),
    ),
  );
}

/** Fields for the ends of the axes; empty ones fit the data. */
function limits(card: Card): HTMLFormElement {
  const range = rangeOf(card.key) ?? {};
  const has = (side: Side) => card.chart?.lines.some((line) => line.side === side);
  const axes: [AxisName, string][] = [["x", "x"]];
  if (has("left") || !has("right")) axes.push(["y", "y"]);
  if (has("right")) axes.push(["y2", "right"]);
  const fields = axes.map(([axis, label]) => {
    const field = (placeholder: "from" | "to", edge: number | undefined) =>
      make("input", {
        type: "number",
        step: "any",
        value: edge === undefined ? "" : edgeText(edge),
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
        high.setCustomValidity("The maximum must be above the minimum.");
        return void high.reportValidity();
      }
      next[axis] = pair;
    }
    popover.close();
    if (Object.keys(next).length) setRange(card.key, next);
    else resetRange(card.key);
  });
  form.addEventListener("input", () => fields.forEach(({ high }) => high.setCustomValidity("")));
  form.addEventListener("reset", () => {
    popover.close();
    resetRange(card.key);
  });
  return form;
}
