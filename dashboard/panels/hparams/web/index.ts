/** The hparams panel: receives data from the server, and draws its parts when something has changed. */
import { callbacks, noUpdate } from "../../../web/core/dash.ts";
import { within } from "../../../web/core/dom.ts";
import { view } from "../../../web/page/view.ts";
import { drawChart } from "./chart.ts";
import "./commands.ts";
import { drawControls } from "./controls.ts";
import { hideTip } from "./drawing.ts";
import { drawFacts } from "./facts.ts";
import type { SentTable } from "./messages.generated.ts";
import { received } from "./payload.ts";
import { settings } from "./settings.generated.ts";
import { hasData, isDrawnBy, listedRows, redraw, setData } from "./state.ts";
import { applyTable, type Column, heedTable, tableColumns } from "./table.ts";

/** Whether the pointer is pressed on the panel: what it pressed stays until release, so that clicks and drags work. */
let held = false;

isDrawnBy(() => {
  const panel = document.querySelector<HTMLElement>(".hparams-panel");
  if (!panel) return hideTip();
  if (!hasData() || held) return;
  panel.dataset.chart = view.read(settings.chart);
  panel.dataset.controls = view.read(settings.controls) ? "on" : "off";
  drawFacts();
  drawControls();
  drawChart();
  applyTable();
});

document.addEventListener("pointerdown", (event) => {
  // An opening list does not pass on the release.
  if (within(event, ".hparams-panel") && !within(event, "select")) held = true;
}, true);
for (const name of ["pointerup", "pointercancel"]) {
  // The corresponding click comes first.
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
  /** Handles new data. Columns that stay the same are left alone: they may be receiving a click. */
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
