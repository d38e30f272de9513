/** The selection of the Projector panel, its isolated, hidden, and lit points, and the neighbors of a point. */
import { make } from "../../../web/core/dom.ts";
import { isAbort, messageOf } from "../../../web/core/request.ts";
import { type Origin, PanelBase, type PictureOf } from "./panel_base.ts";
import type { NeighborsAnswer } from "./messages.generated.ts";
import { format } from "./widgets.ts";
import { combined, maskOf, rowsIn, sameShown, strengthsOf } from "./row_sets.ts";
import { readRows, writeRows } from "./rows.ts";
import type { State } from "./settings.ts";

const NONE = new Uint32Array(0);
const THUMBNAIL = 72;

export abstract class PanelWithSelection extends PanelBase {
  asking: AbortController | null = null;
  hovered = -1;

  abstract fit(): void;
  abstract pictureOf(): PictureOf;
  abstract setOnly(on: boolean): void;
  abstract changedSettings(): Promise<void>;

  // ---- the selection

  /** Returns the selection as changed by other rows. */
  combined(rows: Uint32Array, how: { add?: boolean; remove?: boolean }): Uint32Array {
    return combined(this.selection, rows, how);
  }

  /** @param row -1 for the background */
  pick(row: number, add: boolean): void {
    if (row >= 0) this.toggle(row, add, "cloud");
    else if (!add) this.select(NONE, { by: "cloud" });
  }

  /** @param add adds the row to the selection or removes it from there; otherwise selects it alone */
  toggle(row: number, add: boolean, by: Origin): void {
    if (!add) return this.select(Uint32Array.of(row), { by, focus: row });
    const has = this.selection.includes(row);
    this.select(this.combined(Uint32Array.of(row), { add: !has, remove: has }), { by, focus: has ? undefined : row });
  }

  /**
   * @param rows sorted
   * @param how `focus`: the row whose neighbors are shown
   */
  select(rows: Uint32Array, { by = "list", focus }: { by?: Origin; focus?: number } = {}): void {
    if (!this.dataset) return;
    this.selection = rows;
    this.focus = focus ?? (rows.length === 1 ? rows[0] : rows.includes(this.focus) ? this.focus : -1);
    this.tellSelection();
    this.view.setSelection(rows);
    this.showFocus();
    if (this.focus >= 0 && this.nearest?.row !== this.focus) void this.findNearest();
    else this.inspector.show();
    this.table.selected(by);
    this.tools.show();
    // If there is room, the inspector opens automatically.
    const closed = this.frame.classList.contains("no-right") && this.sides.right === undefined;
    if (rows.length && closed && this.root.clientWidth >= 1100) this.fit();
  }

  tellSelection(): void {
    const rows = writeRows(this.selection);
    const alone = this.selection.length === 1 && this.selection[0] === this.focus;
    this.state.rows = rows ?? "";
    this.state.focus = this.focus;
    this.linkTooLong = rows === null;
    this.tell({ rows: rows ?? "", focus: this.focus >= 0 && !alone ? String(this.focus) : "" });
  }

  /** Goes to a point: selects it, and brings it into view if it is out of view. */
  goTo(row: number, by: Origin): void {
    this.select(Uint32Array.of(row), { by, focus: row });
    if (this.view.screenOf(row)?.visible !== false) return;
    this.view.fit(Uint32Array.from([row, ...(this.nearest?.row === row ? this.nearest.rows : [])]));
  }

  /** Clears one thing at a time: an open search, the selection, isolated points. */
  clear(): boolean {
    if (this.found) void this.search.clear();
    else if (this.selection.length || this.focus >= 0) this.select(NONE);
    else if (this.isolated || this.hidden.size) this.showEverything();
    else return false;
    return true;
  }

  // ---- neighbors

