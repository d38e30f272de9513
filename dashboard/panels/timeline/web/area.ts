/** A chosen stretch of time over some lanes: what ran there, by name, category and lane, in the drawer. */
import * as details from "./details.ts";
import * as format from "./format.ts";
import * as frame from "../../../web/page/layout.ts";
import * as geometry from "./geometry.ts";
import { elements } from "../../../web/core/dom.ts";
import { messageOf } from "../../../web/core/request.ts";
import type { TimelinePanel } from "./panel.ts";
import type { Source } from "./data.ts";
import type { Band } from "./layout.ts";

export type Kind = "by_name" | "by_category" | "by_lane" | "counters";
const TITLES = { by_name: "By name", by_category: "By category", by_lane: "By lane", counters: "Counters" };
const MOST_ROWS = 500;

export class Area {
  panel;
  /** What is chosen, in the screen's time. */
  chosen: { times: [number, number]; bands: Set<string> } | null = null;
  /** answers of the route `area`, with their sources */
  answers: any[] = [];
  kind: Kind = "by_name";
  sort = { column: "total_ns", descending: true };
  asked = 0;

  /** @param panel the panel of timeline_panel.js */
  constructor(panel: TimelinePanel) {
    this.panel = panel;
  }

  /**
   * While the hand draws.
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

  /** All lanes and counters of a trace over a stretch of the screen's time. */
  over(times: [number, number], source: Source) {
    const { rows } = this.panel;
    const mine = [...rows.pinned, ...rows.bands].filter((b: Band) =>
      b.source === source && (b.type === "lane" || b.type === "counter")
    );
    this.chosen = { times, bands: new Set(mine.map((b: Band) => b.id)) };
    return this.ask();
  }

  /** The times of the area in order. */
  get range() {
    const [a, b] = this.chosen ? this.chosen.times : [0, 0];
    return a <= b ? [a, b] : [b, a];
  }

  /** The hand has drawn: asks what is in it. */
  async ask() {
    const { panel } = this;
    const chosen = this.chosen;
    if (!chosen) return;
    const asked = ++this.asked;
    const [start, end] = this.range.map(Math.round);
    const all = [...panel.rows.pinned, ...panel.rows.bands].filter((b: Band) => chosen.bands.has(b.id));
    if (!all.length || end <= start) return this.clear();
    panel.selection.cancel();
    try {
      const answers = await Promise.all(
        panel.sources.map(async (source: Source) => {
          const mine = all.filter((b: Band) => b.source === source);
          if (!mine.length) return null;
          const lanes = mine.filter((b: Band) => b.lane >= 0).map((b: Band) => b.lane).join(",");
          const counters = mine.filter((b: Band) => b.counter >= 0).map((b: Band) => b.counter);
          const answer = await source.json("area", {
            start: start - source.offset,
            end: end - source.offset,
            lanes,
            top: MOST_ROWS,
          });
          return { ...answer, source, counters: answer.counters.filter((c: any) => counters.includes(c.counter)) };
        }),
      );
      if (asked !== this.asked) return;
      this.answers = answers.filter((answer) => answer !== null);
      panel.selection.forget();
      this.show();
    } catch (error) {
      if (asked === this.asked) panel.notify(messageOf(error));
    }
  }

  clear() {
    this.asked += 1;
    if (!this.chosen) return;
    this.chosen = null;
    this.answers = [];
    this.panel.drawer.replaceChildren();
    this.panel.changed();
  }

  /** Rows of all traces under one another, with what they are called. */
  table(): { columns: [string, string][]; rows: any[] } {
    const several = this.answers.length > 1;
    const of = (source: Source) => (several ? { trace: String(source.place + 1) } : {});
    const trace = (several ? [["trace", "Trace"]] : []) as [string, string][];
    if (this.kind === "by_lane") {
      const rows = this.answers.flatMap((a) =>
        a.by_lane.map((row: any) => ({
          ...row,
          ...of(a.source),
          lane: a.source.summary.lane_labels[row.lane] ?? `lane ${row.lane}`,
          percent: row.share,
        }))
      );
      return {
        columns: [...trace, ["lane", "Lane"], ["count", "Slices"], ["busy_ns", "Busy"], ["percent", "Of the area"]],
        rows,
      };
    }
    if (this.kind === "counters") {
      const rows = this.answers.flatMap((a) =>
        a.counters.map((row: any) => ({
          ...row,
          ...of(a.source),
          counter: a.source.summary.counter_labels[row.counter],
        }))
      );
      return {
        columns: [...trace, ["counter", "Counter"], ["min", "Min"], ["mean", "Mean over time"], ["max", "Max"]],
        rows,
      };
    }
    const kind = this.kind;
    const rows = this.answers.flatMap((a) =>
      a[kind].map((row: any) => ({ ...row, ...of(a.source), percent: row.total_ns / (a.end - a.start) }))
    );
    const first = (kind === "by_name" ? [["name", "Name"], ["category", "Category"]] : [["category", "Category"]]) as [
      string,
      string,
    ][];
    return {
      columns: [
        ...trace,
        ...first,
        ["count", "Count"],
        ["total_ns", "Total"],
        ["percent", "Of the area"],
        ["own_ns", "Own time"],
        ["mean_ns", "Mean"],
        ["min_ns", "Min"],
        ["max_ns", "Max"],
      ],
      rows,
    };
  }

