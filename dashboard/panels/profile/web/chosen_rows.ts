/** Tables too long for the page: the server sorts, searches and filters all their rows, and sends the first ones. */
import { setProps } from "../../../web/core/dash.ts";
import type { Api, Parameters } from "../../../web/core/request.ts";
import { type Grid, gridId, gridOfTable, type Order, orderOf } from "./grid.ts";
import type { ChosenRows } from "./messages.generated.ts";

const TYPING_MS = 200;
const PAUSE_MS = 50;
const PATIENCE_MS = 10_000;

/** The order, search and filters the user chose for a table. */
interface Chosen {
  order: Order[];
  search: string;
  filters: Record<string, unknown>;
}

const cardOf = (table: string) =>
  document.querySelector<HTMLElement>(`.profile-card[data-cut][data-table="${CSS.escape(table)}"]`);

/** Whether a table is too long for the page. */
export const isCut = (table: string): boolean => cardOf(table) !== null;

/** The last request for a table. */
interface Asked {
  /** As JSON. */
  chosen: string;
  stop: AbortController;
}

export class CutTables {
  #api: Api;
  /** Parameters that identify the page and its trace to the server. */
  #page: () => Parameters;
  #asked = new WeakMap<Grid, Asked>();
  /** The last sort order of each table. */
  #orders = new Map<string, Order[]>();
  #typing = 0;
  #beginning = 0;

  constructor(api: Api, page: () => Parameters) {
    this.#api = api;
    this.#page = page;
  }

  /** Handles typing in a table's search field. */
  search(table: string): void {
    clearTimeout(this.#typing);
    this.#typing = window.setTimeout(() => void this.choose(table), TYPING_MS);
  }

  /** Called when the page has received its tables: previously sorted ones are sorted again as soon as they exist. */
  begin(): void {
    clearTimeout(this.#beginning);
    const sorted = [...this.#orders].filter(([, order]) => order.length);
    const began = performance.now();
    const look = () => {
      const waiting = sorted.filter(([table, order]) => cardOf(table) && !this.#sortAgain(table, order));
      const isOver = !waiting.length || performance.now() - began > PATIENCE_MS;
      if (!isOver) this.#beginning = window.setTimeout(look, PAUSE_MS);
    };
    look();
  }

  /** Sorts a table that the page has received again; returns whether that was possible. */
  #sortAgain(table: string, order: Order[]): boolean {
    const grid = gridOfTable(table);
    if (!grid || this.#asked.has(grid)) return false;
    grid.applyColumnState({ state: order.map((column, sortIndex) => ({ ...column, sortIndex })) });
    // The grid's event may not have a listener yet.
    void this.choose(table);
    return true;
  }

  /** Shows the rows selected by a table's order, search and filters. */
  async choose(table: string): Promise<void> {
    const [grid, card] = [gridOfTable(table), cardOf(table)];
    if (!grid || !card) return;
    const chosen: Chosen = {
      order: orderOf(grid),
      search: card.querySelector<HTMLInputElement>(".profile-search input")?.value ?? "",
      filters: grid.getFilterModel(),
    };
    const last = this.#asked.get(grid);
    const asked: Asked = { chosen: JSON.stringify(chosen), stop: new AbortController() };
    if (last?.chosen === asked.chosen) return;
    this.#orders.set(table, chosen.order);
    last?.stop.abort();
    this.#asked.set(grid, asked);
    grid.setGridOption("loading", true);
    const say = (words: string) => (card.querySelector(".cut")!.textContent = words);
    try {
      const how = { body: chosen, signal: asked.stop.signal };
      const { rows, note } = await this.#api.ask<ChosenRows>("rows", { name: table, ...this.#page() }, how);
      if (grid.isDestroyed()) return;
      setProps(gridId(table), { rowData: rows });
      say(note);
    } catch (error) {
      if (asked.stop.signal.aborted) return;
      // The same request may be made again.
      this.#asked.delete(grid);
      say(`These rows could not be loaded: ${error instanceof Error ? error.message : error}`);
    }
    if (!grid.isDestroyed()) grid.setGridOption("loading", false);
  }
}
