// @ts-nocheck
/** What is selected, isolated, hidden and lit up in the Projector panel, and the neighbours of a point. */
import * as parts from "./parts.ts";
import { format } from "./parts.ts";
import * as settings from "./settings.ts";

const NONE = new Uint32Array(0);
const THUMBNAIL = 72;

/** Whether two masks leave the same points out. */
function sameShown(one: Uint8Array | null | undefined, other: Uint8Array | null | undefined) {
  if (!one || !other) return !(one ?? other)?.includes(0);
  return one.length === other.length && one.every((value, row) => Boolean(value) === Boolean(other[row]));
}

export const selecting = {
  // ---- the selection

  combined(this: any, rows: Uint32Array, { add = false, remove = false }: { add?: boolean; remove?: boolean }) {
    if (!add && !remove) return Uint32Array.from(rows).sort();
    const all = new Set(this.selection);
    for (const row of rows) {
      if (remove) all.delete(row);
      else all.add(row);
    }
    return Uint32Array.from(all).sort();
  },

  /** @param row -1 for the ground */
  pick(this: any, row: number, add: boolean) {
    if (row < 0) {
      if (!add) this.select(NONE, { by: "cloud" });
      return;
    }
    if (add) {
      const has = this.selection.includes(row);
      return this.select(this.combined(Uint32Array.of(row), { add: !has, remove: has }), {
        by: "cloud",
        focus: has ? undefined : row,
      });
    }
    this.select(Uint32Array.of(row), { by: "cloud", focus: row });
  },

  /**
   * @param rows sorted
   * @param how `focus`: the one whose neighbours are shown
   */
  select(
    this: any,
    rows: Uint32Array,
    { by = "list", focus }: { by?: "cloud" | "table" | "search" | "list" | "legend"; focus?: number } = {},
  ) {
    if (!this.dataset) return;
    this.selection = rows;
    this.focus = focus ?? (rows.length === 1 ? rows[0] : rows.includes(this.focus) ? this.focus : -1);
    this.tellSelection();
    this.view?.setSelection(rows);
    this.showFocus();
    if (this.focus >= 0 && this.nearest?.row !== this.focus) void this.findNearest();
    else this.inspector.show();
    this.table.selected(by);
    this.tools.show();
    if (
      rows.length && this.frame.classList.contains("no-right") && this.root.clientWidth >= 1100 &&
      this.sides.right === undefined
    ) this.fit();
  },

  tellSelection(this: any) {
    const rows = settings.writeRows(this.selection);
    this.state.rows = rows ?? "";
    this.state.focus = this.focus;
    this.tell({
      rows: rows ?? "",
      focus: this.focus >= 0 && !(this.selection.length === 1 && this.selection[0] === this.focus)
        ? String(this.focus)
        : "",
    });
    this.linkTooLong = rows === null;
  },

  /** Goes to a point: selects it, and brings it into sight where it is out of it. */
  goTo(this: any, row: number, by: "table" | "search" | "list") {
    this.select(Uint32Array.of(row), { by, focus: row });
    const place = this.view?.screenOf(row);
    if (place && place.visible === false) {
      this.view.fit(Uint32Array.from([row, ...(this.nearest?.row === row ? this.nearest.rows : [])]));
    }
  },

  /** Takes back, one after another: an open search, the selection, what is isolated. */
  clear(this: any) {
    if (this.found) this.search.clear();
    else if (this.selection.length || this.focus >= 0) this.select(NONE);
    else if (this.isolated || this.hidden.size) this.showEverything();
    else return false;
    return true;
  },

  // ---- neighbours

  async findNearest(this: any) {
    const { dataset, state, focus, job } = this;
    if (!dataset || focus < 0) return;
    this.asking?.abort();
    const abort = (this.asking = new AbortController());
    const space = state.space === "picture" && job?.key && this.picture ? "picture" : "original";
    this.inspector.show();
    try {
      const count = Math.min(state.neighbours, Math.max(dataset.count - 1, 1));
      const answer = await this.api.ask("neighbours", {
        ...dataset.at,
        row: focus,
        count,
        metric: state.metric,
        ...(space === "picture" ? this.pictureOf() : {}),
      }, { signal: abort.signal });
      if (focus !== this.focus || dataset !== this.dataset) return;
      // The point itself is no neighbour.
      const kept = answer.rows.map((row: number, at: number) => [row, answer.distances[at]]).filter(([row]: number[]) =>
        row !== focus
      );
      this.nearest = {
        row: focus,
        rows: kept.map(([row]: number[]) => row),
        distances: kept.map(([, distance]: number[]) => distance),
        metric: answer.metric ?? state.metric,
        space,
      };
      this.nearestProblem = "";
    } catch (error) {
      if (error.name === "AbortError") return;
      this.nearest = null;
      this.nearestProblem = error.message;
    }
    this.showFocus();
    this.inspector.show();
  },

  /** @param change of metric, space or neighbours */
  setNeighbours(this: any, change: Record<string, any>) {
    Object.assign(this.state, change);
    this.tell(Object.fromEntries(Object.entries(change).map(([name, value]) => [name, String(value)])));
    this.nearest = null;
    void this.findNearest();
  },

  /** The focus and its neighbours in the cloud, the nearest strongest. */
  showFocus(this: any) {
    const { nearest, focus } = this;
    if (focus < 0 || nearest?.row !== focus) return void this.view?.setFocus(focus, NONE, new Float32Array(0));
    const { distances, metric } = nearest;
    const [low, high] = [Math.min(...distances), Math.max(...distances)];
    const strengths = Float32Array.from(distances, (distance: number) => {
      const share = high > low ? (distance - low) / (high - low) : 0;
      return metric === "inner" ? share : 1 - share;
    });
    this.view?.setFocus(focus, Uint32Array.from(nearest.rows), strengths);
  },

  // ---- what is shown

  /** Which rows the buttons mean: the selection; of a single point its neighbours too. */
  meant(this: any) {
    if (this.selection.length > 1) return this.selection;
    if (this.focus >= 0 && this.nearest?.row === this.focus) {
      return Uint32Array.from([this.focus, ...this.nearest.rows]).sort();
    }
    if (this.selection.length) return this.selection;
    return this.found ?? NONE;
  },

  isolate(this: any, rows: Uint32Array = this.meant()) {
    if (!rows.length) {
      return this.notify("Select points first: click one, draw a box (B) or a lasso (L), or search.", "info");
    }
    this.isolated = Uint32Array.from(rows).sort();
    this.tellShown();
    this.mask();
    this.changedShown();
    this.view?.fit(this.isolated);
    if (this.state.only) void this.changedSettings();
  },

  hide(this: any) {
    const rows = this.selection.length ? this.selection : this.found ?? NONE;
    if (!rows.length) return this.notify("Select what to hide first.", "info");
    for (const row of rows) this.hidden.add(row);
    this.tellShown();
    this.select(NONE);
    this.mask();
    this.changedShown();
  },

  showEverything(this: any) {
    const only = this.state.only && this.isolated;
    this.isolated = null;
    this.hidden.clear();
    this.tellShown();
    if (this.state.off.length) this.setOff([]);
    this.mask();
    this.changedShown();
    this.view?.fit(null);
    if (only) void this.setOnly(false);
  },

  tellShown(this: any) {
    const isolate = this.isolated ? settings.writeRows(this.isolated) : "";
    const hidden = settings.writeRows(Uint32Array.from(this.hidden));
    this.tell({ isolate: isolate ?? "", hidden: hidden ?? "" });
    if (isolate === null || hidden === null) {
      this.notify("Too many points for a link: the address does not say which are shown.", "info");
    }
  },

  changedShown(this: any) {
    this.inspector.show();
    this.controls.show();
  },

  /** Which points are drawn, faded or left out; the table follows where other ones are. */
  mask(this: any) {
    if (!this.dataset) return;
    const before = this.visible;
    this.findVisible();
    if (!sameShown(before, this.visible)) this.table.refresh();
  },

  findVisible(this: any) {
    const { dataset, found } = this;
    const off = this.offCodes();
    if (!this.isolated && !this.hidden.size && !off && !found) {
      this.visible = null;
      this.visibleCount = dataset.count;
      return void this.view?.setVisible(null);
    }
    const mask = new Uint8Array(dataset.count).fill(this.isolated ? 0 : 1);
    if (this.isolated) { for (const row of this.isolated) mask[row] = 1; }
    for (const row of this.hidden) mask[row] = 0;
    const { codes } = this.colouring;
    if (off && codes) { for (let row = 0; row < mask.length; row += 1) if (off.has(codes[row])) mask[row] = 0; }
    let shown = 0;
    for (let row = 0; row < mask.length; row += 1) shown += mask[row];
    if (found) {
      const hits = new Uint8Array(dataset.count);
      for (const row of found) hits[row] = 1;
      for (let row = 0; row < mask.length; row += 1) if (mask[row] && !hits[row]) mask[row] = 2;
    }
    this.visible = mask;
    this.visibleCount = shown;
    this.view?.setVisible(mask);
  },

  offCodes(this: any): Set<number> | null {
    const { state, colouring } = this;
    if (!state.off.length || colouring.sort !== "categories") return null;
    const labels = new Set(state.off);
    return new Set(colouring.entries.filter((entry: any) => labels.has(entry.label)).map((entry: any) => entry.code));
  },

  /** Rows that are drawn; null for all. */
  visibleRows(this: any): Uint32Array | null {
    const { visible } = this;
    if (!visible) return null;
    const rows = [];
    for (let row = 0; row < visible.length; row += 1) if (visible[row]) rows.push(row);
    return rows.length === visible.length ? null : Uint32Array.from(rows);
  },

  rowsOfCategory(this: any, code: number) {
    const rows = [];
    const { codes } = this.colouring;
    for (let row = 0; codes && row < codes.length; row += 1) if (codes[row] === code) rows.push(row);
    return Uint32Array.from(rows);
  },

  // ---- under the mouse

  hover(this: any, row: number) {
    this.hovered = row;
    this.table.hovered(row);
    if (row < 0 || !this.dataset) return this.hideTip();
    void this.showTip(row);
  },

  hideTip(this: any) {
    this.tip.hidden = true;
  },

  async showTip(this: any, row: number) {
    const { dataset, tip } = this;
    const names = [...new Set([this.labelBy, this.colourBy].filter((name) => name && !name.startsWith("@")))];
    try {
      const values = await Promise.all(names.map((name) => dataset.texts(name, [row])));
      if (this.hovered !== row || dataset !== this.dataset) return;
      const { make } = parts;
      const lines = names.map((name, at) =>
        make(
          "div",
          { className: at ? "pj-tip-line" : "pj-tip-head" },
          at ? make("span", { className: "dim" }, `${name} `) : "",
          make("bdi", {}, values[at][0] || "(empty)"),
        )
      );
      const trust = this.colouring.numbers && this.colourBy.startsWith("@")
        ? [
          make(
            "div",
            { className: "pj-tip-line" },
            `${this.colouring.title} ${format.number(this.colouring.numbers[row])}`,
          ),
        ]
        : [];
      const thumbnail = this.thumbnail(row, THUMBNAIL);
      tip.replaceChildren(
        ...(thumbnail ? [thumbnail] : []),
        make(
          "div",
          {},
          ...(lines.length ? lines : [make("div", { className: "pj-tip-head" }, `Point ${row}`)]),
          ...trust,
          ...(lines.length ? [make("div", { className: "pj-tip-line dim" }, `point ${row}`)] : []),
        ),
      );
    } catch {
      return;
    }
    const place = this.view?.screenOf(row);
    if (!place) return;
    tip.hidden = false;
    const { width, height } = this.stage.getBoundingClientRect();
    const left = place.x + 14 + tip.offsetWidth > width ? place.x - 14 - tip.offsetWidth : place.x + 14;
    tip.style.left = `${Math.max(left, 4)}px`;
    tip.style.top = `${Math.min(Math.max(place.y - tip.offsetHeight / 2, 4), height - tip.offsetHeight - 4)}px`;
  },

  /**
   * The picture of a point, cut out of the sprite.
   * @param size longest edge in pixels
   */
  thumbnail(this: any, row: number, size: number) {
    const sprite = this.dataset?.info.sprite;
    if (!sprite) return null;
    const scale = size / Math.max(sprite.width, sprite.height);
    const place = this.dataset.fileRow(row);
    const [across, down] = [place % sprite.across, Math.floor(place / sprite.across)];
    const picture = parts.make("div", {
      className: "pj-thumbnail",
      role: "img",
      "aria-label": `Picture of point ${row}`,
    });
    Object.assign(picture.style, {
      width: `${sprite.width * scale}px`,
      height: `${sprite.height * scale}px`,
      backgroundImage: `url(${JSON.stringify(this.spriteAddress)})`,
      backgroundSize: `${sprite.across * sprite.width * scale}px auto`,
      backgroundPosition: `${-across * sprite.width * scale}px ${-down * sprite.height * scale}px`,
      imageRendering: scale > 1.5 ? "pixelated" : "auto",
    });
    return picture;
  },
};
