/** The search box: over the whole trace, with a count, and next and previous match. */
import * as details from "./details.js";
import * as format from "./format.js";

const PAGE = 2000;
const PAUSE_MS = 180;

export class Search {
  /** @param {any} panel */
  constructor(panel) {
    const { element, button } = details;
    this.panel = panel;
    /** What was found: how often in all traces, and a page of each. @type {any} */
    this.found = null;
    this.current = -1;
    /** How names are compared: any part, a regular expression, or the whole name. */
    this.match = /** @type {"text" | "regex" | "name"} */ ("text");
    /** @type {AbortController | null} */
    this.abort = null;
    /** What was asked for last, of which traces, and its answer. */
    this.key = "";
    this.sources = /** @type {any[]} */ ([]);
    this.answer = Promise.resolve();
    /** The moves under way, and the selection that the last of them asked for. */
    this.moving = Promise.resolve();
    this.went = -1;
    this.timer = 0;
    this.input = /** @type {HTMLInputElement} */ (element("input", "timeline-search-input"));
    this.input.type = "text";
    this.input.placeholder = "Search slices  ( / )";
    this.input.spellcheck = false;
    this.input.setAttribute("aria-label", "Search slices by name");
    this.count = element("span", "timeline-search-count");
    this.count.setAttribute("aria-live", "polite");
    this.toggles = {
      regex: button(".*", "Regular expression", () => this.setMatch(this.match === "regex" ? "text" : "regex"), "plain toggle"),
      name: button("“ ”", "The whole name, letter by letter", () => this.setMatch(this.match === "name" ? "text" : "name"), "plain toggle"),
    };
    this.element = element("div", "timeline-search", this.input, this.count, this.toggles.regex, this.toggles.name,
      button("‹", "Previous match (Shift + Enter)", () => this.enter(-1), "plain"),
      button("›", "Next match (Enter)", () => this.enter(1), "plain"));
    this.input.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = window.setTimeout(() => this.run(), PAUSE_MS);
    });
    this.input.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Escape") {
        this.clear();
        panel.canvas.focus();
      } else if (event.key === "Enter") {
        event.preventDefault();
        this.enter(event.shiftKey ? -1 : 1);
      }
    });
  }

  focus() {
    this.input.focus();
    this.input.select();
  }

  /** @param {string} text @param {"text" | "regex" | "name"} [match] */
  set(text, match = "text") {
    this.input.value = text;
    return this.setMatch(match);
  }

  /** @param {"text" | "regex" | "name"} match */
  setMatch(match) {
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

  /** @param {number} direction */
  enter(direction) {
    clearTimeout(this.timer);
    const { selection } = this.panel;
    const { asked } = selection;
    const answer = this.run();
    const { key } = this;
    // What was searched or selected since is later than this move; what an earlier move selected is not.
    const wanted = () => this.key === key && [asked, this.went].includes(selection.asked);
    this.moving = Promise.all([this.moving, answer])
      .then(() => this.move(direction, wanted))
      .catch((error) => this.panel.notify(error.message));
  }

  /** Asks for what the field says; whoever asks for the same again shares the answer. */
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

  /** @returns {Promise<void>} */
  async ask() {
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
      // Half typed: said at the field, and the picture stays as it is.
      this.panel.setMatches(null);
      return this.say("!", error.message);
    }
    this.abort = new AbortController();
    const { signal } = this.abort;
    try {
      const found = await Promise.all(this.panel.sources.map((/** @type {any} */ source) => this.page(source, query, 0, signal)));
      if (signal.aborted) return this.answer;
      const count = found.reduce((sum, each) => sum + each.count, 0);
      this.found = { query, count, found };
      this.say(count ? format.integer(count) : "none");
      // Where nothing matches, fading everything would say less.
      this.panel.setMatches({ names: count ? new Set(found.flatMap((each) => each.names)) : null, minimaps: found.map((each) => each.minimap), count });
    } catch (error) {
      if (signal.aborted) return this.answer;
      this.key = "";
      this.panel.setMatches(null);
      this.say("!", error.message);
    }
  }

  /** @param {any} source @param {string} query @param {number} offset @param {AbortSignal} [signal] */
  async page(source, query, offset, signal) {
    const at = Math.round(this.panel.viewport.target[0] - source.offset);
    return { ...(await source.json("search", { q: query, match: this.match, offset, limit: PAGE, at }, signal)), source };
  }

  /** @param {number} direction @param {() => boolean} wanted whether nothing has taken its place meanwhile */
  async move(direction, wanted) {
    const { found } = this;
    if (!found?.count || !wanted()) return;
    const { count, query } = found;
    const pages = found.found;
    // One trace after another; within each by time, beginning with what is visible.
    let at = (this.current + direction + count) % count;
    if (this.current < 0) {
      const first = pages.findIndex((/** @type {any} */ each) => each.count);
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
    this.say(`${format.integer(to + 1)} of ${format.integer(count)}`);
    this.panel.selection.select(pages[place].index[at - pages[place].offset], { reveal: true, source: pages[place].source });
    this.went = this.panel.selection.asked;
  }

  /** @param {string} text @param {string} [problem] */
  say(text, problem = "") {
    this.count.textContent = text;
    this.count.title = problem;
    this.element.classList.toggle("wrong", problem !== "");
    this.input.title = problem;
  }
}
