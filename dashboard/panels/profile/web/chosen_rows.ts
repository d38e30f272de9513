/** Tables that are too long for the page: the server sorts, searches and filters all their rows, and sends the first. */
import { setProps } from "../../../web/core/dash.ts";
import type { Api, Parameters } from "../../../web/core/request.ts";
import { type Grid, gridId, gridOfTable, type Order, orderOf } from "./grid.ts";
import type { ChosenRows } from "./messages.generated.ts";

const TYPING_MS = 200;
const PAUSE_MS = 50;
const PATIENCE_MS = 10_000;

/** What somebody asks of a table. */
interface Chosen {
  order: Order[];
  search: string;
  filters: Record<string, unknown>;
}

const cardOf = (table: string) =>
  document.querySelector<HTMLElement>(`.profile-card[data-cut][data-table="${CSS.escape(table)}"]`);

/** Whether a table is too long for the page. */
export const isCut = (table: string): boolean => cardOf(table) !== null;

/** What a table was asked for last. */
interface Asked {
  /** As JSON. */
  chosen: string;
  stop: AbortController;
}

export class CutTables {
  #api: Api;
  /** What tells the page and its trace to the server. */
  #page: () => Parameters;
  #asked = new WeakMap<Grid, Asked>();
  /** What each table was sorted by last. */
  #orders = new Map<string, Order[]>();
  #typing = 0;
  #beginning = 0;

  constructor(api: Api, page: () => Parameters) {
    this.#api = api;
    this.#page = page;
  }

  /** Somebody types into the search of a table. */
  search(table: string): void {
    clearTimeout(this.#typing);
    this.#typing = window.setTimeout(() => void this.choose(table), TYPING_MS);
  }

  /** The page has got its tables: those that were sorted before are sorted again, as soon as they are there. */
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

  /** Whether a table that the page has got again could be sorted. */
  #sortAgain(table: string, order: Order[]): boolean {
    const grid = gridOfTable(table);
    if (!grid || this.#asked.has(grid)) return false;
    grid.applyColumnState({ state: order.map((column, sortIndex) => ({ ...column, sortIndex })) });
    // Nobody may listen yet to what the grid tells of it.
    void this.choose(table);
    return true;
  }

  /** Shows the rows that a table's order, search and filters ask for. */
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
      // The same may be asked for again.
      this.#asked.delete(grid);
      say(`These rows could not be loaded: ${error instanceof Error ? error.message : error}`);
    }
    if (!grid.isDestroyed()) grid.setGridOption("loading", false);
  }
}
