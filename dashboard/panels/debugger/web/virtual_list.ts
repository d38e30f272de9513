/** A list of any length that requests and renders only its visible rows. */
import { bind } from "../../../web/core/commands.ts";
import { make } from "../../../web/core/dom.ts";
import { isAbort, messageOf } from "../../../web/core/request.ts";

const PAGE = 200;
const MOST_PAGES = 40;
/** Browsers allow no taller elements; a longer list is scrolled proportionally. */
const TALLEST = 8_000_000;
const WAIT_MS = 60;
const RETRY_MS = 2000;

export interface Source<Row> {
  /** Returns rows and how many there are in total. */
  fetch(offset: number, limit: number, signal: AbortSignal): Promise<{ total: number; rows: readonly Row[] }>;
  draw(row: Row, place: number): HTMLElement;
  /** Called when a row was chosen with the pointer or a key. */
  choose(row: Row, place: number): void;
  /** Called on Enter or a second click. */
  open?(row: Row): void;
}

export class VirtualList<Row> {
  readonly element = make("div", { className: "debugger-list", tabIndex: 0, role: "listbox" });
  total = 0;
  selected = -1;
  #rowHeight: number;
  #spacer = make("div", { className: "debugger-list-spacer", role: "presentation" });
  #view = make("div", { className: "debugger-list-view", role: "presentation" });
  #message = make("div", { className: "debugger-list-message", hidden: true });
  #source: Source<Row>;
  #pages: Map<number, readonly Row[]> = new Map();
  /** Pages that have arrived or are on their way. */
  #asked: Map<number, Promise<void>> = new Map();
  #end = new AbortController();
  #frame = 0;
  #first = 0;
  /** The part of a row that the wheel has turned beyond the first one. */
  #turned = 0;
  #waiting: ReturnType<typeof setTimeout> | undefined;