  async findNearest(): Promise<void> {
    const { dataset, state, focus, job } = this;
    if (!dataset || focus < 0) return;
    this.asking?.abort();
    const { signal } = (this.asking = new AbortController());
    const space = state.space === "picture" && job?.key && this.picture ? "picture" : "original";
    this.inspector.show();
    try {
      const { rows, distances, metric } = await this.api.ask<NeighborsAnswer>("neighbors", {
        ...dataset.at,
        row: focus,
        count: Math.min(state.neighbors, Math.max(dataset.count - 1, 1)),
        metric: state.metric,
        ...(space === "picture" ? this.pictureOf() : {}),
      }, { signal });
      if (focus !== this.focus || dataset !== this.dataset) return;
      // The point itself is not a neighbor.
      const other = (_: number | null, at: number) => rows[at] !== focus;
      const known = distances.filter(other).map((distance) => distance ?? Infinity);
      this.nearest = { row: focus, rows: rows.filter(other), distances: known, metric, space };
      this.nearestProblem = "";
    } catch (error) {
      if (isAbort(error)) return;
      this.nearest = null;
      this.nearestProblem = messageOf(error);
    }
    this.showFocus();
    this.inspector.show();
  }

  setNeighbors(change: Partial<Pick<State, "metric" | "space" | "neighbors">>): void {
    Object.assign(this.state, change);
    const { neighbors, ...same } = change;
    this.tell(neighbors === undefined ? same : { ...same, neighbors: String(neighbors) });
    this.nearest = null;
    void this.findNearest();
  }

  /** Shows the focus and its neighbors in the cloud, the nearest strongest. */
  showFocus(): void {
    const { nearest, focus } = this;
    if (focus < 0 || nearest?.row !== focus) return this.view.setFocus(focus);
    this.view.setFocus(focus, Uint32Array.from(nearest.rows), strengthsOf(nearest));
  }

  // ---- what is shown

  /** The rows that the buttons act on: the selection; for a single point, also its neighbors. */
  meant(): Uint32Array {
    if (this.selection.length > 1) return this.selection;
    if (this.focus >= 0 && this.nearest?.row === this.focus) {
      return Uint32Array.from([this.focus, ...this.nearest.rows]).sort();
    }
    return this.selection.length ? this.selection : this.found ?? NONE;
  }

  isolate(rows = this.meant()): void {
    if (!rows.length) {
      return this.notify("Select points first: click one, draw a box (B) or a lasso (L), or search.", "info");
    }
    this.isolated = Uint32Array.from(rows).sort();
    this.changedShown();
    this.view.fit(this.isolated);
    if (this.state.only) void this.changedSettings();
  }

  hide(): void {
    const rows = this.selection.length ? this.selection : this.found ?? NONE;
    if (!rows.length) return this.notify("Select what to hide first.", "info");
    for (const row of rows) this.hidden.add(row);
    this.select(NONE);
    this.changedShown();
  }

  showEverything(): void {
    const only = this.state.only && this.isolated;
    this.isolated = null;
    this.hidden.clear();
    if (this.state.off.length) this.setOff([]);
    this.changedShown();
    this.view.fit(null);
    if (only) this.setOnly(false);
  }

  changedShown(): void {
    this.tellShown();
    this.mask();
    this.inspector.show();
    this.controls.show();
  }

  tellShown(): void {
    const [isolate, hidden] = [this.isolated ?? NONE, [...this.hidden]].map((rows) => writeRows(rows));
    const told = { isolate: isolate ?? "", hidden: hidden ?? "" };
    Object.assign(this.state, told);
    this.tell(told);
    if (isolate === null || hidden === null) {
      this.notify("Too many points for a link: the address does not list which are shown.", "info");
    }
  }

  /** Updates which points are drawn, faded, or left out; the table follows if they change. */
  mask(): void {
    const { dataset, visible: before, isolated, hidden, found } = this;
    if (!dataset) return;
    const { codes, entries } = this.coloring;
    const off = new Set(this.state.off);
    const offCodes = new Set(entries.filter(({ label }) => off.has(label)).map(({ code }) => code));
    this.visible = maskOf(dataset.count, {
      isolated,
      hidden,
      found,
      isOff: codes && off.size ? (row) => offCodes.has(codes[row]) : null,
    });
    this.visibleCount = this.visible ? this.visible.reduce((sum, one) => sum + (one ? 1 : 0), 0) : dataset.count;
    this.view.setVisible(this.visible);
    if (!sameShown(before, this.visible)) this.table.refresh();
  }

