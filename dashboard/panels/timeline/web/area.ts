/** A selected time range over some lanes: the drawer lists what ran there by name, category and lane. */
import { durationText, exactDurationText, integer } from "../../../web/core/numbers.ts";
import { make } from "../../../web/core/dom.ts";
import { messageOf } from "../../../web/core/request.ts";
import { copyText } from "../../../web/page/layout.ts";
import type { Source } from "./data.ts";
import * as format from "./format.ts";
import * as geometry from "./geometry.ts";
import type { Band } from "./layout.ts";
import type { AreaAnswer } from "./messages.generated.ts";
import type { TimelinePanel } from "./panel.ts";
import { button } from "./widgets.ts";

type Kind = "by_name" | "by_category" | "by_lane" | "counters";
/** The selection, in screen time. */
export interface Chosen {
  times: [number, number];
  bands: Set<string>;
}
/** The contents of the area in one trace. */
type Answer = AreaAnswer & { source: Source };
/** A table row, by column key. */
type Cells = Partial<Record<string, string | number>>;
interface Table {
  columns: [key: string, title: string][];
  rows: Cells[];
}
const TITLES: Record<Kind, string> = {
  by_name: "By name",
  by_category: "By category",
  by_lane: "By lane",
  counters: "Counters",
};
const KINDS = ["by_name", "by_category", "by_lane", "counters"] as const;
const MOST_ROWS = 500;
/** The most lanes an address names; if there are more, all lanes count. */
const MOST_IN_ADDRESS = 200;
/** For an area without lanes. */
const NO_SLICES = {
  slices: 0,
  names_total: 0,
  categories_total: 0,
  by_name: [],
  by_category: [],
  lanes_total: 0,
  by_lane: [],
};

/** A lane or counter as written in the address: the place of its trace, and its number there. */
const nameOf = ({ source, lane, counter }: Band) => `${source.place}/${lane >= 0 ? lane : `c${counter}`}`;

export class Area {
  readonly panel: TimelinePanel;
  chosen: Chosen | null = null;
  answers: Answer[] = [];
  kind: Kind = "by_name";
  sort = { column: "total_ns", descending: true };
  requested = 0;

  constructor(panel: TimelinePanel) {
    this.panel = panel;
  }

  /**
   * Updates the area while it is being drawn.
   * @param heights on the canvas
   */
  draw(times: [number, number], heights: [number, number]) {
    const { panel } = this;
    const { scene } = panel;
    const [low, high] = [Math.min(...heights), Math.max(...heights)];
    const bands = new Set<string>();
    for (const pinned of [true, false]) {
      for (const band of geometry.visibleBands(scene, pinned)) {
        if (band.type !== "lane" && band.type !== "counter") continue;
        const y = geometry.bandY(scene, band);
        if (y < high && y + band.height > low && (pinned ? low < scene.top : high > scene.top)) bands.add(band.id);
      }
    }
    this.chosen = { times, bands };
  }

  /** Selects all lanes and counters of a trace over a range of screen time. */
  over(times: [number, number], source: Source) {
    const own = this.bands.filter((band) => band.source === source);
    this.chosen = { times, bands: new Set(own.map((b) => b.id)) };
    return this.ask();
  }

  /** The area as written in the address: its times, and its lanes unless it covers all. */
  get text(): string {
    if (!this.chosen) return "";
    const times = this.range.map(Math.round).join(":");
    const { bands } = this.chosen;
    const own = this.bands.filter((band) => bands.has(band.id));
    const all = own.length === this.bands.length || own.length > MOST_IN_ADDRESS;
    return all ? times : `${times}~${own.map(nameOf).join(",")}`;
  }

  /** The bands an area can contain. */
  get bands() {
    const { rows } = this.panel;
    return [...rows.pinned, ...rows.bands].filter(({ type }) => type === "lane" || type === "counter");
  }

  /** Restores the selection from the address. */
  async restore(text: string) {
    const [times, listed] = text.split("~");
    const [start, end] = times.split(":").map(Number);
    if (!(start < end)) return;
    const named = listed?.split(",");
    const own = this.bands.filter((band) => !named || named.includes(nameOf(band)));
    this.chosen = { times: [start, end], bands: new Set(own.map(({ id }) => id)) };
    await this.ask();
  }

  private tell() {
    this.panel.settings.tell({ "timeline.area": [this.text] });
  }

