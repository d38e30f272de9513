/** The search over the whole graph, including closed groups: choosing a result opens the way to its node. */
import { integer } from "../../../web/core/numbers.ts";
import * as parts from "./widgets.ts";
import { elements } from "../../../web/core/dom.ts";
import { fitNames } from "../../../web/core/fitted_names.ts";
import { isAbort, messageOf } from "../../../web/core/request.ts";
import { bind } from "../../../web/core/commands.ts";
import type { Found, Search as Answer } from "./messages.generated.ts";
import type { GraphPanel } from "./panel.ts";

const PAUSE_MS = 180;
const LIMIT = 200;
const FIELDS = {
  name: ["Name", "Search names of nodes"],
  op: ["Op", "Search types of operations"],
  attribute: ["Attr", "Search names and values of attributes"],
};

export class Search {
  panel;
  regex = false;
  fields = new Set(["name", "op"]);
  current = -1;
  results: readonly Found[] = [];
  abort: AbortController | null = null;
  /** Keys of the search in progress and of the one listed. */
  requested = "";
  answered = "";
  timer = 0;
  input: HTMLInputElement;
  count;
  toggles;
  regexToggle;
  list;
  element;
  answer: Promise<void> = Promise.resolve();

  constructor(panel: GraphPanel) {
    const { make } = elements;
    this.panel = panel;
    this.input = make("input", {
      type: "text",
      className: "graph-search-input",
      placeholder: "Search nodes  ( / )",
      spellcheck: false,
      "aria-label": "Search nodes",
      "aria-controls": "graph-results",
    });
    this.count = make("span", { className: "graph-search-count", "aria-live": "polite" });
    this.toggles = new Map(
      Object.entries(FIELDS).map(([field, [label, title]]) => [
        field,
        parts.button(label, title, () => this.toggleField(field), "plain toggle"),
      ]),
    );
    this.regexToggle = parts.button(".*", "Regular expression", () => this.setRegex(!this.regex), "plain toggle mono");
    this.list = make("div", {
      id: "graph-results",
      className: "graph-results",
      role: "listbox",
      "aria-label": "Nodes that match",
      hidden: true,
    });
    this.element = make(
      "div",
      { className: "graph-search" },
      this.input,
      this.count,
      ...this.toggles.values(),
      this.regexToggle,
      this.list,
    );
    this.input.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = window.setTimeout(() => this.run(), PAUSE_MS);
    });
    this.input.addEventListener("focus", () => (this.list.hidden = !this.list.childElementCount));
    this.element.addEventListener("focusout", (event) => {
      if (!this.element.contains(event.relatedTarget as Node | null)) this.list.hidden = true;
    });
    const step = (by: number) => () => {
      this.list.hidden = !this.results.length;
      this.mark(this.current + by);
    };
    bind(this.input, {
      ArrowDown: step(1),
      ArrowUp: step(-1),
      Enter: () => this.enter(1),
      "Shift Enter": () => this.enter(-1),
      Escape: () => this.leave(),
    });
    this.paint();
  }

  leave() {
    if (this.list.hidden || !this.input.value) this.clear();
    this.list.hidden = true;
    this.panel.canvas.focus();
  }

  focus() {
    this.input.focus();
    this.input.select();
  }

  toggleField(field: string) {
    if (this.fields.has(field) && this.fields.size > 1) this.fields.delete(field);
    else this.fields.add(field);
    this.paint();
    return this.run();
  }

  setRegex(on: boolean) {
    this.regex = on;
    this.paint();
    return this.run();
  }

  paint() {
    const paint = (toggle: HTMLElement, on: boolean) => {
      toggle.classList.toggle("on", on);
      toggle.setAttribute("aria-pressed", String(on));
    };
    for (const [field, toggle] of this.toggles) paint(toggle, this.fields.has(field));
    paint(this.regexToggle, this.regex);
  }

  set(text: string, regex: boolean = false) {
    this.input.value = text;
    this.regex = regex;
    this.paint();
    return this.run(false);
  }

  clear() {
    this.input.value = "";
    this.run();
  }

  /** Everything the answer depends on. */
  get wanted() {
    const { id, function: called } = this.panel.state;
    return JSON.stringify([id, called, this.input.value, this.regex, [...this.fields]]);
  }

  /** Whether the list belongs to a different search than the one in the field. */
  get stale() {
    return this.wanted !== this.answered;
  }

  /**
   * @param show whether to open the list
   * @returns the same promise while the same search is in progress
   */
  run(show: boolean = true): Promise<void> {
    clearTimeout(this.timer);
    const { wanted } = this;
    if (wanted !== this.requested) this.answer = this.ask(wanted, show);
    return this.answer;
  }

  async ask(key: string, show: boolean) {
    this.abort?.abort();
    const abort = (this.abort = new AbortController());
    this.requested = key;
    const query = this.input.value;
    this.current = -1;
    this.panel.tell({ "graph.search": [query], "graph.regex": [query && this.regex ? "on" : "off"] });
    try {
      if (!query || !this.panel.state.id) return this.show([], 0, "", false, key);
      const { id, function: called } = this.panel.state;
      const answer = await this.panel.api.ask<Answer>("search", {
        id,
        function: called,
        q: query,
        match: this.regex ? "regex" : "text",
        in: [...this.fields].join(","),
        limit: LIMIT,
      }, { signal: abort.signal });
      this.show(answer.results, answer.count, query, show, key);
    } catch (error) {
      if (isAbort(error)) return;
      this.show([], 0, "", false, "");
      this.count.textContent = "!";
      this.count.title = messageOf(error);
      this.element.classList.add("wrong");
      this.panel.notify(messageOf(error));
    } finally {
      if (abort === this.abort) this.requested = "";
    }
  }

  show(
    results: readonly Found[],
    count: number,
    query: string,
    open: boolean,
    key: string,
  ) {
    const { make } = elements;
    this.results = results;
    this.answered = key;
    this.element.classList.remove("wrong");
    this.count.title = "";
    this.count.textContent = query ? (count ? integer(count) : "none") : "";
    const rows: HTMLElement[] = results.map((result, place) => {
      const row = make(
        "button",
        { type: "button", className: "graph-result", role: "option", title: result.id, tabIndex: -1 },
        make("bdi", { className: "graph-result-name" }, result.id),
        make("span", { className: "graph-result-op" }, result.op || "scope"),
      );
      row.addEventListener("click", () => this.choose(place));
      return row;
    });
    if (count > results.length) {
      rows.push(
        make(
          "div",
          { className: "graph-result-more" },
          `and ${integer(count - results.length)} more: type more of the name`,
        ),
      );
    }
    this.list.replaceChildren(...rows);
    this.list.hidden = !open || !rows.length || document.activeElement !== this.input;
    fitNames([...this.list.querySelectorAll<HTMLElement>(".graph-result-name")], results.map(({ id }) => id));
    this.panel.setMatches(
      results.flatMap((result) => [result.id, ...result.expand, ...result.hosts]),
      query ? count : null,
    );
  }

  mark(place: number) {
    const count = this.results.length;
    if (!count) return;
    this.current = (place + count) % count;
    [...this.list.querySelectorAll(".graph-result")].forEach((row, at) => {
      row.setAttribute("aria-selected", String(at === this.current));
      if (at === this.current) row.scrollIntoView({ block: "nearest" });
    });
    this.count.textContent = `${integer(this.current + 1)} of ${this.count.textContent.replace(/^.* of /, "")}`;
  }

  async enter(direction: number) {
    if (this.stale) await this.run();
    // A user who has typed more or moved elsewhere in the meantime wants another result, or none.
    if (this.stale || !this.results.length || document.activeElement !== this.input) return;
    // A result marked with the arrow keys takes precedence.
    if (this.list.hidden || this.current < 0) this.mark(this.current + direction);
    await this.choose(this.current);
  }

  async choose(place: number) {
    this.mark(place);
    this.list.hidden = true;
    const { id, expand, hosts } = this.results[place];
    const [host] = hosts;
    await (host ? this.panel.goTo(host) : this.panel.goTo(id, expand));
    // The card describes the node found; the location is that of the node it is folded into.
    if (host && this.panel.selection[0] === host) this.panel.card.show(id);
  }
}
