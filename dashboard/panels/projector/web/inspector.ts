/** The selection: a point's metadata and picture, its neighbors with distances, and the actions that apply to it. */
import { counted, integer } from "../../../web/core/numbers.ts";
import { sharesOf } from "./categories.ts";
import { hint } from "./commands.ts";
import { dot } from "./legend.ts";
import { arrowsIn, entry, fitEntries } from "./lists.ts";
import { button, format, remark, segmented, select } from "./widgets.ts";
import { bind } from "../../../web/core/commands.ts";
import { css } from "../../../web/core/color.ts";
import { make } from "../../../web/core/dom.ts";
import { messageOf } from "../../../web/core/request.ts";
import type { Dataset } from "./data.ts";
import type { RowAnswer } from "./messages.generated.ts";
import type { ProjectorPanel } from "./panel.ts";
import { settings } from "./settings.generated.ts";

const MOST_LISTED = 200;
const MOST_VALUES = 200;
const MOST_SHARES = 6;
const PICTURE = 96;
const ROW = 24;

export class Inspector {
  readonly panel: ProjectorPanel;
  readonly head = make("div", { className: "pj-inspector-head" });
  readonly isolate;
  readonly hide;
  readonly all;
  readonly clear;
  readonly body = make("div", { className: "pj-inspector-body" });
  readonly neighbors;
  readonly element;
  drawn = "";
  /** What gave the categories drawn their colors. */
  coloring: ProjectorPanel["coloring"] | null = null;
  theme: ProjectorPanel["theme"] | null = null;

  constructor(panel: ProjectorPanel) {
    this.panel = panel;
    this.isolate = button("Isolate", hint("Show only these", "isolate"), () => panel.isolate());
    this.hide = button("Hide", hint("Hide these", "hide"), () => panel.hide());
    this.all = button("Show all", hint("Show everything again", "all"), () => panel.showEverything());
    this.clear = button("Clear", hint("Clear the selection", "clear"), () => panel.select(new Uint32Array(0)));
    this.neighbors = new Neighbors(panel);
    this.element = make(
      "section",
      { className: "pj-inspector" },
      this.head,
      make("div", { className: "pj-row pj-actions" }, this.isolate, this.hide, this.all, this.clear),
      this.body,
      this.neighbors.element,
    );
  }

  show(): void {
    const { panel } = this;
    const { dataset, selection, isolated, hidden, found, state } = panel;
    this.element.hidden = !dataset;
    if (!dataset) return;
    const points = counted(dataset.count, "point");
    const shown = panel.visibleCount ?? dataset.count;
    this.head.textContent = selection.length
      ? `${counted(selection.length, "point")} selected`
      : shown < dataset.count
      ? `${integer(shown)} of ${points} shown`
      : `${points}, none selected`;
    const meant = panel.meant().length;
    const near = selection.length === 1 && meant > 1;
    this.isolate.disabled = !meant;
    this.isolate.textContent = meant > 1 ? `Isolate ${integer(meant)}` : "Isolate";
    this.isolate.title = hint(
      near ? `Show only this point and its ${meant - 1} neighbors` : "Show only these",
      "isolate",
    );
    this.hide.disabled = !selection.length && !found?.length;
    this.all.disabled = !isolated && !hidden.size && !state.off.length;
    this.clear.disabled = !selection.length;
    void this.draw(dataset);
    this.neighbors.show();
  }

  async draw(dataset: Dataset): Promise<void> {
    const { selection, focus, labelBy, coloring, theme, state } = this.panel;
    const drawn = JSON.stringify([
      dataset.id,
      dataset.step,
      focus,
      selection.length,
      selection[0],
      selection.at(-1),
      labelBy,
      state.off.length,
      dataset.columnInfos.length,
    ]);
    if (drawn === this.drawn && coloring === this.coloring && theme === this.theme) return;
    Object.assign(this, { drawn, coloring, theme });
    if (focus >= 0 && selection.length <= 1) await this.showPoint(dataset, focus);
    else if (selection.length > 1) await this.showMany(dataset);
    else {
      this.body.replaceChildren(
        remark("Click a point to see its metadata and nearest neighbors. B draws a box, L a lasso."),
      );
    }
  }

