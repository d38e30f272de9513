/** The metadata as a table below the cloud: sorted by the server, which is only asked for the visible rows. */
import { counted } from "../../../web/core/numbers.ts";
import { hint } from "./commands.ts";
import { button, format, segmented } from "./widgets.ts";
import { type ColumnDef, type Grid, type GridEvent, type GridRow, gridWhenReady } from "../../../web/core/ag_grid.ts";
import { retryButton } from "../../../web/cards/loading.ts";
import { bind, keyOf } from "../../../web/core/commands.ts";
import { make, storage } from "../../../web/core/dom.ts";
import { messageOf } from "../../../web/core/request.ts";
import { copyText } from "../../../web/page/layout.ts";
import type { Dataset } from "./data.ts";
import type { ColumnInfo, TableAnswer } from "./messages.generated.ts";
import type { ProjectorPanel } from "./panel.ts";
import { settings } from "./settings.generated.ts";
import type { Origin } from "./panel_base.ts";

/** The grid and the box around it (dashboard/panels/projector/panel.py). */
const GRID = "projector-grid";
const BOX = "projector-table";
const HEIGHT = "stepscope-projector-table";
/** The column with the rows' places. */
const PLACE = "#";
/** Rows per answer; the server returns no more. */
const MOST_ASKED = 500;

const NOTHING: Partial<Record<string, string>> = {
  selected: "nothing is selected",
  found: "nothing was searched for, or found",
  visible: "nothing is shown",
};
const ROWS_OF = { visible: "shown", found: "found", selected: "selected", all: "all" };

type Value = string | number | null;
/** A line of the table. */
interface Line {
  id: string;
  row: number;
  values: Record<string, Value>;
}
/** A request from the grid. */
interface Request {
  startRow: number;
  endRow: number;
  successCallback(lines: Line[], count: number): void;
  failCallback(): void;
}
interface LineEvent extends GridEvent {
  data?: Line;
  rowIndex: number | null;
  event?: Event | null;
}
/** A grid that holds only some of its lines. */
interface LinesGrid extends Grid<Line | undefined> {
  addEventListener(name: string, listener: (event: LineEvent) => void): void;
  getGridOption(name: "datasource"): unknown;
  setRowCount(count: number, isKnown: boolean): void;
  refreshInfiniteCache(): void;
  ensureIndexVisible(index: number, place?: "middle"): void;
  refreshCells(how: { force: boolean; columns?: string[] }): void;
}

interface Column extends ColumnDef<Line | undefined, Value | undefined> {
  flex?: number;
  sortingOrder?: ("asc" | "desc" | null)[];
}

const said = (value: Value | undefined): string =>
  value === null || value === undefined ? "" : typeof value === "number" ? format.number(value) : value;

function columnOf({ name, kind }: ColumnInfo): Column {
  const number = kind === "number";
  return {
    colId: name,
    headerName: name,
    headerTooltip: `Sort by ${name}`,
    minWidth: number ? 72 : 90,
    ...(number ? { width: 100, type: "rightAligned" } : { flex: 1 }),
    valueGetter: ({ data }) => data?.values[name],
    valueFormatter: ({ value }) => said(value),
    tooltipValueGetter: ({ value }) => String(value ?? ""),
  };
}

const POLL_MS = 20;

