/** The search over one column or all: matches stay lit in the cloud and can be stepped through one by one. */
import { integer } from "../../../web/core/numbers.ts";
import { entry, fitEntries } from "./lists.ts";
import { button, type Option, select, toggle } from "./widgets.ts";
import { bind, type Bindings } from "../../../web/core/commands.ts";
import { iconButton, make } from "../../../web/core/dom.ts";
import { isAbort, messageOf } from "../../../web/core/request.ts";
import type { SearchHeader } from "./messages.generated.ts";
import type { ProjectorPanel } from "./panel.ts";

const PAUSE_MS = 180;
const ROW = 24;
const LIST_HEIGHT = 192;

type SearchPack = SearchHeader & { arrays: [Uint32Array] };

/** Describes a search: the place among the matches, or how many there are. */
export function countText(found: number | null, current: number): string {
  if (found === null) return "";
  if (!found) return "nothing found";
  return current < 0 ? `${integer(found)} found` : `${integer(current + 1)} of ${integer(found)}`;
}

export class Search {
  readonly panel: ProjectorPanel;
  /** The place among the matches; -1 before the first. */
  current = -1;
  timer = 0;
  drawing = 0;
  abort: AbortController | null = null;
  /** The search in progress. */
  running: Promise<void> = Promise.resolve();
  problem = "";
  readonly input = make("input", {
    type: "search",
    className: "pj-input",
    placeholder: "Search points  ( / )",
    spellcheck: false,
    autocomplete: "off",
    "aria-label": "Search points",
  });
  readonly column;
  readonly regex;
  readonly count = make("span", { className: "pj-count", "aria-live": "polite" });
  readonly back;
  readonly on;
  readonly all;
  readonly rows = make("div", { className: "pj-virtual-rows" });
  readonly list = make(
    "div",
    { className: "pj-results", role: "listbox", "aria-label": "Found points", tabIndex: -1 },
    this.rows,
  );
  readonly bar;
  readonly element;

  constructor(panel: ProjectorPanel) {
    this.panel = panel;
    this.column = select("Column that is searched", (name) => void this.set({ in: name }));
    this.regex = toggle(".*", "Regular expression", (on) => void this.set({ regex: on }), "mono small");
    this.back = iconButton("left", "Previous match (Shift+Enter)", () => this.step(-1), 13);
    this.on = iconButton("right", "Next match (Enter)", () => this.step(1), 13);
    this.all = button(
      "Select all",
      "Select everything that was found",
      () => panel.found && panel.select(panel.found, { by: "search" }),
      "small plain",
    );
    const spacer = make("span", { className: "spacer" });
    this.bar = make("div", { className: "pj-row pj-search-bar" }, this.count, this.back, this.on, spacer, this.all);
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
    const keys: Bindings = {
      Escape: () => {
        void this.clear();
        this.input.blur();
      },
      Enter: () => void this.enter(1),
      "Shift Enter": () => void this.enter(-1),
      ArrowDown: () => this.step(1),
      ArrowUp: () => this.step(-1),
    };
    bind(this.input, keys);
    bind(this.list, keys);
    this.list.addEventListener("scroll", () => this.draw());
  }

  /** Steps through the matches of the text in the field, once they have arrived. */
  async enter(by: number): Promise<void> {
    const query = this.input.value;
    if (query !== this.panel.state.query) void this.set({ query });
    for (let seen; seen !== this.running;) await (seen = this.running);
    // A user who typed on or went elsewhere meanwhile wants another match, or none.
    if (query === this.input.value && this.element.contains(document.activeElement)) this.step(by);
  }

  focus(): void {
    if (this.panel.frame.classList.contains("no-right")) this.panel.flip("right");
    this.input.focus();
    this.input.select();
  }

  clear(): Promise<void> {
    this.input.value = "";
    return this.set({ query: "" });
  }

