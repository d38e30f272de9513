// Cards whose lines all have a single point show bars with the values instead of a chart of dots.
import { make, runLabel, stepText } from "../../web/core/dom.ts";
import type { CurveChart, CurveLine } from "./model.ts";
import { show } from "./rows.ts";

/** The lines of a chart if each has only a single value; empty if the chart shows more than that. */
export function singles(chart: CurveChart, hidden: ReadonlySet<string>): CurveLine[] {
  const lines = chart.lines.filter(({ run, kind }) => kind === "group" || run === undefined || !hidden.has(run));
  return lines.every(({ y, side, kind }) => y.length === 1 && side === "left" && kind !== "member") ? lines : [];
}

/** The start and end of each bar, as shares of the width, all on one scale that includes 0. */
export function extents(values: readonly number[]): [from: number, to: number][] {
  const finite = values.filter(Number.isFinite);
  const [low, high] = [Math.min(0, ...finite), Math.max(0, ...finite)];
  const place = (value: number) => (value - low) / (high - low || 1);
  return values.map((value) =>
    Number.isFinite(value) ? [place(Math.min(0, value)), place(Math.max(0, value))] : [0, 0]
  );
}

/** Shows the bars of a card, or removes them if there are no lines. */
export function showBars(card: HTMLElement, lines: readonly CurveLine[]): void {
  card.classList.toggle("single", lines.length > 0);
  card.querySelector(".bars")?.remove();
  if (!lines.length) return;
  const severalTags = new Set(lines.map(({ tag }) => tag)).size > 1;
  const ends = extents(lines.map(({ y }) => y[0]));
  const rows = lines.map((line, at) => {
    const label = runLabel({ ...line, run: severalTags ? `${line.label} ${line.tag}` : line.label });
    const bar = make("i");
    bar.style.setProperty("--light", line.light);
    bar.style.setProperty("--dark", line.dark);
    bar.style.setProperty("--from", String(ends[at][0]));
    bar.style.setProperty("--to", String(ends[at][1]));
    const step = line.step?.[0];
    const title = step === undefined ? String(line.y[0]) : `${line.y[0]} at step ${stepText(step)}`;
    return make("li", { title }, label, make("span", { className: "bar" }, bar), make("b", {}, show(line.y[0])));
  });
  card.append(make("ul", { className: "bars" }, ...rows));
}