  async showPoint(dataset: Dataset, row: number): Promise<void> {
    const { panel, drawn } = this;
    try {
      const { values, norm, file_row: place } = await panel.api.ask<RowAnswer>("row", { ...dataset.at, row });
      if (drawn !== this.drawn || row !== panel.focus) return;
      const columns = Object.entries(values);
      const line = (name: string, value: string, className = "") => [
        make("dt", { title: name }, make("bdi", {}, name)),
        make("dd", { className }, make("bdi", {}, value)),
      ];
      const list = make(
        "dl",
        { className: "pj-facts wide" },
        ...columns.slice(0, MOST_VALUES).flatMap(([name, value]) => line(name, value)),
        ...line("length", format.number(norm), "dim"),
        ...line("row", place === row ? String(row) : `${row} (row ${place} of the file)`, "dim"),
      );
      const picture = panel.thumbnail(row, PICTURE);
      const more = columns.length - MOST_VALUES;
      this.body.replaceChildren(
        ...(picture ? [picture] : []),
        list,
        ...(more > 0 ? [remark(`and ${counted(more, "more column")}`)] : []),
      );
    } catch (error) {
      if (drawn !== this.drawn) return;
      this.drawn = "";
      this.body.replaceChildren(remark(messageOf(error), "bad"));
    }
  }

  async showMany(dataset: Dataset): Promise<void> {
    const { panel, drawn } = this;
    const { selection } = panel;
    const rows = selection.slice(0, MOST_LISTED);
    const name = panel.labelBy;
    const texts = name ? await dataset.texts(name, rows).catch((): string[] => []) : [];
    if (drawn !== this.drawn) return;
    const titles = Array.from(rows, (row, at) => texts[at] || `Point ${row}`);
    const list = make(
      "div",
      { className: "pj-list", role: "listbox", "aria-label": "Selected points" },
      ...Array.from(rows, (row, at) => {
        const title = titles[at];
        const how = { title, still: true, selected: row === panel.focus };
        return entry(title, String(row), how, () => panel.select(panel.selection, { focus: row }));
      }),
    );
    list.style.maxHeight = `${ROW * 7}px`;
    arrowsIn(list, ".pj-result");
    const more = selection.length - MOST_LISTED;
    this.body.replaceChildren(
      ...this.share(),
      list,
      ...(more > 0 ? [remark(`and ${integer(more)} more: the table shows all of them.`)] : []),
    );
    fitEntries(list, titles);
  }

  /** The categories of the coloring that the selection consists of. */
  share(): HTMLElement[] {
    const { coloring: { codes, entries }, selection, legend } = this.panel;
    if (!codes) return [];
    const found = sharesOf(codes, entries, selection);
    const parts = found.slice(0, MOST_SHARES).map(({ entry: category, count }) =>
      make(
        "span",
        { className: "pj-share", title: category.label },
        dot(css(legend.colorOf(category))),
        make("bdi", {}, category.label || "(empty)"),
        make("span", { className: "pj-count" }, format.percent(count / selection.length)),
      )
    );
    const more = found.length - MOST_SHARES;
    if (more > 0) parts.push(make("span", { className: "pj-count" }, `and ${more} more`));
    return [make("div", { className: "pj-shares" }, ...parts)];
  }
}

const METRICS = { cosine: "cosine", euclidean: "Euclidean", inner: "inner product" };
const COUNTS = [10, 20, 50, 100, 200, 500, 1000];

export class Neighbors {
  readonly panel: ProjectorPanel;
  drawing = 0;
  readonly metric;
  readonly count;
  readonly space;
  readonly note = make("p", { className: "pj-note" });
  readonly rows = make("div", { className: "pj-virtual-rows" });
  readonly list = make("div", {
    className: "pj-results pj-neighbors",
    role: "listbox",
    "aria-label": "Nearest neighbors",
    tabIndex: 0,
  }, this.rows);
  readonly element;
  /** The index of the entry that the keys are on; -1 before the first. */
  at = -1;
  known: unknown = null;

