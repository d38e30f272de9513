/** Runs are called on the whole page what they were renamed to: every `.run-label` has the run's own name as its title. */
import { runs } from "./state.ts";

/** Names on the screen, of runs that were renamed. */
let renamed = new Map<string, string>();
let waiting = 0;

function update(): void {
  waiting = 0;
  for (const element of document.querySelectorAll("#panel .run-label")) {
    const run = element.getAttribute("title");
    // The text node stays the same one: what made it may change it later.
    const text = element.querySelector("bdi")?.firstChild;
    if (!run || !text) continue;
    const label = renamed.get(run) || runs.label(run);
    if (text.nodeValue !== label) text.nodeValue = label;
  }
}

function soon(): void {
  if (!waiting) waiting = requestAnimationFrame(update);
}

runs.onChange((what) => {
  if (what !== "rows") return;
  const before = renamed.size;
  renamed = new Map([...runs.rows.values()].filter((row) => row.label !== row.run).map((row) => [row.run, row.label]));
  if (before || renamed.size) soon();
});
new MutationObserver((changes) => {
  if (renamed.size && changes.some(({ target }) => target instanceof Element && target.closest("#panel"))) soon();
}).observe(document.body, { childList: true, subtree: true });
