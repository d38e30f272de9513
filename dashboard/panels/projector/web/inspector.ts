// @ts-nocheck
/** What is selected: metadata and picture of a point, its neighbours with their distances, and what can be done with it. */
import * as projectorParts from "./parts.ts";
import { format } from "./parts.ts";
import { popover } from "../../../web/core/popover.ts";
import { theme as projectorTheme } from "./theme.ts";

const MOST_LISTED = 200;
const MOST_VALUES = 200;
const PICTURE = 96;
const ROW = 24;

export class Inspector {
  panel;
  head;
  isolate;
  hide;
  all;
  clear;
  actions;
  body;
  neighbours;
  element;
  drawn = "";

  /** @param panel of projector_panel.js */
  constructor(panel: any) {
    const { make, button } = projectorParts;
    this.panel = panel;
    this.head = make("div", { className: "pj-inspector-head" });
    this.isolate = button("Isolate", "Show only these (I)", () => panel.isolate());
    this.hide = button("Hide", "Hide these (H)", () => panel.hide());
    this.all = button("Show all", "Show everything again (A)", () => panel.showEverything());
    this.clear = button("Clear", "Clear the selection (Escape)", () => panel.select(new Uint32Array(0)));
    this.actions = make("div", { className: "pj-row pj-actions" }, this.isolate, this.hide, this.all, this.clear);
    this.body = make("div", { className: "pj-inspector-body" });
    this.neighbours = new Neighbours(panel);
    this.element = make(
      "section",
      { className: "pj-inspector" },
      this.head,
      this.actions,
      this.body,
      this.neighbours.element,
    );
  }

  show() {
    const { panel } = this;
    const { dataset, selection, focus } = panel;
    this.element.hidden = !dataset;
    if (!dataset) return;
    const { integer, counted } = format;
    const shown = panel.visibleCount ?? dataset.count;
    this.head.textContent = selection.length
      ? `${counted(selection.length, "point")} selected`
      : shown < dataset.count
      ? `${integer(shown)} of ${counted(dataset.count, "point")} shown`
      : `${counted(dataset.count, "point")}, none selected`;
    const meant = panel.meant();
    this.isolate.disabled = !meant.length;
    this.isolate.textContent = meant.length > 1 ? `Isolate ${integer(meant.length)}` : "Isolate";
    this.isolate.title = selection.length === 1 && meant.length > 1
      ? `Show only this point and its ${meant.length - 1} neighbours (I)`
      : "Show only these (I)";
    this.hide.disabled = !selection.length && !panel.found?.length;
    this.all.disabled = !panel.isolated && !panel.hidden.size && !panel.state.off.length;
    this.clear.disabled = !selection.length;
    void this.draw();
    this.neighbours.show();
  }

  async draw() {
    const { panel } = this;
    const { dataset, selection, focus } = panel;
    const drawn = JSON.stringify([
      dataset.id,
      dataset.step,
      focus,
      selection.length,
      selection[0],
      selection[selection.length - 1],
      panel.labelBy,
      panel.colourBy,
      panel.state.off.length,
      dataset.columnInfos.length,
    ]);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    if (focus >= 0 && selection.length <= 1) await this.showPoint(focus);
    else if (selection.length > 1) await this.showMany();
    else {this.body.replaceChildren(
        projectorParts.make(
          "p",
          { className: "pj-note" },
          "Click a point to see what it is and what is near it. B draws a box, L a lasso.",
        ),
      );}
  }

  async showPoint(row: number) {
    const { panel } = this;
    const { make } = projectorParts;
    const { dataset, drawn = this.drawn } = panel;
    try {
      const answer = await panel.api.ask("row", { ...dataset.at, row });
      if (drawn !== this.drawn || row !== panel.focus) return;
      const values = Object.entries(answer.values);
      const facts = [...values.slice(0, MOST_VALUES), ["length", format.number(answer.norm)], [
        "row",
        answer.file_row === undefined || answer.file_row === row
          ? String(row)
          : `${row} (row ${answer.file_row} of the file)`,
      ]];
      const list = make(
        "dl",
        { className: "pj-facts wide" },
        ...facts.flatMap((
          [name, value],
          at,
        ) => [
          make("dt", { title: name }, make("bdi", {}, name)),
          make("dd", { className: at < values.length ? "" : "dim" }, make("bdi", {}, String(value))),
        ]),
      );
      const picture = panel.thumbnail(row, PICTURE);
      this.body.replaceChildren(
        ...(picture ? [picture] : []),
        list,
        ...(values.length > MOST_VALUES
          ? [make("p", { className: "pj-note" }, `and ${values.length - MOST_VALUES} more columns`)]
          : []),
      );
    } catch (error) {
      if (drawn === this.drawn) this.body.replaceChildren(make("p", { className: "pj-note bad" }, error.message));
    }
  }

