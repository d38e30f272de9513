/** The metadata as a table below the cloud: sorted and paged by the server, only the rows in sight are on the page. */
import * as parts from "./parts.ts";
import { hint } from "./commands.ts";
import { format } from "./parts.ts";
import { bind } from "../../../web/core/commands.ts";
import { storage } from "../../../web/core/dom.ts";
import { messageOf } from "../../../web/core/request.ts";
import type { ColumnInfo } from "./data.ts";
import type { ProjectorPanel } from "./panel.ts";
import type { Origin } from "./panel_base.ts";

const ROW = 25;
const PAGE = 100;
const MOST_PAGES = 40;
const MOST_COLUMNS = 60;
/** Chromium draws nothing further down. */
const MOST_HEIGHT = 15e6;
const NOTHING: Partial<Record<string, string>> = {
  selected: "nothing is selected",
  found: "nothing was searched, or found",
  visible: "nothing is shown",
};
const SORTS: [string, string][] = [["visible", "shown"], ["found", "found"], ["selected", "selected"], ["all", "all"]];

/** "#" is the place, the others are the columns. */
type Row = Record<string, string | number | null>;

export class Table {
  readonly panel: ProjectorPanel;
  pages: Map<number, Promise<Row[]> | Row[]> = new Map();
  count = 0;
  turn = 0;
  /** The server's key of the rows that are wanted, on its way or there; null for all. */
  rowsKey: Promise<string | null> = Promise.resolve(null);
  opener;
  which;
  about;
  head;
  rows;
  scroll;
  grip;
  bar;
  element;
  last: number | undefined;
  nothing = false;
  problem = "";

  constructor(panel: ProjectorPanel) {
    const { make, button, segmented } = parts;
    this.panel = panel;
    this.opener = button("Table", hint("Show or hide the metadata table", "table"), () => this.flip(), "plain");
    this.which = segmented(
      "Rows of the table",
      SORTS.map(([value, text]) => [value, text, `Rows that are ${text}`]),
      (value) => {
        panel.state.tableOf = value;
        panel.tell({ table_of: value });
        void this.reload();
      },
    );
    this.about = make("span", { className: "pj-count" });
    this.head = make("div", { className: "pj-table-head", role: "row" });
    this.rows = make("div", { className: "pj-virtual-rows", role: "rowgroup" });
    this.scroll = make(
      "div",
      { className: "pj-table-scroll", tabIndex: 0, role: "table", "aria-label": "Metadata" },
      this.head,
      this.rows,
    );
    this.grip = make("div", { className: "pj-table-grip", title: "Drag: the height of the table" });
    this.bar = make(
      "div",
      { className: "pj-table-bar" },
      panel.tools.left,
      this.opener,
      this.which,
      this.about,
      make("span", { className: "spacer" }),
      panel.tools.right,
    );
    this.element = make(
      "section",
      { className: "pj-table", "aria-label": "Metadata table" },
      this.grip,
      this.bar,
      this.scroll,
    );
    this.scroll.addEventListener("scroll", () => this.draw());
    bind(this.scroll, { ArrowDown: () => this.go(1), ArrowUp: () => this.go(-1) });
    this.grip.addEventListener("pointerdown", (event: PointerEvent) => this.drag(event));
    const height = Number(storage.get("stepscope-projector-table"));
    if (height) this.element.style.setProperty("--table", `${height}px`);
    new ResizeObserver(() => this.draw()).observe(this.scroll);
  }

  get open() {
    return this.panel.state.table;
  }

  flip() {
    this.panel.state.table = !this.open;
    this.panel.tell({ table: this.open ? "on" : "off" });
    this.show();
    if (this.open) this.reload();
  }

  drag(event: PointerEvent) {
    this.grip.setPointerCapture(event.pointerId);
    const bottom = this.element.getBoundingClientRect().bottom;
    this.grip.onpointermove = (move: PointerEvent) => {
      const height = Math.round(Math.min(Math.max(bottom - move.clientY, 90), this.panel.root.clientHeight * 0.7));
      this.element.style.setProperty("--table", `${height}px`);
      storage.set("stepscope-projector-table", String(height));
    };
    this.grip.onpointerup = () => (this.grip.onpointermove = this.grip.onpointerup = null);
  }

  show() {
    const { panel } = this;
    this.element.hidden = !panel.dataset;
    this.element.classList.toggle("open", this.open);
    this.opener.classList.toggle("on", this.open);
    this.opener.setAttribute("aria-expanded", String(this.open));
    this.which.show(panel.state.tableOf);
    this.which.hidden = this.about.hidden = this.scroll.hidden = !this.open;
  }