  /** The rows that are drawn; null for all. */
  visibleRows(): Uint32Array | null {
    const { visible } = this;
    const rows = visible && rowsIn(visible, (one) => one !== 0);
    return rows?.length === visible?.length ? null : rows;
  }

  rowsOfCategory(code: number): Uint32Array {
    return rowsIn(this.coloring.codes ?? [], (one) => one === code);
  }

  // ---- under the mouse

  hover(row: number): void {
    this.hovered = row;
    this.table.hovered(row);
    if (row < 0 || !this.dataset) this.hideTip();
    else void this.showTip(row, this.dataset);
  }

  hideTip(): void {
    this.tip.hidden = true;
  }

  async showTip(row: number, dataset: NonNullable<typeof this.dataset>): Promise<void> {
    const { tip } = this;
    const names = [...new Set([this.labelBy, this.colorBy])].filter((name) => name && !name.startsWith("@"));
    let values: string[][];
    try {
      values = await Promise.all(names.map((name) => dataset.texts(name, [row])));
    } catch {
      return;
    }
    if (this.hovered !== row || dataset !== this.dataset) return;
    const line = (className: string, ...children: (Node | string)[]) => make("div", { className }, ...children);
    const lines = names.map((name, at) => {
      const value = make("bdi", {}, values[at][0] || "(empty)");
      return at
        ? line("pj-tip-line", make("span", { className: "dim" }, `${name} `), value)
        : line("pj-tip-head", "", value);
    });
    if (!lines.length) lines.push(line("pj-tip-head", `Point ${row}`));
    const { numbers, title } = this.coloring;
    if (numbers && this.colorBy.startsWith("@")) {
      lines.push(line("pj-tip-line", `${title} ${format.number(numbers[row])}`));
    }
    if (names.length) lines.push(line("pj-tip-line dim", `point ${row}`));
    const thumbnail = this.thumbnail(row, THUMBNAIL);
    tip.replaceChildren(...(thumbnail ? [thumbnail] : []), make("div", {}, ...lines));
    const place = this.view.screenOf(row);
    if (!place) return;
    tip.hidden = false;
    const { width, height } = this.stage.getBoundingClientRect();
    const left = place.x + 14 + tip.offsetWidth > width ? place.x - 14 - tip.offsetWidth : place.x + 14;
    tip.style.left = `${Math.max(left, 4)}px`;
    tip.style.top = `${Math.min(Math.max(place.y - tip.offsetHeight / 2, 4), height - tip.offsetHeight - 4)}px`;
  }

  /**
   * Returns the picture of a point, cut out of the sprite.
   * @param size of the longest edge, in pixels
   */
  thumbnail(row: number, size: number): HTMLElement | null {
    const { dataset } = this;
    const sprite = dataset?.info.sprite;
    if (!sprite) return null;
    const scale = size / Math.max(sprite.width, sprite.height);
    const place = dataset.fileRow(row);
    const [across, down] = [place % sprite.across, Math.floor(place / sprite.across)];
    const picture = make("div", { className: "pj-thumbnail", role: "img", "aria-label": `Image of point ${row}` });
    Object.assign(picture.style, {
      width: `${sprite.width * scale}px`,
      height: `${sprite.height * scale}px`,
      backgroundImage: `url(${JSON.stringify(this.spriteAddress)})`,
      backgroundSize: `${sprite.across * sprite.width * scale}px auto`,
      backgroundPosition: `${-across * sprite.width * scale}px ${-down * sprite.height * scale}px`,
      imageRendering: scale > 1.5 ? "pixelated" : "auto",
    });
    return picture;
  }

  /** Reads rows from the address, now that their number is known. */
  readSelection(count: number): void {
    const { state } = this;
    this.selection = readRows(state.rows, count);
    this.linkTooLong = writeRows(this.selection) === null;
    const given = state.focus >= 0 && state.focus < count;
    this.focus = given ? state.focus : this.selection.length === 1 ? this.selection[0] : -1;
    this.isolated = state.isolate ? readRows(state.isolate, count) : null;
    if (!this.isolated?.length) this.isolated = null;
    this.hidden = new Set(readRows(state.hidden, count));
    this.nearest = this.found = null;
  }
}