/** Waits until Dash has given the grid its own source, shortly after it appears: an earlier source would be lost. */
async function whenFurnished(grid: LinesGrid): Promise<void> {
  // The grid does not notify latecomers that it is ready.
  while (!grid.isDestroyed() && !grid.getGridOption("datasource")) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

export class Table {
  readonly panel: ProjectorPanel;
  /** The number of lines in the table. */
  count = 0;
  turn = 0;
  /** The server's key of the wanted rows, requested or received; null for all. */
  rowsKey: Promise<string | null> = Promise.resolve(null);
  readonly ready: Promise<LinesGrid>;
  /** The grid, once it has shown something. */
  grid: LinesGrid | null = null;
  /** The description that its columns were made from. */
  columns = "";
  /** The line that ranges and keys start from. */
  last: number | undefined;
  /** How many ranges were requested. */
  ranges = 0;
  readonly opener;
  readonly which;
  readonly about = make("span", { className: "pj-count" });
  readonly grip = make("div", { className: "pj-table-grip", title: "Drag to resize the table" });
  readonly element;
  readonly box = document.getElementById(BOX);

  constructor(panel: ProjectorPanel) {
    this.panel = panel;
    this.opener = button("Table", hint("Show or hide the metadata table", "table"), () => this.flip(), "plain");
    this.which = segmented(
      "Rows of the table",
      settings.tableOf.options.map((value) => [value, ROWS_OF[value], `Rows that are ${ROWS_OF[value]}`]),
      (value) => {
        panel.state.tableOf = value;
        panel.tell({ tableOf: value });
        this.which.show(value);
        void this.reload();
      },
    );
    const spacer = make("span", { className: "spacer" });
    this.element = make(
      "section",
      { className: "pj-table", "aria-label": "Metadata table" },
      this.grip,
      make(
        "div",
        { className: "pj-table-bar" },
        panel.tools.left,
        this.opener,
        this.which,
        this.about,
        spacer,
        panel.tools.right,
      ),
    );
    this.grip.addEventListener("pointerdown", (event) => this.drag(event));
    const height = Number(storage.get(HEIGHT));
    if (height) this.setHeight(height);
    this.ready = gridWhenReady<Line | undefined>(GRID).then((grid) => this.begin(grid as LinesGrid));
    // Whoever shows lines reports that there is no grid.
    this.ready.catch(() => {});
    if (this.box) bind(this.box, { "Ctrl c": () => this.copy() });
  }

  async begin(grid: LinesGrid): Promise<LinesGrid> {
    await whenFurnished(grid);
    // All lines cannot be selected here, since most are not loaded.
    const suppressKeyboardEvent = ({ event }: { event: KeyboardEvent }) => keyOf(event) === "Ctrl a";
    grid.setGridOption("defaultColDef", {
      sortable: true,
      resizable: true,
      suppressHeaderMenuButton: true,
      suppressKeyboardEvent,
    });
    grid.addEventListener("rowClicked", ({ data, rowIndex, event }) => {
      if (data && rowIndex !== null && event instanceof MouseEvent) this.click(data.row, rowIndex, event);
    });
    // Fires after the grid has moved on.
    grid.addEventListener("cellKeyDown", ({ event }) => {
      const at = grid.getFocusedCell()?.rowIndex;
      const goes = event instanceof KeyboardEvent && /^(ArrowUp|ArrowDown|PageUp|PageDown|Home|End)$/.test(event.key);
      if (goes && at !== undefined && at !== this.last) void this.goTo(at);
    });
    grid.addEventListener("selectionChanged", ({ source }) => {
      const cell = source === "spaceKey" && grid.getFocusedCell();
      const line = cell && grid.getDisplayedRowAtIndex(cell.rowIndex)?.data;
      if (line) this.panel.toggle(line.row, true, "table");
    });
    grid.addEventListener("sortChanged", ({ source }) => {
      if (source !== "uiColumnSorted") return;
      const by = grid.getColumnState().find(({ sort }) => sort);
      const name = !by || by.colId === PLACE ? "" : by.colId;
      this.panel.state.sort = `${by?.sort === "desc" ? "-" : ""}${name}`;
      this.panel.tell({ sort: this.panel.state.sort });
      this.last = undefined;
    });
    return grid;
  }

  get open(): boolean {
    return this.panel.state.table;
  }

  flip(): void {
    this.panel.state.table = !this.open;
    this.panel.tell({ table: this.open });
    this.show();
    if (this.open) void this.reload();
  }

  drag(event: PointerEvent): void {
    this.grip.setPointerCapture(event.pointerId);
    const { bottom } = this.element.getBoundingClientRect();
    this.grip.onpointermove = ({ clientY }) => {
      const height = Math.round(Math.min(Math.max(bottom - clientY, 90), this.panel.root.clientHeight * 0.7));
      this.setHeight(height);
      storage.set(HEIGHT, String(height));
    };
    this.grip.onpointerup = () => (this.grip.onpointermove = this.grip.onpointerup = null);
  }

  setHeight(height: number): void {
    for (const part of [this.element, this.box]) part?.style.setProperty("--table", `${height}px`);
  }

  show(): void {
    const { dataset, state } = this.panel;
    this.element.hidden = !dataset;
    this.element.classList.toggle("open", this.open);
    this.box?.classList.toggle("open", this.open && dataset !== null);
    this.opener.classList.toggle("on", this.open);
    this.opener.setAttribute("aria-expanded", String(this.open));
    this.which.show(state.tableOf);
    this.which.hidden = this.about.hidden = !this.open;
  }

  // ---- lines

  /** The rows that the table is to show; null for all. */
  wanted(): Uint32Array | null {
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

  /** Reloads the table if it is open, since what it shows may have changed. */
  refresh(): void {
    if (this.open && this.panel.dataset) void this.reload();
  }

  async reload(): Promise<void> {
    const { panel } = this;
    const turn = (this.turn += 1);
    const { dataset } = panel;
    if (!this.open || !dataset) return;
    const rows = this.wanted();
    try {
      // Lines requested from now on wait for it too.
      this.rowsKey = rows?.length ? dataset.keyOf(rows) : Promise.resolve(null);
      const [grid] = await Promise.all([this.ready, this.rowsKey]);
      if (turn !== this.turn) return;
      this.count = rows ? rows.length : dataset.count;
      this.tell(this.count || !rows ? counted(this.count, "row") : NOTHING[panel.state.tableOf] ?? "");
      this.fill(grid, dataset);
    } catch (error) {
      if (turn !== this.turn) return;
      this.count = 0;
      this.fail(error);
    }
  }

  tell(text: string, bad = false): void {
    this.about.textContent = text;
    this.about.classList.toggle("bad", bad);
  }

  /** Reports that lines did not arrive: their places stay empty until they are requested again. */
  fail(error: unknown): void {
    this.tell(messageOf(error), true);
    this.about.append(" ", retryButton(() => this.reload(), "quiet"));
  }

  /** Brings the columns, the order, and the lines of the grid up to date. */
  fill(grid: LinesGrid, dataset: Dataset): void {
    const { panel } = this;
    const columns = JSON.stringify(dataset.columnInfos.map(({ name, kind }) => [name, kind]));
    if (columns !== this.columns) {
      this.columns = columns;
      const place: Column = {
        colId: PLACE,
        headerName: PLACE,
        headerTooltip: `Sort by ${PLACE}`,
        width: 76,
        type: "rightAligned",
        cellClass: "pj-place",
        cellClassRules: { "pj-focus": ({ data }) => data?.row === panel.focus },
        sortingOrder: ["desc", null],
        valueGetter: ({ data }) => data?.row,
      };
      grid.setGridOption("columnDefs", [place, ...dataset.columnInfos.map(columnOf)]);
    }
    const { name, descending } = this.sort;
    const sort = descending ? "desc" : "asc";
    const state = name || descending ? [{ colId: name || PLACE, sort } as const] : [];
    grid.applyColumnState({ state, defaultState: { sort: null } });
    if (this.grid) {
      grid.setRowCount(this.count, true);
      grid.refreshInfiniteCache();
    } else {
      this.grid = grid;
      grid.setGridOption("datasource", { getRows: (request: Request) => this.serve(request) });
    }
  }

  get sort(): { name: string; descending: boolean } {
    const { sort } = this.panel.state;
    return sort.startsWith("-") ? { name: sort.slice(1), descending: true } : { name: sort, descending: false };
  }

  /** Answers a request from the grid. */
  async serve({ startRow, endRow, successCallback, failCallback }: Request): Promise<void> {
    const { turn } = this;
    try {
      const lines = await this.lines(startRow, endRow);
      if (turn !== this.turn) return failCallback();
      successCallback(lines, this.count);
      this.mark();
    } catch (error) {
      failCallback();
      if (turn === this.turn) this.fail(error);
    }
  }

  /** Returns the lines from one place up to, but excluding, another. */
  async lines(from: number, to: number): Promise<Line[]> {
    const { dataset, api } = this.panel;
    const rows = await this.rowsKey;
    const limit = Math.min(to, this.count) - from;
    if (!dataset || limit <= 0) return [];
    const { name, descending } = this.sort;
    const answer = await api.ask<TableAnswer>("table", {
      ...dataset.at,
      offset: from,
      limit,
      sort: name,
      descending: descending ? "true" : "",
      rows_of: rows,
    });
    return answer.rows.map((values) => ({ id: String(values[PLACE]), row: Number(values[PLACE]), values }));
  }

  /** Returns the rows of the lines from one place to another; without an order of their own, requests nothing. */
  async rows(first: number, last: number): Promise<Uint32Array> {
    const { name, descending } = this.sort;
    if (!name && !descending) {
      const wanted = this.wanted();
      return wanted
        ? wanted.slice(first, last + 1)
        : Uint32Array.from({ length: last - first + 1 }, (_, at) => first + at);
    }
    const rows: number[] = [];
    for (let from = first; from <= last; from += MOST_ASKED) {
      const lines = await this.lines(from, Math.min(from + MOST_ASKED, last + 1));
      rows.push(...lines.map(({ row }) => row));
    }
    return Uint32Array.from(rows).sort();
  }

  // ---- selection

  selected(by: Origin): void {
    if (!this.open) return;
    if (this.panel.state.tableOf === "selected" && by !== "table") return void this.reload();
    if (by !== "table") this.reveal();
    this.mark();
  }

  /** Shows which lines are selected and which has the focus. */
  mark(): void {
    const { grid } = this;
    if (!grid || grid.isDestroyed()) return;
    const selected = new Set(this.panel.selection);
    const changed: Record<"on" | "off", GridRow<Line | undefined>[]> = { on: [], off: [] };
    grid.forEachNode((node) => {
      if (!node.data) return;
      const wanted = selected.has(node.data.row);
      if (wanted !== Boolean(node.isSelected())) changed[wanted ? "on" : "off"].push(node);
    });
    grid.setNodesSelected({ nodes: changed.on, newValue: true, source: "api" });
    grid.setNodesSelected({ nodes: changed.off, newValue: false, source: "api" });
    grid.refreshCells({ force: true, columns: [PLACE] });
  }

  /** Brings the focus into view if the table is in row order. */
  reveal(): void {
    const { focus } = this.panel;
    if (focus < 0 || this.panel.state.sort) return;
    const rows = this.wanted();
    const at = rows ? rows.indexOf(focus) : focus;
    if (at < 0 || at >= this.count) return;
    this.grid?.ensureIndexVisible(at);
    this.last = at;
  }

  hovered(row: number): void {
    if (!this.open || !this.box) return;
    this.box.querySelector(".pj-hovered")?.classList.remove("pj-hovered");
    if (row >= 0) this.box.querySelector(`.ag-row[row-id="${row}"]`)?.classList.add("pj-hovered");
  }

  /** @param at the row's place in the table */
  click(row: number, at: number, event: MouseEvent): void {
    if (event.shiftKey && this.last !== undefined) return void this.range(this.last, at);
    this.last = at;
    if (event.ctrlKey || event.metaKey) this.panel.toggle(row, true, "table");
    else this.panel.goTo(row, "table");
  }

  async range(from: number, to: number): Promise<void> {
    const own = this.ranges += 1;
    const { selection } = this.panel;
    try {
      const rows = await this.rows(Math.min(from, to), Math.max(from, to));
      // Something else may have been selected in the meantime.
      if (own === this.ranges && selection === this.panel.selection) this.panel.select(rows, { by: "table" });
    } catch (error) {
      this.tell(messageOf(error), true);
    }
  }

  /** Called when keys have moved to another line. */
  async goTo(at: number): Promise<void> {
    this.last = at;
    const known = this.grid?.getDisplayedRowAtIndex(at)?.data?.row;
    const row = known ?? (await this.rows(at, at).catch(() => []))[0];
    if (row !== undefined && this.last === at) this.panel.goTo(row, "table");
  }

  /** Copies the focused cell; if text is selected, the browser copies that. */
  copy(): false | void {
    const cell = this.grid?.getFocusedCell();
    const line = cell && this.grid?.getDisplayedRowAtIndex(cell.rowIndex)?.data;
    if (!line || getSelection()?.toString()) return false;
    const name = cell.column.getColId();
    void copyText(String((name === PLACE ? line.row : line.values[name]) ?? ""), "Cell copied");
  }
}