  constructor(panel: ProjectorPanel) {
    this.panel = panel;
    this.metric = select(
      "Distance",
      (metric) => panel.setNeighbors({ metric: settings.metric.parse([metric]) }),
      "How the distance of two points is measured",
    );
    this.count = select("How many neighbors", (count) => panel.setNeighbors({ neighbors: Number(count) }));
    this.space = segmented("Where to search for neighbors", [
      ["original", "in the data", "By all dimensions of the data"],
      ["picture", "in the view", "By position in this view"],
    ], (space) => panel.setNeighbors({ space }));
    this.element = make(
      "div",
      { className: "pj-near", hidden: true },
      make("h3", {}, "Nearest neighbors"),
      make("div", { className: "pj-row" }, this.count, this.metric),
      this.space,
      this.note,
      this.list,
    );
    this.list.addEventListener("scroll", () => this.draw());
    bind(this.list, {
      ArrowDown: () => this.go(1),
      ArrowUp: () => this.go(-1),
      Enter: ({ target }) => {
        const row = panel.nearest?.rows[this.at];
        if (target !== this.list || row === undefined) return false;
        panel.goTo(row, "list");
      },
    });
  }

  /** Moves to the next or previous entry. */
  go(by: number): void {
    const { list } = this;
    this.at = Math.max(Math.min(this.at + by, (this.panel.nearest?.rows.length ?? 0) - 1), 0);
    if (this.at * ROW < list.scrollTop || (this.at + 1) * ROW > list.scrollTop + list.clientHeight) {
      list.scrollTop = this.at * ROW - 60;
    }
    void this.draw();
  }

  show(): void {
    const { state, nearest, focus, dataset, nearestProblem } = this.panel;
    this.element.hidden = focus < 0;
    if (focus < 0 || !dataset) return;
    this.metric.show(settings.metric.options.map((metric) => [metric, METRICS[metric]]), state.metric);
    this.metric.disabled = state.space === "picture";
    const offered = new Set([...COUNTS.filter((count) => count < Math.max(dataset.count, 11)), state.neighbors]);
    const counts = [...offered].sort((a, b) => a - b);
    this.count.show(counts.map((count) => [String(count), `${count} nearest`]), String(state.neighbors));
    this.space.show(state.space);
    const kept = nearest?.row === focus ? nearest : null;
    const said = kept ? (kept.rows.length ? "" : "There are no others.") : "Searching…";
    this.note.textContent = nearestProblem || said;
    if (this.known !== kept) {
      this.known = kept;
      this.at = -1;
      this.list.scrollTop = 0;
    }
    this.rows.style.height = `${(kept?.rows.length ?? 0) * ROW}px`;
    void this.draw();
  }

  async draw(): Promise<void> {
    const { panel } = this;
    const { nearest, focus, dataset } = panel;
    const turn = (this.drawing += 1);
    if (!dataset || nearest?.row !== focus) return this.rows.replaceChildren();
    const first = Math.max(Math.floor(this.list.scrollTop / ROW) - 4, 0);
    const rows = nearest.rows.slice(first, first + Math.ceil((this.list.clientHeight || 300) / ROW) + 10);
    const name = panel.labelBy;
    const texts = name ? await dataset.texts(name, rows).catch((): string[] => []) : [];
    if (turn !== this.drawing || panel.nearest !== nearest) return;
    const most = Math.max(...nearest.distances.filter(Number.isFinite).map(Math.abs), 1e-12);
    const titles = Array.from(rows, (row, at) => texts[at] || `Point ${row}`);
    this.rows.replaceChildren(...rows.map((row, at) => {
      const place = first + at;
      const distance = nearest.distances[place];
      const text = titles[at];
      const bar = make("i", { className: "pj-distance" });
      bar.style.width = `${(Math.abs(distance) / most) * 100}%`;
      const made = entry(text, format.number(distance), {
        title: `${text}: ${distance}`,
        selected: place === this.at,
        before: [bar, dot(this.colorOf(row))],
      }, () => panel.goTo(row, "list"));
      made.style.top = `${place * ROW}px`;
      return made;
    }));
    fitEntries(this.rows, titles);
  }

  /** Returns the color of a point in the cloud. */
  colorOf(row: number): string {
    const { coloring: { codes, entries, numbers, minimum, maximum }, theme, legend } = this.panel;
    if (codes) {
      const category = entries.find(({ code }) => code === codes[row]);
      return css(category ? legend.colorOf(category) : theme.gray);
    }
    if (!numbers) return css(theme.plain);
    const share = (numbers[row] - minimum) / Math.max(maximum - minimum, 1e-300);
    return css(Number.isFinite(share) ? theme.scale(share) : theme.gray);
  }
}