  set(change: { query?: string; regex?: boolean; in?: string }): Promise<void> {
    const { state } = this.panel;
    Object.assign(state, change);
    this.panel.tell({ search: state.query, regex: state.query !== "" && state.regex, in: state.in });
    this.show();
    return this.run();
  }

  run(): Promise<void> {
    return (this.running = this.ask());
  }

  async ask(): Promise<void> {
    const { dataset, state, api } = this.panel;
    this.abort?.abort();
    clearTimeout(this.timer);
    this.current = -1;
    if (!dataset || !state.query) return this.took(null, "");
    const { signal } = (this.abort = new AbortController());
    const query = { q: state.query, match: state.regex ? "regex" : "text", in: state.in || "*" };
    try {
      const { error, arrays } = await api.ask<SearchPack>("search", { ...dataset.at, ...query }, { signal });
      if (dataset === this.panel.dataset) this.took(error ? null : arrays[0], error ?? "");
    } catch (error) {
      if (!isAbort(error)) this.took(null, messageOf(error));
    }
  }

  took(rows: Uint32Array | null, problem: string): void {
    const { panel } = this;
    panel.found = rows;
    this.current = -1;
    this.problem = problem;
    this.input.classList.toggle("wrong", Boolean(problem));
    this.list.scrollTop = 0;
    // Rows still in the list belong to the previous matches.
    this.rows.replaceChildren();
    panel.mask();
    panel.table.refresh();
    panel.inspector.show();
    this.show();
  }

  show(): void {
    const { state, found, dataset } = this.panel;
    const count = found?.length ?? 0;
    if (document.activeElement !== this.input && this.input.value !== state.query) this.input.value = state.query;
    const columns = (dataset?.columnInfos ?? []).map(({ name }): Option => [name, name]);
    this.column.show([["", "all columns"], ...columns], state.in);
    this.regex.show(state.regex);
    this.bar.hidden = !state.query;
    this.count.textContent = this.problem || countText(found && count, this.current);
    this.count.classList.toggle("bad", Boolean(this.problem));
    this.count.title = this.problem;
    for (const one of [this.back, this.on, this.all, this.list]) one.hidden = !count;
    this.rows.style.height = `${count * ROW}px`;
    this.list.style.height = `${Math.min(count * ROW, LIST_HEIGHT) + 2}px`;
    void this.draw();
  }

  /** Draws the visible rows. */
  async draw(): Promise<void> {
    const { panel } = this;
    const { found, dataset } = panel;
    const turn = (this.drawing += 1);
    if (!found?.length || !dataset) return this.rows.replaceChildren();
    const first = Math.max(Math.floor(this.list.scrollTop / ROW) - 2, 0);
    const rows = found.slice(first, first + Math.ceil(LIST_HEIGHT / ROW) + 5);
    const name = panel.state.in && panel.state.in !== "*" ? panel.state.in : panel.labelBy;
    let texts: string[];
    try {
      texts = name ? await dataset.texts(name, rows) : [];
    } catch {
      texts = [];
    }
    if (turn !== this.drawing || found !== panel.found) return;
    const titles = Array.from(rows, (row, at) => texts[at] || `Point ${row}`);
    this.rows.replaceChildren(...Array.from(rows, (row, at) => {
      const place = first + at;
      const title = titles[at];
      const made = entry(title, String(row), { title, selected: place === this.current }, () => this.choose(place));
      made.style.top = `${place * ROW}px`;
      return made;
    }));
    fitEntries(this.rows, titles);
  }

  step(by: number): void {
    const count = this.panel.found?.length ?? 0;
    if (count) this.choose((this.current < 0 && by < 0 ? count - 1 : this.current + by + count) % count);
  }

  choose(place: number): void {
    const { found } = this.panel;
    if (!found) return;
    this.current = place;
    const top = place * ROW;
    const { list } = this;
    if (top < list.scrollTop) list.scrollTop = top;
    else if (top + ROW > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW - list.clientHeight;
    this.panel.goTo(found[place], "search");
    this.show();
  }
}