  /** The area's times in ascending order. */
  get range(): [number, number] {
    const [a, b] = this.chosen ? this.chosen.times : [0, 0];
    return a <= b ? [a, b] : [b, a];
  }

  /** Requests the contents of the area once it is drawn. */
  async ask() {
    const { panel } = this;
    const chosen = this.chosen;
    if (!chosen) return;
    const requested = ++this.requested;
    const [start, end] = this.range.map(Math.round);
    const all = this.bands.filter((b) => chosen.bands.has(b.id));
    if (!all.length || end <= start) return this.clear();
    panel.selection.cancel();
    this.wait(start, end);
    try {
      const answers = await Promise.all(
        panel.sources.map(async (source): Promise<Answer | null> => {
          const own = all.filter((b) => b.source === source);
          if (!own.length) return null;
          const lanes = own.filter((b) => b.lane >= 0).map((b) => b.lane).join(",");
          const counters = new Set(own.filter((b) => b.counter >= 0).map((b) => b.counter));
          const answer = await source.ask<AreaAnswer>("area", {
            start: start - source.offset,
            end: end - source.offset,
            lanes,
            top: MOST_ROWS,
          });
          // If no lanes are given, the route sums over all of them.
          const inside = lanes ? answer : { ...answer, ...NO_SLICES };
          return { ...inside, source, counters: answer.counters.filter(({ counter }) => counters.has(counter)) };
        }),
      );
      if (requested !== this.requested) return;
      this.answers = answers.filter((answer) => answer !== null);
      panel.selection.forget();
      this.tell();
      this.show();
    } catch (error) {
      if (requested !== this.requested) return;
      this.clear();
      panel.notify(messageOf(error));
    }
  }

  /** Shows that the totals are loading. */
  private wait(start: number, end: number) {
    const { drawer } = this.panel;
    const title = make("span", { className: "timeline-drawer-title" }, `${durationText(end - start)} · summing…`);
    const head = make("div", { className: "timeline-drawer-head", role: "status" }, title);
    const body = make(
      "div",
      { className: "timeline-drawer-body waiting" },
      make("div", { className: "timeline-busy" }),
    );
    drawer.replaceChildren(head, body);
    this.panel.resize();
  }

  clear() {
    this.requested += 1;
    if (!this.chosen) return;
    this.chosen = null;
    this.answers = [];
    this.tell();
    this.panel.drawer.replaceChildren();
    this.panel.changed();
  }

  /** The rows of all traces, one trace below another, with their names. */
  table(): Table {
    const { answers, kind } = this;
    const several = answers.length > 1;
    const of = ({ place }: Source) => (several ? { trace: String(place + 1) } : {});
    const trace: Table["columns"] = several ? [["trace", "Trace"]] : [];
    if (kind === "by_lane") {
      const rows = answers.flatMap(({ by_lane, source }) =>
        by_lane.map((row) => ({
          ...row,
          ...of(source),
          lane: source.summary.lane_labels[row.lane] ?? `lane ${row.lane}`,
          percent: row.share,
        }))
      );
      return {
        columns: [...trace, ["lane", "Lane"], ["count", "Slices"], ["busy_ns", "Busy"], ["percent", "Share of area"]],
        rows,
      };
    }
    if (kind === "counters") {
      const rows = answers.flatMap(({ counters, source }) =>
        counters.map((row) => ({ ...row, ...of(source), counter: source.summary.counter_labels[row.counter] }))
      );
      return {
        columns: [...trace, ["counter", "Counter"], ["min", "Min"], ["mean", "Mean over time"], ["max", "Max"]],
        rows,
      };
    }
    const rows = answers.flatMap((answer) =>
      answer[kind].map((row) => ({
        ...row,
        ...of(answer.source),
        percent: row.total_ns / (answer.end - answer.start),
      }))
    );
    return {
      columns: [
        ...trace,
        ...(kind === "by_name" ? [["name", "Name"] as [string, string]] : []),
        ["category", "Category"],
        ["count", "Count"],
        ["total_ns", "Total"],
        ["percent", "Share of area"],
        ["own_ns", "Self time"],
        ["mean_ns", "Mean"],
        ["min_ns", "Min"],
        ["max_ns", "Max"],
      ],
      rows,
    };
  }

