/** The parts of a trace that could not be shown as stored: a line, and a table behind it. */
import { integer } from "../../../web/core/numbers.ts";
import { make } from "../../../web/core/dom.ts";
import { popover } from "../../../web/core/popover.ts";
import type { Source } from "./data.ts";
import type { TraceSummary } from "./messages.generated.ts";
import { button } from "./widgets.ts";

const ARROW = /^flow|arrow/;

/**
 * One line about the parts of a trace that are not shown as stored; null if it is complete.
 * @param several whether other traces are also shown
 */
export function strip({ summary }: Source, several: boolean): HTMLElement | null {
  const counted = Object.entries(summary.losses).filter(([, n]) => n > 0).sort(([, a], [, b]) => b - a);
  const total = counted.reduce((sum, [, n]) => sum + n, 0);
  const parts = [...summary.notes];
  if (summary.steps_total > summary.steps.length) {
    parts.push(`the ruler shows ${summary.steps.length} of ${summary.steps_total} steps`);
  }
  if (!total && !parts.length) return null;
  const arrows = counted.filter(([why]) => ARROW.test(why)).reduce((sum, [, n]) => sum + n, 0);
  const rest = counted.filter(([why]) => !ARROW.test(why));
  const texts = [
    arrows ? `${integer(arrows)} arrow${arrows === 1 ? " has" : "s have"} only one end` : "",
    total > arrows
      ? `${integer(total - arrows)} event${total - arrows === 1 ? "" : "s"} skipped or altered: ${
        rest.map(([why]) => summary.counted[why]).join("; ")
      }`
      : "",
  ];
  const all = `${several ? `${summary.label}: ` : ""}${[...texts, ...parts].filter(Boolean).join(" · ")}`;
  const line = make("span", { className: "timeline-losses-text" }, all);
  line.title = all;
  const more = button(
    "Explain",
    "What each of them means, with an example",
    () =>
      popover.show(more, "Skipped or altered events", table(summary, counted), { className: "timeline-losses-box" }),
    "plain",
  );
  const close = button("✕", "Hide this line", () => box.remove(), "plain");
  const box = make(
    "div",
    { className: `timeline-losses ${rest.length || parts.length ? "" : "quiet"}` },
    make("span", { className: "timeline-losses-mark" }, "!"),
    line,
    ...(counted.length ? [more] : []),
    close,
  );
  return box;
}

function table(summary: TraceSummary, counted: [string, number][]) {
  const rows = counted.map(([reason, n]) => {
    const example = summary.examples[reason];
    return make(
      "section",
      { className: "timeline-loss" },
      make("h4", null, make("b", null, integer(n)), ` ${reason}`),
      make("p", null, summary.meanings[reason] || "There are no details about this reason."),
      ...(example ? [make("p", { className: "timeline-none" }, `The first: ${example}`)] : []),
    );
  });
  return [
    make("div", { className: "timeline-box-head" }, "Skipped or altered events"),
    ...rows,
    ...summary.notes.map((note) => make("p", null, note)),
  ];
}
