// @ts-nocheck
/** The search over a column, or all: what is found stays lit in the cloud, and can be gone through one by one. */
import * as parts from "./parts.ts";
import { format } from "./parts.ts";

const PAUSE_MS = 180;
const ROW = 24;
const LIST_HEIGHT = 192;

export class Search {
  panel;
  current = -1;
  timer = 0;
  drawing = 0;
  abort: AbortController | null = null;
  input: HTMLInputElement;
  column;
  regex;
  count;
  back;
  on;
  all;
  rows;
  list;
  bar;
  element;
  running: any;
  problem: any;

  /** @param panel of projector_panel.js */
  constructor(panel: any) {
    const { make, select, toggle, iconButton, button } = parts;
    this.panel = panel;
    this.input = make("input", {
      type: "search",
      className: "pj-input",
      placeholder: "Search points  ( / )",
      spellcheck: false,
      autocomplete: "off",
      "aria-label": "Search points",
    }) as HTMLInputElement;
    this.column = select("Column that is searched", (name: string) => this.set({ in: name }));
    this.regex = toggle(".*", "Regular expression", (on: boolean) => this.set({ regex: on }), "mono small");
    this.count = make("span", { className: "pj-count", "aria-live": "polite" });
    this.back = iconButton("left", "The one before (Shift Enter)", () => this.step(-1));
    this.on = iconButton("right", "The next one (Enter)", () => this.step(1));
    this.all = button(
      "Select all",
      "Select everything that was found",
      () => panel.found && panel.select(panel.found, { by: "search" }),
      "small plain",
    );
    this.rows = make("div", { className: "pj-virtual-rows" });
    this.list = make(
      "div",
      { className: "pj-results", role: "listbox", "aria-label": "Found points", tabIndex: -1 },
      this.rows,
    );
    this.bar = make(
      "div",
      { className: "pj-row pj-search-bar" },
      this.count,
      this.back,
      this.on,
      make("span", { className: "spacer" }),
      this.all,
    );
    this.element = make(
      "section",
      { className: "pj-search" },
      make("div", { className: "pj-row" }, this.input, this.regex),
      make("div", { className: "pj-row" }, make("span", { className: "pj-count" }, "in"), this.column),
      this.bar,
      this.list,
    );
    this.input.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = window.setTimeout(() => this.set({ query: this.input.value }), PAUSE_MS);
    });
    this.input.addEventListener("keydown", (event) => this.key(event));
    this.list.addEventListener("keydown", (event: KeyboardEvent) => this.key(event));
    this.list.addEventListener("scroll", () => this.draw());
  }

  key(event: KeyboardEvent) {
    event.stopPropagation();
    if (event.key === "Escape") {
      this.clear();
      this.input.blur();
    } else if (event.key === "Enter") {
      void this.enter(event.shiftKey ? -1 : 1);
    } else if (event.key === "ArrowDown") this.step(1);
    else if (event.key === "ArrowUp") this.step(-1);
    else return;
    event.preventDefault();
  }

  /** Goes on among what the text in the field finds, when that is there. */
  async enter(by: number) {
    const query = this.input.value;
    if (query !== this.panel.state.query) void this.set({ query });
    for (let seen; seen !== this.running;) await (seen = this.running);
    // Who typed on or went elsewhere meanwhile wants another one, or none.
    if (query === this.input.value && this.element.contains(document.activeElement)) this.step(by);
  }

  focus() {
    if (this.panel.frame.classList.contains("no-right")) this.panel.flip("right");
    this.input.focus();
    this.input.select();
  }

  clear() {
    this.input.value = "";
    return this.set({ query: "" });
  }

  set(change: { query?: string; regex?: boolean; in?: string }) {
    const { state } = this.panel;
    Object.assign(state, change);
    this.panel.tell({ search: state.query, regex: state.query && state.regex ? "on" : "off", in: state.in });
    this.show();
    return this.run();
  }

  run() {
    return (this.running = this.ask());
  }

  async ask() {
    const { panel } = this;
    const { dataset, state } = panel;
    this.abort?.abort();
    clearTimeout(this.timer);
    this.current = -1;
    if (!dataset || !state.query) return this.took(null, "");
    this.abort = new AbortController();
    try {
      const pack = await panel.api.ask("search", {
        ...dataset.at,
        q: state.query,
        match: state.regex ? "regex" : "text",
        in: state.in || "*",
      }, { signal: this.abort.signal });
      if (dataset !== panel.dataset) return;
      this.took(pack.error ? null : pack.arrays[0], pack.error ?? "");
    } catch (error) {
      if (error.name !== "AbortError") this.took(null, error.message);
    }
  }

  took(rows: Uint32Array | null, problem: string) {
    const { panel } = this;
    panel.found = rows;
    this.current = -1;
    this.problem = problem;
    this.input.classList.toggle("wrong", Boolean(problem));
    this.list.scrollTop = 0;
    panel.mask();
    panel.table.refresh();
    panel.inspector.show();
    this.show();
  }

  show() {
    const { panel } = this;
    const { state, found } = panel;
    if (document.activeElement !== this.input && this.input.value !== state.query) this.input.value = state.query;
    this.column.show([
      ["", "all columns"],
      ...(panel.dataset?.columnInfos ?? []).map((column: any) => [column.name, column.name]),
    ], state.in);
    this.regex.show(state.regex);
    this.bar.hidden = !state.query;
    this.count.textContent = this.problem ||
      (found
        ? (found.length
          ? (this.current >= 0
            ? `${format.integer(this.current + 1)} of ${format.integer(found.length)}`
            : `${format.integer(found.length)} found`)
          : "nothing found")
        : "");
    this.count.classList.toggle("bad", Boolean(this.problem));
    this.count.title = this.problem || "";
    this.back.hidden = this.on.hidden = this.all.hidden = !found?.length;
    this.list.hidden = !found?.length;
    this.rows.style.height = `${(found?.length ?? 0) * ROW}px`;
    this.list.style.height = `${Math.min((found?.length ?? 0) * ROW, LIST_HEIGHT) + 2}px`;
    this.draw();
  }

  /** The rows in sight. */
  async draw() {
    const { panel } = this;
    const { found, dataset } = panel;
    const turn = (this.drawing += 1);
    if (!found?.length || !dataset) return void this.rows.replaceChildren();
    const first = Math.max(Math.floor(this.list.scrollTop / ROW) - 2, 0);
    const rows = found.slice(first, first + Math.ceil(LIST_HEIGHT / ROW) + 5);
    const name = panel.state.in && panel.state.in !== "*" ? panel.state.in : panel.labelBy;
    let texts;
    try {
      texts = name ? await dataset.texts(name, rows) : Array.from(rows, () => "");
    } catch {
      return;
    }
    if (turn !== this.drawing || found !== panel.found) return;
    const { make } = parts;
    this.rows.replaceChildren(...Array.from(rows, (row, at) => {
      const place = first + at;
      const made = make(
        "button",
        {
          type: "button",
          className: "pj-result",
          role: "option",
          "aria-selected": String(place === this.current),
          tabIndex: -1,
          title: texts[at] || `Point ${row}`,
        },
        make("bdi", {}, texts[at] || `Point ${row}`),
        make("span", { className: "pj-count" }, String(row)),
      );
      made.style.top = `${place * ROW}px`;
      made.addEventListener("click", () => this.choose(place));
      return made;
    }));
  }

  step(by: number) {
    const count = this.panel.found?.length ?? 0;
    if (count) this.choose((this.current < 0 && by < 0 ? count - 1 : this.current + by + count) % count);
  }

  choose(place: number) {
    const { found } = this.panel;
    this.current = place;
    const top = place * ROW;
    if (top < this.list.scrollTop) this.list.scrollTop = top;
    else if (top + ROW > this.list.scrollTop + this.list.clientHeight) {
      this.list.scrollTop = top + ROW - this.list.clientHeight;
    }
    this.panel.goTo(found[place], "search");
    this.show();
  }
}
