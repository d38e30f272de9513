/** Tables that are too long for the page: the server sorts, searches and filters all their rows, and sends the first. */
import { setProps } from "../../../web/core/dash.ts";
import type { Api, Parameters } from "../../../web/core/request.ts";
import { type Grid, gridId, gridOfTable, type Order, orderOf } from "./grid.ts";
import type { ChosenRows } from "./messages.generated.ts";

const TYPING_MS = 200;

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

export class CutTables {
  #api: Api;
  /** What tells the page and its trace to the server. */
  #page: () => Parameters;
  /** What each table was asked for last, as JSON, and how to give that up. */
  #asked = new WeakMap<Grid, { chosen: string; stop: AbortController }>();
  #typing = 0;

  constructor(api: Api, page: () => Parameters) {
    this.#api = api;
    this.#page = page;
  }

  /** Somebody types into the search of a table. */
  search(table: string): void {
    clearTimeout(this.#typing);
    this.#typing = window.setTimeout(() => void this.choose(table), TYPING_MS);
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
    const before = this.#asked.get(grid);
    const asked = { chosen: JSON.stringify(chosen), stop: new AbortController() };
    if (before?.chosen === asked.chosen) return;
    before?.stop.abort();
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
      say(`These rows could not be had: ${error instanceof Error ? error.message : error}`);
    }
    if (!grid.isDestroyed()) grid.setGridOption("loading", false);
  }
}