  async showMany() {
    const { panel, drawn } = this;
    const { make } = projectorParts;
    const { dataset, selection } = panel;
    const rows = selection.slice(0, MOST_LISTED);
    const name = panel.labelBy;
    const texts = name
      ? await dataset.texts(name, rows).catch(() => Array.from(rows, () => ""))
      : Array.from(rows, () => "");
    if (drawn !== this.drawn) return;
    const list = make(
      "div",
      { className: "pj-list", role: "listbox", "aria-label": "Selected points" },
      ...Array.from(rows, (row, at) => {
        const made = make(
          "button",
          {
            type: "button",
            className: "pj-result still",
            role: "option",
            "aria-selected": String(row === panel.focus),
            title: texts[at] || `Point ${row}`,
          },
          make("bdi", {}, texts[at] || `Point ${row}`),
          make("span", { className: "pj-count" }, String(row)),
        );
        made.addEventListener("click", () => panel.select(panel.selection, { focus: row }));
        return made;
      }),
    );
    list.style.maxHeight = `${ROW * 7}px`;
    list.addEventListener("keydown", (event: KeyboardEvent) => {
      popover.arrows(event, list, ".pj-result");
      if (event.key.startsWith("Arrow")) event.stopPropagation();
    });
    const more = selection.length > MOST_LISTED
      ? [
        make(
          "p",
          { className: "pj-note" },
          `and ${format.integer(selection.length - MOST_LISTED)} more: the table shows all of them.`,
        ),
      ]
      : [];
    this.body.replaceChildren(...this.share(), list, ...more);
  }

  /** Which categories of the colouring the selection is made of. */
  share() {
    const { colouring, selection, theme } = this.panel;
    const { make } = projectorParts;
    if (colouring.sort !== "categories") return [];
    const counts = new Map();
    for (const row of selection) counts.set(colouring.codes[row], (counts.get(colouring.codes[row]) ?? 0) + 1);
    const found = colouring.entries.filter((entry: any) => counts.has(entry.code)).sort((a: any, b: any) =>
      counts.get(b.code) - counts.get(a.code)
    );
    const parts = found.slice(0, 6).map((entry: any) => {
      const dot = make("i", { className: "pj-dot" });
      dot.style.background = projectorTheme.css(entry.place < 0 ? theme.grey : theme.category(entry.place));
      return make(
        "span",
        { className: "pj-share", title: entry.label },
        dot,
        make("bdi", {}, entry.label || "(empty)"),
        make("span", { className: "pj-count" }, format.percent(counts.get(entry.code) / selection.length)),
      );
    });
    return [
      make(
        "div",
        { className: "pj-shares" },
        ...parts,
        ...(found.length > 6 ? [make("span", { className: "pj-count" }, `and ${found.length - 6} more`)] : []),
      ),
    ];
  }
}

const METRICS = [["cosine", "cosine"], ["euclidean", "Euclidean"], ["inner", "inner product"]];
const COUNTS = [10, 20, 50, 100, 200, 500, 1000];

export class Neighbours {
  panel;
  drawing = 0;
  metric;
  count;
  space;
  note;
  rows;
  list;
  element;
  at: any;
  known: any;

