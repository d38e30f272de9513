/** The search box: searches the whole trace, with a count and next and previous match. */
import { integer } from "../../../web/core/numbers.ts";
import { bind } from "../../../web/core/commands.ts";
import { make } from "../../../web/core/dom.ts";
import { messageOf } from "../../../web/core/request.ts";
import type { Source } from "./data.ts";
import type { Matches } from "./messages.generated.ts";
import type { TimelinePanel } from "./panel.ts";
import { button } from "./widgets.ts";
import { settings } from "./settings.generated.ts";

/** How names are matched: any part, a regular expression, or the whole name. */
export type Match = typeof settings.match.options[number];
/** The matches in all traces. */
export interface Found {
  /** Null if nothing matches: fading everything would be less informative. */
  names: Set<string> | null;
  minimaps: number[][];
  count: number;
}
/** One page of a trace's matches. */
type Page = Matches & { source: Source };

const PAGE = 2000;
const PAUSE_MS = 180;

export class Search {
  readonly panel: TimelinePanel;
  /** The matches: their number in all traces, and one page per trace. */
  found: { query: string; count: number; pages: Page[] } | null = null;
  current = -1;
  match: Match = settings.match.default;
  abort: AbortController | null = null;
  /** The last request, the traces it covered, and its answer. */
  key = "";
  sources: Source[] = [];
  answer = Promise.resolve();
  /** The moves in progress, and the selection requested by the last one. */
  moving = Promise.resolve();
  went = -1;
  timer = 0;
  readonly input = make("input", {
    className: "timeline-search-input",
    type: "text",
    placeholder: "Search slices  ( / )",
    spellcheck: false,
    "aria-label": "Search slices by name",
  });
  readonly count = make("span", { className: "timeline-search-count", "aria-live": "polite" });
  readonly toggles: { regex: HTMLButtonElement; name: HTMLButtonElement };
  readonly element: HTMLElement;

  constructor(panel: TimelinePanel) {
    this.panel = panel;
    this.toggles = {
      regex: button(
        ".*",
        "Regular expression",
        () => this.setMatch(this.match === "regex" ? "text" : "regex"),
        "plain toggle",
      ),
      name: button(
        "“ ”",
        "Match the whole name, case-sensitive",
        () => this.setMatch(this.match === "name" ? "text" : "name"),
        "plain toggle",
      ),
    };
    this.element = make(
      "div",
      { className: "timeline-search" },
      this.input,
      this.count,
      this.toggles.regex,
      this.toggles.name,
      button("‹", "Previous match (Shift+Enter)", () => this.enter(-1), "plain"),
      button("›", "Next match (Enter)", () => this.enter(1), "plain"),
    );
    this.input.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = window.setTimeout(() => this.run(), PAUSE_MS);
    });
    bind(this.input, {
      Enter: () => this.enter(1),
      "Shift Enter": () => this.enter(-1),
      Escape: () => {
        this.clear();
        panel.canvas.focus();
      },
    });
  }

  focus() {
    this.input.focus();
    this.input.select();
  }

  set(text: string, match: Match = "text") {
    this.input.value = text;
    return this.setMatch(match);
  }

  setMatch(match: Match) {
    this.match = match;
    for (const [name, toggle] of Object.entries(this.toggles)) {
      toggle.classList.toggle("on", name === match);
      toggle.setAttribute("aria-pressed", String(name === match));
    }
    return this.run();
  }

  clear() {
    this.input.value = "";
    this.run();
  }

  enter(direction: number) {
    clearTimeout(this.timer);
    const { selection } = this.panel;
    const { requested } = selection;
    const answer = this.run();
    const { key } = this;
    // A later search or selection supersedes this move; a selection made by an earlier move does not.
    const wanted = () => this.key === key && [requested, this.went].includes(selection.requested);
    this.moving = Promise.all([this.moving, answer])
      .then(() => this.move(direction, wanted))
      .catch((error) => this.panel.notify(messageOf(error)));
  }

  /** Searches for the text in the field; repeated calls for the same search share the answer. */
  run() {
    const { sources } = this.panel;
    const key = `${this.match} ${this.input.value}`;
    if (key !== this.key || sources !== this.sources) {
      this.key = key;
      this.sources = sources;
      this.answer = this.ask();
    }
    return this.answer;
  }

  async ask(): Promise<void> {
    this.abort?.abort();
    this.found = null;
    const query = this.input.value;
    this.current = -1;
    this.panel.tellSearch(query, this.match);
    if (!query || !this.panel.sources.length) {
      this.say("");
      this.panel.setMatches(null);
      return;
    }
    try {
      if (this.match === "regex") new RegExp(query);
    } catch (error) {
      // Half-typed: reported at the field; the picture stays as it is.
      this.panel.setMatches(null);
      return this.say("!", messageOf(error));
    }
    this.abort = new AbortController();
    const { signal } = this.abort;
    try {
      const pages = await Promise.all(this.panel.sources.map((source) => this.page(source, query, 0, signal)));
      if (signal.aborted) return this.answer;
      const count = pages.reduce((sum, page) => sum + page.count, 0);
      this.found = { query, count, pages };
      this.say(count ? integer(count) : "none");
      this.panel.setMatches({
        names: count ? new Set(pages.flatMap(({ names }) => names)) : null,
        minimaps: pages.map(({ minimap }) => minimap),
        count,
      });
    } catch (error) {
      if (signal.aborted) return this.answer;
      this.key = "";
      this.panel.setMatches(null);
      this.say("!", messageOf(error));
    }
  }

  async page(source: Source, query: string, offset: number, signal?: AbortSignal): Promise<Page> {
    const at = Math.round(this.panel.viewport.target[0] - source.offset);
    const requested = { q: query, match: this.match, offset, limit: PAGE, at };
    return { ...await source.ask<Matches>("search", requested, signal), source };
  }

  /** @param wanted whether nothing has superseded the move in the meantime */
  async move(direction: number, wanted: () => boolean) {
    const { found } = this;
    if (!found?.count || !wanted()) return;
    const { count, query, pages } = found;
    // One trace after another; within each, by time, starting with the visible range.
    let at = (this.current + direction + count) % count;
    if (this.current < 0) {
      const first = pages.findIndex((page) => page.count);
      pages[first] = await this.page(pages[first].source, query, 0);
      at = (pages[first].rank + (direction < 0 ? count - 1 : 0)) % count;
    }
    const to = at;
    let place = 0;
    while (at >= pages[place].count) at -= pages[place++].count;
    if (at < pages[place].offset || at >= pages[place].offset + pages[place].index.length) {
      pages[place] = await this.page(pages[place].source, query, Math.floor(at / PAGE) * PAGE);
    }
    if (this.found !== found || !wanted()) return;
    this.current = to;
    this.say(`${integer(to + 1)} of ${integer(count)}`);
    this.panel.selection.select(pages[place].index[at - pages[place].offset], {
      reveal: true,
      source: pages[place].source,
    });
    this.went = this.panel.selection.requested;
  }

  say(text: string, problem: string = "") {
    this.count.textContent = text;
    this.count.title = problem;
    this.element.classList.toggle("wrong", problem !== "");
    this.input.title = problem;
  }
}