  constructor(label: string, source: Source<Row>, rowHeight = 26) {
    this.#source = source;
    this.#rowHeight = rowHeight;
    this.element.setAttribute("aria-label", label);
    this.element.append(this.#spacer, this.#view, this.#message);
    this.element.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    this.element.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    this.element.addEventListener("click", (event) => this.#clicked(event));
    new ResizeObserver(() => this.#drawSoon()).observe(this.element);
    bind(this.element, {
      ArrowDown: () => this.step(1),
      ArrowUp: () => this.step(-1),
      PageDown: () => this.step(this.#fitting() - 1),
      PageUp: () => this.step(1 - this.#fitting()),
      Home: () => this.select(0),
      End: () => this.select(this.total - 1),
      Enter: () => {
        const row = this.rowAt(this.selected);
        if (row === undefined || !this.#source.open) return false;
        this.#source.open(row);
      },
    });
  }

  /** Starts over: the source has different rows. */
  reset(keepPlace = false): void {
    this.#end.abort();
    this.#end = new AbortController();
    this.#pages.clear();
    this.#asked.clear();
    if (!keepPlace) {
      this.#first = 0;
      this.selected = -1;
      this.element.scrollTop = 0;
    }
    this.#message.hidden = true;
    void this.#ask(Math.floor(this.#first / PAGE));
  }

  rowAt(place: number): Row | undefined {
    return this.#pages.get(Math.floor(place / PAGE))?.[place % PAGE];
  }

  step(by: number): void {
    if (this.total) this.select(Math.min(Math.max((this.selected < 0 ? -1 : this.selected) + by, 0), this.total - 1));
  }

  /** Chooses a row and brings it into view. */
  select(place: number, tell = true): void {
    if (place < 0 || place >= this.total) return;
    this.selected = place;
    const fitting = this.#fitting();
    if (place < this.#first) this.#scrollTo(place);
    else if (place >= this.#first + fitting) this.#scrollTo(place - fitting + 1);
    if (tell) void this.#tell(place);
    this.#drawSoon();
  }

  /** Reports the chosen row once it has arrived, unless that fails or another row is chosen by then. */
  async #tell(place: number): Promise<void> {
    let signal: AbortSignal;
    do {
      signal = this.#end.signal;
      if (this.rowAt(place) === undefined) await this.#ask(Math.floor(place / PAGE));
    } while (signal.aborted && this.selected === place);
    const row = this.rowAt(place);
    if (row !== undefined && this.selected === place) this.#source.choose(row, place);
  }

  #fitting = (): number => Math.max(1, Math.floor(this.element.clientHeight / this.#rowHeight));

  #height(): number {
    return Math.min(this.total * this.#rowHeight, TALLEST);
  }

  #scrollTo(first: number): void {
    const last = Math.max(this.total - this.#fitting(), 0);
    this.#first = Math.min(Math.max(first, 0), last);
    const room = this.#height() - this.element.clientHeight;
    this.element.scrollTop = last ? (this.#first / last) * room : 0;
    this.#drawSoon();
  }

  #scrolled(): void {
    const room = this.#height() - this.element.clientHeight;
    const last = Math.max(this.total - this.#fitting(), 0);
    const first = room > 0 ? (this.element.scrollTop / room) * last : 0;
    // A position reached by key may lie between two pixels.
    if (Math.abs(first - this.#first) >= 1 || this.total * this.#rowHeight <= TALLEST) this.#first = Math.round(first);
    this.#drawSoon();
  }

  /** Keeps the wheel moving by rows in a proportionally scrolled list. */
  #wheel(event: WheelEvent): void {
    if (this.total * this.#rowHeight <= TALLEST || event.ctrlKey) return;
    event.preventDefault();
    this.#turned += event.deltaY / this.#rowHeight;
    const rows = Math.trunc(this.#turned);
    this.#turned -= rows;
    if (rows) this.#scrollTo(this.#first + rows);
  }

  #clicked(event: MouseEvent): void {
    const row = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-place]") : null;
    if (!row) return;
    this.select(Number(row.dataset.place));
    if (event.detail > 1) {
      const chosen = this.rowAt(this.selected);
      if (chosen !== undefined) this.#source.open?.(chosen);
    }
  }

  #ask(page: number): Promise<void> {
    const asked = this.#asked.get(page) ?? this.#fetch(page);
    this.#asked.set(page, asked);
    return asked;
  }

  async #fetch(page: number): Promise<void> {
    const { signal } = this.#end;
    try {
      const { total, rows } = await this.#source.fetch(page * PAGE, PAGE, signal);
      if (signal.aborted) return;
      this.total = total;
      this.#pages.set(page, rows);
      for (const old of this.#pages.keys()) {
        if (this.#pages.size <= MOST_PAGES) break;
        if (old === page) continue;
        this.#pages.delete(old);
        this.#asked.delete(old);
      }
      this.say(total ? "" : "Nothing matches the filter.");
    } catch (error) {
      if (isAbort(error) || signal.aborted) return;
      this.say(messageOf(error));
      setTimeout(() => {
        if (signal.aborted) return;
        this.#asked.delete(page);
        // Visible rows are requested again.
        if (this.total) this.say("");
        else if (this.element.isConnected) void this.#ask(page);
        this.#drawSoon();
      }, RETRY_MS);
    }
    this.#drawSoon();
  }

  /** Shows a message instead of rows. */
  say(text: string): void {
    this.#message.textContent = text;
    this.#message.hidden = !text;
    this.#view.hidden = Boolean(text);
  }

  #drawSoon(): void {
    if (this.#frame) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
    });
  }

  #draw(): void {
    const height = this.#rowHeight;
    this.#spacer.style.height = `${this.#height()}px`;
    const count = this.#fitting() + 2;
    const first = Math.max(Math.min(this.#first, this.total - this.#fitting()), 0);
    const rows: HTMLElement[] = [];
    const missing = new Set<number>();
    for (let place = first; place < Math.min(first + count, this.total); place += 1) {
      const row = this.rowAt(place);
      if (row === undefined) missing.add(Math.floor(place / PAGE));
      const element = row === undefined ? make("div", { className: "waiting" }, "…") : this.#source.draw(row, place);
      element.dataset.place = String(place);
      element.setAttribute("role", "option");
      element.setAttribute("aria-selected", String(place === this.selected));
      element.id = `debugger-row-${place}`;
      element.style.height = `${height}px`;
      rows.push(element);
    }
    this.#view.style.transform = `translateY(${this.element.scrollTop}px)`;
    this.#view.replaceChildren(...rows);
    if (this.selected >= first && this.selected < first + count) {
      this.element.setAttribute("aria-activedescendant", `debugger-row-${this.selected}`);
    } else this.element.removeAttribute("aria-activedescendant");
    clearTimeout(this.#waiting);
    // Rows that are only scrolled past are not requested.
    if (missing.size) this.#waiting = setTimeout(() => missing.forEach((page) => void this.#ask(page)), WAIT_MS);
  }
}