  /** @param panel of projector_panel.js */
  constructor(panel: any) {
    const { make, select, segmented } = projectorParts;
    this.panel = panel;
    this.metric = select(
      "Distance",
      (metric: string) => panel.setNeighbours({ metric }),
      "How the distance of two points is measured",
    );
    this.count = select("How many neighbours", (count: string) => panel.setNeighbours({ neighbours: Number(count) }));
    this.space = segmented(
      "Where neighbours are looked for",
      [["original", "in the data", "By all dimensions of the data"], [
        "picture",
        "in the picture",
        "By where points lie in this picture",
      ]],
      (space: string) => panel.setNeighbours({ space }),
    );
    this.note = make("p", { className: "pj-note" });
    this.rows = make("div", { className: "pj-virtual-rows" });
    this.list = make("div", {
      className: "pj-results pj-neighbours",
      role: "listbox",
      "aria-label": "Nearest neighbours",
      tabIndex: 0,
    }, this.rows);
    this.element = make(
      "div",
      { className: "pj-near", hidden: true },
      make("h3", {}, "Nearest neighbours"),
      make("div", { className: "pj-row" }, this.count, this.metric),
      this.space,
      this.note,
      this.list,
    );
    this.list.addEventListener("scroll", () => this.draw());
    this.list.addEventListener("keydown", (event: KeyboardEvent) => {
      if (!["ArrowDown", "ArrowUp"].includes(event.key)) return;
      this.at = Math.max(
        Math.min((this.at ?? -1) + (event.key === "ArrowDown" ? 1 : -1), (panel.nearest?.rows.length ?? 0) - 1),
        0,
      );
      if (this.at * ROW < this.list.scrollTop || (this.at + 1) * ROW > this.list.scrollTop + this.list.clientHeight) {
        this.list.scrollTop = this.at * ROW - 60;
      }
      this.draw();
      event.preventDefault();
      event.stopPropagation();
    });
    this.list.addEventListener("keyup", (event: KeyboardEvent) => {
      if (event.key === "Enter" && event.target === this.list && this.at >= 0) {
        panel.goTo(panel.nearest.rows[this.at], "list");
      }
    });
  }

  show() {
    const { panel } = this;
    const { state, nearest, focus, dataset } = panel;
    this.element.hidden = focus < 0;
    if (focus < 0) return;
    this.metric.show(METRICS, state.metric);
    const counts = [...new Set([...COUNTS.filter((count) => count < Math.max(dataset.count, 11)), state.neighbours])]
      .sort((a, b) => a - b);
    this.count.show(counts.map((count) => [String(count), `${count} nearest`]), String(state.neighbours));
    this.space.show(state.space);
    this.metric.disabled = state.space === "picture";
    this.note.textContent = panel.nearestProblem ||
      (nearest?.row === focus ? (nearest.rows.length ? "" : "There are no others.") : "Being looked for…");
    const kept = nearest?.row === focus ? nearest : null;
    if (this.known !== kept) {
      this.known = kept;
      this.at = -1;
      this.list.scrollTop = 0;
    }
    this.rows.style.height = `${(kept?.rows.length ?? 0) * ROW}px`;
    void this.draw();
  }

  async draw() {
    const { panel } = this;
    const { nearest, focus, dataset } = panel;
    const turn = (this.drawing += 1);
    if (!dataset || nearest?.row !== focus) return void this.rows.replaceChildren();
    const first = Math.max(Math.floor(this.list.scrollTop / ROW) - 4, 0);
    const rows = nearest.rows.slice(first, first + Math.ceil((this.list.clientHeight || 300) / ROW) + 10);
    const name = panel.labelBy;
    const texts = name ? await dataset.texts(name, rows).catch(() => []) : [];
    if (turn !== this.drawing || panel.nearest !== nearest) return;
    const { make } = projectorParts;
    const most = Math.max(...nearest.distances.map(Math.abs), 1e-12);
    this.rows.replaceChildren(...rows.map((row: number, at: number) => {
      const place = first + at;
      const distance = nearest.distances[place];
      const bar = make("i", { className: "pj-distance" });
      bar.style.width = `${(Math.abs(distance) / most) * 100}%`;
      const dot = make("i", { className: "pj-dot" });
      dot.style.background = panel.colourOf(row);
      const made = make(
        "button",
        {
          type: "button",
          className: "pj-result",
          role: "option",
          "aria-selected": String(place === this.at),
          tabIndex: -1,
          title: `${texts[at] || `Point ${row}`}: ${distance}`,
        },
        bar,
        dot,
        make("bdi", {}, texts[at] || `Point ${row}`),
        make("span", { className: "pj-count" }, format.number(distance)),
      );
      made.style.top = `${place * ROW}px`;
      made.addEventListener("click", () => panel.goTo(row, "list"));
      return made;
    }));
  }
}
