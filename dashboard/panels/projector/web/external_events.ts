// @ts-nocheck
/** What comes to the Projector panel from elsewhere: dropped files, columns of clusters, an address. */
import * as settings from "./settings.ts";
import { theme as projectorTheme } from "./theme.ts";

export const acts = {
  async opened(this: any, id: string) {
    await this.look();
    this.outside.choose(id);
  },

  /** Metadata has come. */
  joined(this: any) {
    Object.assign(this.state, { color: "", label: "" });
    this.tell({ color: "", label: "" });
    return this.load({ keep: false });
  },

  /** Clusters have made a column: it is listed, and colours the points. */
  async addedColumn(this: any, name: string | undefined) {
    const { dataset } = this;
    try {
      const info = await this.api.ask("dataset", dataset.at);
      if (dataset !== this.dataset) return;
      dataset.info = info;
      if (name) {
        dataset.columns.delete(name);
        dataset.known.delete(name);
        await this.setColour(name);
      }
      this.showAll();
      void this.table.reload();
    } catch (error) {
      this.notify(error.message);
    }
  },

  /** The address has other settings: shows what they say, of the embedding that is open. */
  async restore(this: any) {
    const { id, step, table, tableOf } = this.state;
    this.state = { ...settings.read(), id, step, table, tableOf };
    if (!this.dataset) return;
    this.begin();
    this.picture = null;
    this.showAll();
    this.relabel();
    await Promise.all([this.recolour(), this.resize(), this.resprite(), this.search.run()]);
    void this.project({ keepCamera: Boolean(this.state.camera) });
    if (this.focus >= 0) void this.findNearest();
  },

  /** The colour of a point, for lists. */
  colourOf(this: any, row: number) {
    const { colouring, theme } = this;
    const { css } = projectorTheme;
    if (colouring.codes) {
      const entry = (this.entryOf?.colouring === colouring
        ? this.entryOf.map
        : (this.entryOf = { colouring, map: new Map(colouring.entries.map((one: any) => [one.code, one])) }).map).get(
          colouring.codes[row],
        );
      return css(entry && entry.place >= 0 ? theme.category(entry.place) : theme.grey);
    }
    if (colouring.numbers && Number.isFinite(colouring.numbers[row])) {
      return css(
        theme.scale(
          (colouring.numbers[row] - colouring.minimum) / Math.max(colouring.maximum - colouring.minimum, 1e-300),
        ),
      );
    }
    return css(colouring.numbers ? theme.grey : theme.plain);
  },
};