  show() {
    const [start, end] = this.range;
    const slices = this.answers.reduce((sum, answer) => sum + answer.slices, 0);
    const tabs = make("span", { className: "timeline-tabs" });
    for (const kind of KINDS) {
      if (kind === "counters" && !this.answers.some((answer) => answer.counters.length)) continue;
      const tab = button(TITLES[kind], `Totals ${TITLES[kind].toLowerCase()}`, () => {
        this.kind = kind;
        this.sort = {
          column: kind === "by_lane" ? "busy_ns" : kind === "counters" ? "max" : "total_ns",
          descending: true,
        };
        this.show();
      }, "plain");
      tab.setAttribute("aria-pressed", String(kind === this.kind));
      tab.classList.toggle("on", kind === this.kind);
      tabs.append(tab);
    }
    const { columns, rows: unsorted } = this.table();
    const rows = this.sorted(unsorted);
    const title = make(
      "span",
      { className: "timeline-drawer-title" },
      `${durationText(end - start)} · ${integer(slices)} slice${slices === 1 ? "" : "s"}`,
    );
    title.title = `From ${exactDurationText(start)} to ${exactDurationText(end)}; times are clipped to its edges`;
    const head = make(
      "div",
      { className: "timeline-drawer-head" },
      title,
      tabs,
      make(
        "span",
        { className: "timeline-drawer-tools" },
        button("Zoom to", "Zoom to this area (F)", () => this.panel.fit()),
        button("Copy", "Copy the table as tab-separated text", () =>
          copyText(
            [columns.map((c) => c[1]).join("\t"), ...rows.map((row) => columns.map((c) => row[c[0]] ?? "").join("\t"))]
              .join("\n"),
            "Table copied",
          )),
        button("✕", "Close (Escape)", () => this.clear(), "plain"),
      ),
    );
    const known = this.answers.reduce((sum, answer) => sum + answer.names_total, 0);
    const body = make("div", { className: "timeline-drawer-body column" }, this.grid(columns, rows));
    if (this.kind === "by_name" && known > rows.length) {
      const note = `The ${integer(rows.length)} names with the largest totals, of ${integer(known)}.`;
      body.append(make("p", { className: "timeline-none" }, note));
    }
    this.panel.drawer.replaceChildren(head, body);
    this.panel.paintSwatches();
    this.panel.resize();
  }

  sorted(rows: Cells[]): Cells[] {
    const { column, descending } = this.sort;
    const order = (one: Cells, other: Cells) => {
      const [a, b] = [one[column], other[column]];
      // Unknown values count as the smallest.
      return isText(rows, column)
        ? String(a ?? "").localeCompare(String(b ?? ""))
        : Number(a ?? -Infinity) - Number(b ?? -Infinity);
    };
    return [...rows].sort((a, b) => order(a, b) * (descending ? -1 : 1));
  }

  grid(columns: Table["columns"], rows: Cells[]) {
    const { column, descending } = this.sort;
    const head = make("tr");
    for (const [key, label] of columns) {
      const cell = make("th", isText(rows, key) ? { className: "words" } : null, make("button", null, label));
      cell.setAttribute("aria-sort", key === column ? (descending ? "descending" : "ascending") : "none");
      cell.firstElementChild?.addEventListener("click", () => {
        this.sort = { column: key, descending: key === column ? !descending : !isText(rows, key) };
        this.show();
      });
      head.append(cell);
    }
    const body = make("tbody");
    for (const row of rows) {
      const find = (name: string) => this.panel.search.set(name, "name");
      body.append(make("tr", null, ...columns.map(([key]) => cellOf(row, key, find))));
    }
    return make("table", { className: "timeline-table" }, make("thead", null, head), body);
  }
}

const isText = (rows: Cells[], key: string) => typeof rows.at(0)?.[key] === "string";

function cellOf(row: Cells, key: string, find: (name: string) => void): HTMLElement {
  const { quantity } = format;
  const value = row[key];
  if (value === undefined) return make("td", { className: "number" }, "–");
  if (typeof value === "string") {
    if (key !== "name") return make("td", null, value || "–");
    const swatch = make("span", { className: "timeline-swatch small" });
    swatch.dataset.name = value;
    const link = button(value, `${value}\nFind all slices of this name`, () => find(value), "link");
    return make("td", { className: "name" }, swatch, link);
  }
  const text = key.endsWith("_ns")
    ? durationText(value, 4)
    : key === "percent"
    ? `${(100 * value).toFixed(1)}%`
    : key === "count"
    ? integer(value)
    : quantity(String(row.counter ?? ""), value);
  const cell = make("td", { className: "number" }, text);
  if (key.endsWith("_ns")) cell.title = `${integer(value)} ns`;
  return cell;
}
