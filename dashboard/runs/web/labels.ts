// @ts-nocheck
// Runs are called on the whole page what they were renamed to: every `.run-label` has the run's own name as its title.
import { runs } from "./state.ts";

/** Names on the screen, of runs that were renamed. */
let renamed: Map<string, string> = new Map();
let waiting = 0;

function relabel(all) {
  for (const element of all) {
    const run = element.getAttribute("title");
    const text = element.querySelector("bdi");
    // The text node stays the same one: what made it may change it later.
    if (!run || !text || !text.firstChild) continue;
    const label = renamed.get(run) || runs.label(run);
    if (text.firstChild.nodeValue !== label) text.firstChild.nodeValue = label;
  }
}

function update() {
  waiting = 0;
  relabel(document.querySelectorAll("#panel .run-label"));
}

const soon = () => {
  if (!waiting) waiting = requestAnimationFrame(update);
};

document.addEventListener("DOMContentLoaded", () => {
  runs.onChange((what) => {
    if (what !== "rows") return;
    const before = renamed.size;
    renamed = new Map(
      [...runs.rows.values()].filter((row) => row.label !== row.run).map((row) => [row.run, row.label]),
    );
    if (before || renamed.size) soon();
  });
  new MutationObserver((changes) => {
    if (renamed.size && changes.some((change) => change.target instanceof Element && change.target.closest("#panel"))) {
      soon();
    }
  }).observe(document.body, { childList: true, subtree: true });
});
