/** The hparams panel: takes what the server sends, and draws its parts when something has changed. */
import { callbacks, noUpdate } from "../../../web/core/dash.ts";
import { within } from "../../../web/core/dom.ts";
import { view } from "../../../web/page/view.ts";
import { drawChart } from "./chart.ts";
import "./commands.ts";
import { drawControls } from "./controls.ts";
import { drawFacts } from "./facts.ts";
import type { SentTable } from "./messages.generated.ts";
import { received } from "./payload.ts";
import { settings } from "./settings.generated.ts";
import { hasData, isDrawnBy, listedRows, redraw, setData } from "./state.ts";
import { applyTable, type Column, heedTable, tableColumns } from "./table.ts";

/** A hand is on the panel: what it pressed stays until it lets go, or there would be no click and no drag. */
let held = false;

isDrawnBy(() => {
  const panel = document.querySelector<HTMLElement>(".hparams-panel");
  if (!panel || !hasData() || held) return;
  panel.dataset.chart = view.read(settings.chart);
  panel.dataset.controls = view.read(settings.controls) ? "on" : "off";
  drawFacts();
  drawControls();
  drawChart();
  applyTable();
});

document.addEventListener("pointerdown", (event) => {
  // A list that opens keeps the release to itself.
  if (within(event, ".hparams-panel") && !within(event, "select")) held = true;
}, true);
for (const name of ["pointerup", "pointercancel"]) {
  // The click that belongs to it comes first.
  window.addEventListener(name, () =>
    setTimeout(() => {
      if (!held) return;
      held = false;
      redraw();
    }), true);
}
document.addEventListener("click", (event) => {
  if (within(event, "#hparams-toggle")) view.write(settings.controls, !view.read(settings.controls));
});
new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-mantine-color-scheme"] });

callbacks("stepscope", {
  /** New data. Columns that stay are left alone: a click may be on them. */
  hparamsData(sent: SentTable | null, shown: Column[]) {
    if (!sent) return [noUpdate(), noUpdate()];
    setData(received(sent));
    void heedTable();
    redraw();
    const wanted = tableColumns();
    return [listedRows(), JSON.stringify(wanted) === JSON.stringify(shown) ? noUpdate() : wanted];
  },
  hparamsView() {
    redraw();
    return noUpdate();
  },
});