  /** Rows that the table is asked for; null for all. */
  wanted() {
    const { panel } = this;
    switch (panel.state.tableOf) {
      case "selected":
        return panel.selection;
      case "found":
        return panel.found ?? new Uint32Array(0);
      case "visible":
        return panel.visibleRows();
      default:
        return null;
    }
  }

  /** What it shows may have changed: asks again where it has. */
  refresh() {
    if (this.open && this.panel.dataset) this.reload();
  }

  selected(by: Origin) {
    if (!this.open) return;
    if (this.panel.state.tableOf === "selected" && by !== "table") return void this.reload();
    if (by !== "table") this.reveal();
    this.draw();
  }

  /** Brings the focus into sight, where the table is in the order of the rows. */
  reveal() {
    const { focus } = this.panel;
    if (focus < 0 || this.sort.name || this.sort.descending) return;
    const rows = this.wanted();
    const at = rows ? rows.indexOf(focus) : focus;
    const [top, height] = [at * ROW, this.scroll.clientHeight - ROW];
    if (at < 0 || this.count * ROW > MOST_HEIGHT) return;
    if (top < this.scroll.scrollTop || top + ROW > this.scroll.scrollTop + height) {
      this.scroll.scrollTop = Math.max(top - height / 2, 0);
    }
    this.last = at;
  }

  hovered(row: number) {
    if (!this.open) return;
    this.rows.querySelector(".hovered")?.classList.remove("hovered");
    if (row >= 0) this.rows.querySelector(`[data-row="${row}"]`)?.classList.add("hovered");
  }

  async reload() {
    const { panel } = this;
    const turn = (this.turn += 1);
    if (!this.open || !panel.dataset) return;
    this.pages.clear();
    const rows = this.wanted();
    const { dataset } = panel;
    try {
      // Pages that are asked for from now on wait for it too.
      this.rowsKey = rows && rows.length ? dataset.keyOf(rows) : Promise.resolve(null);
      await this.rowsKey;
      if (turn !== this.turn) return;
      this.nothing = rows !== null && rows.length === 0;
      this.count = this.nothing ? 0 : rows ? rows.length : dataset.count;
      this.problem = "";
    } catch (error) {
      if (turn !== this.turn) return;
      this.problem = messageOf(error);
      this.count = 0;
    }
    this.showHead();
    this.about.textContent = this.problem ||
      (this.nothing ? NOTHING[panel.state.tableOf] ?? "" : format.counted(this.count, "row"));
    this.about.classList.toggle("bad", Boolean(this.problem));
    this.draw();
  }

  get sort() {
    const { sort } = this.panel.state;
    return sort.startsWith("-") ? { name: sort.slice(1), descending: true } : { name: sort, descending: false };
  }

  columns() {
    return (this.panel.dataset?.columnInfos ?? []).slice(0, MOST_COLUMNS);
  }

  widths() {
    return `64px ${
      this.columns().map((column) => (column.kind === "number" ? "minmax(72px, 110px)" : "minmax(90px, 1fr)"))
        .join(" ")
    }`;
  }

  showHead() {
    const { make } = parts;
    const { name: sorted, descending } = this.sort;
    this.scroll.style.setProperty("--columns", this.widths());
    const cells = [
      { name: "", label: "#", kind: "number" },
      ...this.columns().map((column) => ({ name: column.name, label: column.name, kind: column.kind })),
    ].map(({ name, label, kind }) => {
      const on = sorted === name;
      const cell = make(
        "button",
        {
          type: "button",
          className: `pj-th ${kind}`,
          role: "columnheader",
          title: `Sort by ${label}`,
          "aria-sort": on && (sorted || descending) ? (descending ? "descending" : "ascending") : "none",
        },
        make("bdi", {}, label),
        on && (sorted || descending) ? make("i", { className: descending ? "down" : "up" }) : "",
      );
      cell.addEventListener("click", () => this.sortBy(name));
      return cell;
    });
    this.head.replaceChildren(...cells);
    this.rows.style.height = `${Math.min(this.count * ROW, MOST_HEIGHT)}px`;
  }

  sortBy(name: string) {
    const { panel } = this;
    const { name: sorted, descending } = this.sort;
    panel.state.sort = sorted === name ? (descending ? "" : `-${name}`) : name;
    panel.tell({ sort: panel.state.sort });
    this.scroll.scrollTop = 0;
    void this.reload();
  }

