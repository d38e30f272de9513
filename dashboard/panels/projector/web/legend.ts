/** The legend over the cloud: categories that can be switched off, or the scale of a number. */
import { integer } from "../../../web/core/numbers.ts";
import { offAfter } from "./categories.ts";
import { arrowsIn, fitEntries } from "./lists.ts";
import { button, format, remark } from "./widgets.ts";
import { css, type Rgb } from "../../../web/core/color.ts";
import { iconButton, make, storage } from "../../../web/core/dom.ts";
import type { Entry } from "./colors.ts";
import type { ProjectorPanel } from "./panel.ts";
import type { LegendEntry } from "./svg.ts";

const MOST_SHOWN = 200;
/** The most entries that fit in a picture. */
const MOST_WRITTEN = 30;
const FOLDED = "stepscope-projector-legend";

const nameOf = ({ label }: Entry): string => label || "(empty)";

/** A colored dot. */
export function dot(color: string): HTMLElement {
  const made = make("i", { className: "pj-dot" });
  made.style.background = color;
  return made;
}

export class Legend {
  readonly panel: ProjectorPanel;
  readonly title = make("span", { className: "pj-legend-title" });
  readonly all;
  /** If it would cover half of the points, it is folded until the user unfolds it. */
  folded = (storage.get(FOLDED) ?? (matchMedia("(max-width: 480px)").matches ? "folded" : "")) === "folded";
  readonly folder;
  readonly list = make("div", { className: "pj-legend-list", role: "group", "aria-label": "Categories" });
  readonly element;
  drawn = "";

  constructor(panel: ProjectorPanel) {
    this.panel = panel;
    this.all = button("All", "Show all categories again", () => panel.setOff([]), "small plain");
    this.folder = iconButton("chevron", "Collapse the legend", () => this.fold(!this.folded), 13);
    this.element = make(
      "div",
      { className: "pj-legend", hidden: true },
      make("header", {}, this.title, this.all, this.folder),
      this.list,
    );
    arrowsIn(this.list, ".pj-legend-entry");
    this.showFolded();
  }

  showFolded(): void {
    this.element.classList.toggle("folded", this.folded);
    this.folder.title = this.folded ? "Expand the legend" : "Collapse the legend";
    this.folder.setAttribute("aria-label", this.folder.title);
  }

  fold(folded: boolean): void {
    this.folded = folded;
    this.showFolded();
    storage.set(FOLDED, folded ? "folded" : "unfolded");
    // Names are cut to the available space, of which there was none.
    this.drawn = "";
    this.show();
  }

  show(): void {
    const { coloring, theme, state, dataset } = this.panel;
    const { sort, title, entries, missing, minimum, maximum, note } = coloring;
    this.element.hidden = !dataset || (sort === "none" && !note);
    this.title.textContent = this.title.title = title;
    this.all.hidden = !state.off.length;
    this.element.classList.toggle("scale", sort !== "categories");
    const drawn = JSON.stringify([sort, entries, missing, minimum, maximum, note, state.off, theme.dark]);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    const at = [...this.list.children].findIndex((one) => one === document.activeElement);
    this.list.replaceChildren(
      ...(sort === "categories" ? this.categories() : sort === "scale" ? this.scale() : []),
      ...(sort !== "none" && missing ? [remark(`${integer(missing)} without a value, in gray`)] : []),
      ...(note ? [remark(note)] : []),
    );
    if (sort === "categories") fitEntries(this.list, entries.slice(0, MOST_SHOWN).map(nameOf));
    const held = this.list.children[at];
    if (held instanceof HTMLElement) held.focus();
  }

  /** The color of a category. */
  colorOf({ place }: Entry): Rgb {
    const { theme } = this.panel;
    return place < 0 ? theme.gray : theme.category(place);
  }

  categories(): HTMLElement[] {
    const { coloring: { entries }, state } = this.panel;
    const off = new Set(state.off);
    const rows: HTMLElement[] = entries.slice(0, MOST_SHOWN).map((entry) => {
      const on = !off.has(entry.label);
      const name = nameOf(entry);
      const row = make(
        "button",
        {
          type: "button",
          className: `pj-legend-entry${on ? "" : " off"}`,
          "aria-pressed": String(on),
          title: `${name}: click shows or hides, Shift+click shows only this one, Alt+click selects`,
        },
        dot(css(this.colorOf(entry))),
        make("bdi", { className: "pj-legend-name" }, name),
        make("span", { className: "pj-count" }, integer(entry.count)),
      );
      row.addEventListener("click", (event) => this.click(entry, event));
      return row;
    });
    const more = entries.length - MOST_SHOWN;
    return more > 0 ? [...rows, remark(`and ${integer(more)} more`)] : rows;
  }

  scale(): HTMLElement[] {
    const { coloring: { minimum, maximum }, theme } = this.panel;
    const label = `Scale from ${minimum} to ${maximum}`;
    const bar = make("div", { className: "pj-scale", role: "img", "aria-label": label });
    const stops = Array.from({ length: 11 }, (_, at) => css(theme.scale(at / 10)));
    bar.style.background = `linear-gradient(to right, ${stops.join(",")})`;
    const ends = [minimum, (minimum + maximum) / 2, maximum].map((value) => make("span", {}, format.number(value)));
    return [bar, make("div", { className: "pj-scale-ends" }, ...ends)];
  }

  click(entry: Entry, event: MouseEvent): void {
    const { panel } = this;
    if (event.altKey) return panel.select(panel.rowsOfCategory(entry.code), { by: "legend" });
    const labels = panel.coloring.entries.map(({ label }) => label);
    panel.setOff(offAfter(panel.state.off, labels, entry.label, event.shiftKey));
  }

  /** The contents of the legend, for pictures. */
  entries(): LegendEntry[] {
    const { coloring: { sort, entries, minimum, maximum }, theme } = this.panel;
    if (sort === "categories") {
      return entries.slice(0, MOST_WRITTEN).map((entry) => ({
        label: nameOf(entry),
        color: css(this.colorOf(entry)),
      }));
    }
    if (sort !== "scale") return [];
    return [0, 0.25, 0.5, 0.75, 1].map((share) => ({
      label: format.number(minimum + share * (maximum - minimum)),
      color: css(theme.scale(share)),
    }));
  }
}