  show() {
    const { element, button } = details;
    const { duration, integer } = format;
    const [start, end] = this.range;
    const slices = this.answers.reduce((sum, answer) => sum + answer.slices, 0);
    const tabs = element("span", "timeline-tabs");
    for (const kind of (Object.keys(TITLES) as Kind[])) {
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
    const { columns, rows } = this.table();
    const title = element(
      "span",
      "timeline-drawer-title",
      `${duration(end - start)} · ${integer(slices)} slice${slices === 1 ? "" : "s"}`,
    );
    title.title = `From ${format.exact(start)} to ${format.exact(end)}; times are cut at its borders`;
    const head = element(
      "div",
      "timeline-drawer-head",
      title,
      tabs,
      element(
        "span",
        "timeline-drawer-tools",
        button("Zoom to", "Zoom to this area (F)", () => this.panel.fit()),
        button("Copy", "Copy the table as tab-separated text", () =>
          elements.toClipboard(
            [columns.map((c) => c[1]).join("\t"), ...rows.map((row) => columns.map((c) => row[c[0]] ?? "").join("\t"))]
              .join("\n"),
          ).then(() => frame.say("Table copied"))),
        button("✕", "Close (Esc)", () => this.clear(), "plain"),
      ),
    );
    const known = this.answers.reduce((sum, answer) => sum + (answer.names_total ?? 0), 0);
    const note = this.kind === "by_name" && known > rows.length
      ? element(
        "p",
        "timeline-none",
        `The ${integer(rows.length)} names with the largest totals, of ${integer(known)}.`,
      )
      : null;
    const body = element("div", "timeline-drawer-body column", this.grid(columns, rows), note);
    this.panel.drawer.replaceChildren(head, body);
    this.panel.paintSwatches();
    this.panel.resize();
  }

  grid(columns: [string, string][], rows: any[]) {
    const { element } = details;
    const { column, descending } = this.sort;
    const value = (row: any) => row[column] ?? (typeof rows[0]?.[column] === "string" ? "" : -Infinity);
    const sorted = [...rows].sort((a, b) =>
      (typeof value(a) === "string" ? value(a).localeCompare(value(b)) : value(a) - value(b)) * (descending ? -1 : 1)
    );
    const head = element("tr");
    for (const [key, label] of columns) {
      const cell = element("th", typeof rows[0]?.[key] === "string" ? "words" : "", element("button", "", label));
      cell.setAttribute("aria-sort", key === column ? (descending ? "descending" : "ascending") : "none");
      cell.firstElementChild?.addEventListener("click", () => {
        this.sort = { column: key, descending: key === column ? !descending : typeof rows[0]?.[key] !== "string" };
        this.show();
      });
      head.append(cell);
    }
    const body = element("tbody");
    for (const row of sorted) {
      const line = element("tr");
      for (const [key] of columns) line.append(cellOf(row, key, () => this.panel.search.set(row.name, "name")));
      body.append(line);
    }
    return element("table", "timeline-table", element("thead", "", head), body);
  }
}

function cellOf(row: any, key: string, find: () => void) {
  const { element, button } = details;
  const { duration, integer, quantity } = format;
  const value = row[key];
  if (key === "name") {
    const swatch = element("span", "timeline-swatch small");
    swatch.dataset.name = value;
    return element("td", "name", swatch, button(value, `${value}\nFind all slices of this name`, find, "link"));
  }
  if (value === null || value === undefined) return element("td", "number", "–");
  if (typeof value === "string") return element("td", "", value || "–");
  const text = key.endsWith("_ns")
    ? duration(value, 4)
    : key === "percent"
    ? `${(100 * value).toFixed(1)} %`
    : key === "count"
    ? integer(value)
    : quantity(row.counter || "", value);
  const cell = element("td", "number", text);
  if (key.endsWith("_ns")) cell.title = `${integer(value)} ns`;
  return cell;
}