  page(page: number): Promise<Row[]> | Row[] {
    const known = this.pages.get(page);
    if (known) return known;
    const { dataset, api } = this.panel;
    const { turn } = this;
    if (!dataset) return [];
    const { name, descending } = this.sort;
    const asked = this.rowsKey.then((rows) =>
      api.ask<{ rows: Row[] }>("table", {
        ...dataset.at,
        offset: page * PAGE,
        limit: PAGE,
        sort: name,
        descending: descending ? "true" : "",
        rows_of: rows,
      })
    ).then((answer) => {
      if (turn !== this.turn) return [];
      this.pages.set(page, answer.rows);
      this.draw();
      return answer.rows;
    }, (error: Error) => {
      if (turn === this.turn) {
        this.about.textContent = error.message;
        this.about.classList.add("bad");
      }
      return [];
    });
    if (this.pages.size > MOST_PAGES) this.pages.delete(this.pages.keys().next().value as number);
    this.pages.set(page, asked);
    return asked;
  }

  draw() {
    const { panel } = this;
    if (!this.open || !panel.dataset) return;
    const { make } = parts;
    const height = this.scroll.clientHeight || 200;
    const whole = this.count * ROW;
    // More rows than a page can be high: the scrollbar goes faster than the rows.
    const share = whole > MOST_HEIGHT ? this.scroll.scrollTop / Math.max(MOST_HEIGHT - height, 1) : 0;
    const top = whole > MOST_HEIGHT ? share * (whole - height) : this.scroll.scrollTop;
    const shift = this.scroll.scrollTop - top;
    const first = Math.max(Math.floor(top / ROW) - 3, 0);
    const last = Math.min(first + Math.ceil(height / ROW) + 6, this.count);
    const selected = new Set(panel.selection);
    const columns = this.columns();
    const made = [];
    for (let at = first; at < last; at += 1) {
      const page = this.page(Math.floor(at / PAGE));
      const row = Array.isArray(page) ? page[at % PAGE] : null;
      const line = make("div", { className: "pj-tr", role: "row" });
      line.style.top = `${at * ROW + shift}px`;
      if (row) {
        const number = Number(row["#"]);
        line.dataset.row = String(number);
        line.classList.toggle("selected", selected.has(number));
        line.classList.toggle("focus", panel.focus === number);
        line.append(
          make("span", { className: "pj-td number" }, String(number)),
          ...columns.map((column) => this.cell(column, row[column.name])),
        );
        line.addEventListener("click", (event: MouseEvent) => this.click(number, at, event));
      }
      made.push(line);
    }
    this.rows.replaceChildren(...made);
  }

  cell(column: ColumnInfo, value: string | number | null) {
    const { make } = parts;
    const text = value === null || value === undefined
      ? ""
      : typeof value === "number"
      ? format.number(value)
      : String(value);
    return make("span", {
      className: `pj-td ${column.kind}`,
      role: "cell",
      title: value === null || value === undefined ? "" : String(value),
    }, make("bdi", {}, text));
  }

  /** @param at its place in the table */
  click(row: number, at: number, event: MouseEvent) {
    const { panel } = this;
    if (event.shiftKey && this.last !== undefined) return void this.range(this.last, at);
    this.last = at;
    if (event.ctrlKey || event.metaKey) {
      const has = panel.selection.includes(row);
      return panel.select(panel.combined(Uint32Array.of(row), { add: !has, remove: has }), { by: "table" });
    }
    panel.goTo(row, "table");
  }

  async range(from: number, to: number) {
    const [first, last] = [Math.min(from, to), Math.max(from, to)];
    const rows: number[] = [];
    for (let page = Math.floor(first / PAGE); page <= Math.floor(last / PAGE); page += 1) {
      const content = await this.page(page);
      content.forEach((row, at) => {
        if (page * PAGE + at >= first && page * PAGE + at <= last) rows.push(Number(row["#"]));
      });
    }
    this.panel.select(Uint32Array.from(rows).sort(), { by: "table" });
  }

  go(by: number) {
    if (!this.count) return false;
    const at = Math.min(Math.max((this.last ?? -1) + by, 0), this.count - 1);
    this.last = at;
    const top = at * ROW;
    if (top < this.scroll.scrollTop) this.scroll.scrollTop = top;
    else if (top + ROW > this.scroll.scrollTop + this.scroll.clientHeight - ROW) {
      this.scroll.scrollTop = top + 2 * ROW - this.scroll.clientHeight;
    }
    void Promise.resolve(this.page(Math.floor(at / PAGE))).then((page) => {
      const row = page[at % PAGE];
      if (row && this.last === at) this.panel.goTo(Number(row["#"]), "table");
    });
  }
}
