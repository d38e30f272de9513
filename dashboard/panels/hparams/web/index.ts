/** The hparams panel: receives data from the server, and draws its parts when something has changed. */
import { callbacks, noUpdate } from "../../../web/core/dash.ts";
import { within } from "../../../web/core/dom.ts";
import { whenReleased } from "../../../web/core/press.ts";
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

isDrawnBy(() => {
  const panel = document.querySelector<HTMLElement>(".hparams-panel");
  if (!panel) return hideTip();
  if (!hasData()) return;
  whenReleased(panel, () => {
    if (!panel.isConnected) return;
    panel.dataset.chart = view.read(settings.chart);
    panel.dataset.controls = view.read(settings.controls) ? "on" : "off";
    drawFacts();
    drawControls();
    drawChart();
    applyTable();
  });
});

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
