// @ts-check
/** The search box: over the whole trace, with a count, and next and previous match. */
(() => {
  const root = (window.stepscope = window.stepscope || {});
  const timeline = (root.timeline = root.timeline || {});

  const PAGE = 2000;
  const PAUSE_MS = 180;

  class Search {
    /** @param {any} panel */
    constructor(panel) {
      const { element, button } = timeline.details;
      this.panel = panel;
      /** @type {any} */
      this.found = null;
      this.current = -1;
      this.regex = false;
      /** @type {AbortController | null} */
      this.abort = null;
      this.timer = 0;
      this.input = /** @type {HTMLInputElement} */ (element("input", "timeline-search-input"));
      this.input.type = "text";
      this.input.placeholder = "Search slices  ( / )";
      this.input.spellcheck = false;
      this.input.setAttribute("aria-label", "Search slices by name");
      this.count = element("span", "timeline-search-count");
      this.count.setAttribute("aria-live", "polite");
      this.toggle = button(".*", "Regular expression", () => this.setRegex(!this.regex), "plain toggle");
      this.element = element("div", "timeline-search", this.input, this.count, this.toggle,
        button("‹", "Previous match (Shift + Enter)", () => this.move(-1), "plain"),
        button("›", "Next match (Enter)", () => this.move(1), "plain"));
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

    /** @param {string} text */
    set(text) {
      this.input.value = text;
      this.regex = false;
      this.toggle.classList.remove("on");
      return this.run();
    }

    /** @param {boolean} regex */
    setRegex(regex) {
      this.regex = regex;
      this.toggle.classList.toggle("on", regex);
      this.toggle.setAttribute("aria-pressed", String(regex));
      this.run();
    }

    clear() {
      this.input.value = "";
      this.run();
    }

    /** @param {number} direction */
    async enter(direction) {
      clearTimeout(this.timer);
      if (!this.found || this.found.query !== this.input.value) await this.run();
      await this.move(direction);
    }

    async run() {
      this.abort?.abort();
      const query = this.input.value;
      this.current = -1;
      if (!query || !this.panel.source) {
        this.found = null;
        this.say("");
        this.panel.setMatches(null);
        return;
      }
      try {
        await this.load(query, 0);
        this.say(this.found.count ? timeline.format.integer(this.found.count) : "none");
        this.panel.setMatches({ names: new Set(this.found.names), minimap: this.found.minimap, count: this.found.count });
      } catch (error) {
        if (error.name === "AbortError") return;
        this.found = null;
        this.panel.setMatches(null);
        this.say("!", error.message);
      }
    }

    /** @param {string} query @param {number} offset */
    async load(query, offset) {
      this.abort = new AbortController();
      const found = await this.panel.source.json("search", { q: query, regex: this.regex, offset, limit: PAGE, at: Math.round(this.panel.viewport.target[0]) }, this.abort.signal);
      this.found = { ...found, query };
    }

    /** @param {number} direction */
    async move(direction) {
      const count = this.found?.count;
      if (!count) return;
      if (this.current < 0) {
        await this.load(this.found.query, 0);
        this.current = (this.found.rank + (direction < 0 ? count - 1 : 0)) % count;
      } else this.current = (this.current + direction + count) % count;
      if (this.current < this.found.offset || this.current >= this.found.offset + this.found.index.length) {
        await this.load(this.found.query, Math.floor(this.current / PAGE) * PAGE);
      }
      const at = this.current - this.found.offset;
      this.say(`${timeline.format.integer(this.current + 1)} of ${timeline.format.integer(count)}`);
      await this.panel.selection.select(this.found.index[at], { reveal: true });
    }

    /** @param {string} text @param {string} [problem] */
    say(text, problem = "") {
      this.count.textContent = text;
      this.count.title = problem;
      this.element.classList.toggle("wrong", problem !== "");
      if (problem) this.panel.notify(problem);
    }
  }

  timeline.Search = Search;
})();
