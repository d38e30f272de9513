// @ts-nocheck
/** The legend over the cloud: categories that can be switched off, or the scale of a number. */
import * as projectorParts from "./parts.ts";
import { format } from "./parts.ts";
import { popover } from "../../../web/core/popover.ts";
import { storage } from "../../../web/core/dom.ts";
import { theme as projectorTheme } from "./theme.ts";

const MOST_SHOWN = 200;

export class Legend {
  panel;
  title;
  all;
  folded = storage.get("stepscope-projector-legend") === "folded";
  folder;
  list;
  element;
  drawn = "";

  /** @param panel of projector_panel.js */
  constructor(panel: any) {
    const { make } = projectorParts;
    this.panel = panel;
    this.title = make("span", { className: "pj-legend-title" });
    this.all = projectorParts.button("All", "Show all categories again", () => panel.setOff([]), "small plain");
    this.folder = projectorParts.iconButton("chevron", "Fold the legend", () => this.fold(!this.folded));
    this.list = make("div", { className: "pj-legend-list", role: "group", "aria-label": "Categories" });
    this.element = make(
      "div",
      { className: "pj-legend", hidden: true },
      make("header", {}, this.title, this.all, this.folder),
      this.list,
    );
    this.list.addEventListener("keydown", (event: KeyboardEvent) => {
      popover.arrows(event, this.list, ".pj-legend-entry");
      if (["ArrowDown", "ArrowUp"].includes(event.key)) event.stopPropagation();
    });
    this.element.classList.toggle("folded", this.folded);
  }

  fold(folded: boolean) {
    this.folded = folded;
    this.element.classList.toggle("folded", folded);
    this.folder.title = folded ? "Unfold the legend" : "Fold the legend";
    storage.set("stepscope-projector-legend", folded ? "folded" : "");
  }

  show() {
    const { colouring, theme, state } = this.panel;
    this.element.hidden = !this.panel.dataset || (colouring.sort === "none" && !colouring.note);
    this.title.textContent = this.title.title = colouring.title;
    this.all.hidden = !state.off.length;
    this.element.classList.toggle("scale", colouring.sort !== "categories");
    const { sort, entries, missing, minimum, maximum, note } = colouring;
    const drawn = JSON.stringify([sort, entries, missing, minimum, maximum, note, state.off, theme.dark]);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    const at = [...this.list.children].indexOf(document.activeElement);
    if (colouring.sort === "categories") this.list.replaceChildren(...this.categories());
    else if (colouring.sort === "scale") this.list.replaceChildren(...this.scale(theme));
    else this.list.replaceChildren();
    if (colouring.note) this.list.append(projectorParts.make("p", { className: "pj-note" }, colouring.note));
    if (at >= 0) this.list.children[at]?.focus();
  }

  categories() {
    const { make } = projectorParts;
    const { colouring, theme, state } = this.panel;
    const off = new Set(state.off);
    const rows = colouring.entries.slice(0, MOST_SHOWN).map((entry: any) => {
      const colour = entry.place < 0 ? theme.grey : theme.category(entry.place);
      const dot = make("i", { className: "pj-dot" });
      dot.style.background = projectorTheme.css(colour);
      const on = !off.has(entry.label);
      const row = make(
        "button",
        {
          type: "button",
          className: `pj-legend-entry${on ? "" : " off"}`,
          "aria-pressed": String(on),
          title: `${
            entry.label || "(empty)"
          }: click shows or hides, Shift and click shows nothing else, Alt and click selects`,
        },
        dot,
        make("bdi", { className: "pj-legend-name" }, entry.label || "(empty)"),
        make("span", { className: "pj-count" }, format.integer(entry.count)),
      );
      row.addEventListener("click", (event: MouseEvent) => this.click(entry, event));
      return row;
    });
    const more = colouring.entries.length - MOST_SHOWN;
    if (more > 0) rows.push(make("p", { className: "pj-note" }, `and ${format.integer(more)} more`));
    if (colouring.missing) {
      rows.push(make("p", { className: "pj-note" }, `${format.integer(colouring.missing)} without a value, in grey`));
    }
    return rows;
  }

  scale(theme: any) {
    const { make } = projectorParts;
    const { minimum, maximum, missing } = this.panel.colouring;
    const bar = make("div", {
      className: "pj-scale",
      role: "img",
      "aria-label": `Scale from ${minimum} to ${maximum}`,
    });
    bar.style.background = `linear-gradient(to right, ${
      Array.from({ length: 11 }, (_, at) => projectorTheme.css(theme.scale(at / 10))).join(",")
    })`;
    const parts = [
      bar,
      make(
        "div",
        { className: "pj-scale-ends" },
        make("span", {}, format.number(minimum)),
        make("span", {}, format.number((minimum + maximum) / 2)),
        make("span", {}, format.number(maximum)),
      ),
    ];
    if (missing) parts.push(make("p", { className: "pj-note" }, `${format.integer(missing)} without a value, in grey`));
    return parts;
  }

  click(entry: any, event: MouseEvent) {
    const { panel } = this;
    const { colouring, state } = panel;
    if (event.altKey) return panel.select(panel.rowsOfCategory(entry.code), { by: "legend" });
    const others = colouring.entries.map((one: any) => one.label).filter((label: string) => label !== entry.label);
    const alone = state.off.length === others.length && !state.off.includes(entry.label);
    if (event.shiftKey) return panel.setOff(alone ? [] : others);
    panel.setOff(
      state.off.includes(entry.label)
        ? state.off.filter((label: string) => label !== entry.label)
        : [...state.off, entry.label],
    );
  }

  /** For pictures: what the legend says, as [text, colour]. */
  entries() {
    const { colouring, theme } = this.panel;
    if (colouring.sort === "categories") {
      return colouring.entries.slice(0, 30).map((entry: any) => ({
        label: entry.label || "(empty)",
        colour: projectorTheme.css(entry.place < 0 ? theme.grey : theme.category(entry.place)),
      }));
    }
    if (colouring.sort === "scale") {
      return [0, 0.25, 0.5, 0.75, 1].map((share) => ({
        label: format.number(colouring.minimum + share * (colouring.maximum - colouring.minimum)),
        colour: projectorTheme.css(theme.scale(share)),
      }));
    }
    return [];
  }
}
