// Layouts of custom scalars as the editor changes them: pure functions.
import type { SentChart, SentLayout, SentMargin } from "./messages.generated.ts";

export type Margin = Required<SentMargin>;
/** Either lines for all tags that match expressions, or lines with margins. */
export type Chart =
  | { title: string; kind: "multiline"; tags: string[] }
  | { title: string; kind: "margin"; series: Margin[] };
export interface Category {
  title: string;
  closed: boolean;
  charts: Chart[];
}

export const newMargin = (): Margin => ({ value: "", lower: "", upper: "" });
export const newChart = (title = "", kind: Chart["kind"] = "multiline"): Chart =>
  kind === "margin" ? { title, kind, series: [newMargin()] } : { title, kind, tags: [""] };
export const newCategory = (title = ""): Category => ({ title, closed: false, charts: [newChart()] });

export const read = ({ category = [] }: SentLayout): Category[] =>
  category.map(({ title = "", closed = false, chart = [] }) => ({ title, closed, charts: chart.map(chartOf) }));

const chartOf = ({ title = "", multiline, margin }: SentChart): Chart =>
  margin
    ? { title, kind: "margin", series: (margin.series ?? []).map((one) => ({ ...newMargin(), ...one })) }
    : { title, kind: "multiline", tags: multiline?.tag ?? [] };

/** The categories without anything that was left empty. */
function filled(categories: readonly Category[]): Category[] {
  const full = (chart: Chart): Chart =>
    chart.kind === "margin"
      ? { ...chart, series: chart.series.filter(({ value }) => value) }
      : { ...chart, tags: chart.tags.filter(Boolean) };
  return categories
    .map((category) => ({ ...category, charts: category.charts.map(full).filter(hasLines) }))
    .filter(({ charts }) => charts.length);
}

const hasLines = (chart: Chart): boolean => (chart.kind === "margin" ? chart.series : chart.tags).length > 0;

/** The layout in the form that the server accepts. */
export const written = (categories: readonly Category[]): SentLayout => ({
  category: filled(categories).map(({ title, closed, charts }) => ({
    title,
    closed,
    chart: charts.map((chart) =>
      chart.kind === "margin"
        ? { title: chart.title, margin: { series: chart.series } }
        : { title: chart.title, multiline: { tag: chart.tags } }
    ),
  })),
});

/** The title, with a number if others have it too: the charts of a program are told apart by their titles. */
function distinct(title: string, known: ReadonlyMap<string, string>): string {
  let found = title;
  for (let number = 2; known.has(found); number += 1) found = `${title} (${number})`.trim();
  return found;
}

/** A chart as `add_custom_scalars` takes it, which has one line in a chart with margins: several charts for several. */
const chartsOfProgram = (chart: Chart): [kind: string, tags: string[]][] =>
  chart.kind === "margin"
    ? chart.series.map(({ value, lower, upper }) => ["Margin", [value, lower, upper]])
    : [["Multiline", chart.tags]];

/** A dict in the order of its entries, whose values are written already: objects put keys that are integers first. */
const dictOf = (entries: ReadonlyMap<string, string>): string => {
  const lines = [...entries].map(([key, value]) => `\n${JSON.stringify(key)}: ${value}`);
  return `{${lines.join(",").replaceAll("\n", "\n    ")}\n}`;
};

/** A program that writes the layout. */
export function programOf(categories: readonly Category[]): string {
  const layout = new Map<string, Map<string, string>>();
  for (const { title, charts } of filled(categories)) {
    const known = layout.get(title) ?? new Map<string, string>();
    layout.set(title, known);
    for (const chart of charts) {
      for (const one of chartsOfProgram(chart)) known.set(distinct(chart.title, known), JSON.stringify(one, null, 4));
    }
  }
  const dicts = new Map([...layout].map(([title, charts]) => [title, dictOf(charts)]));
  const text = dictOf(dicts).replaceAll("\n", "\n    ");
  return `from stepscope import SummaryWriter\n\nwith SummaryWriter("logs") as writer:\n    writer.add_custom_scalars(${text})\n`;
}
