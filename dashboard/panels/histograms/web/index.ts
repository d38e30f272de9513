/** The histograms panel: the runs listed on cards that show all of them, and downloads. */
import { downloadMenu } from "../../../web/cards/download_menu.ts";
import { cards as pageCards } from "../../../web/cards/grid.ts";
import { plotIn } from "../../../web/cards/plotly.ts";
import { callbackContext, callbacks, noUpdate } from "../../../web/core/dash.ts";
import { make, runLabel, within } from "../../../web/core/dom.ts";
import { Api } from "../../../web/core/request.ts";
import { slider as stepSlider } from "../../../web/cards/step_slider.ts";
import { view } from "../../../web/page/view.ts";
import "./commands.ts";
import type { ChartMeta } from "./facts.ts";
import type { RunsMeta } from "./messages.generated.ts";
import "./pointer.ts";
import { settings } from "./settings.generated.ts";

type Figure = { layout?: { meta?: ChartMeta } } | null;

const api = new Api("api/histograms");

// --- all runs of a tag at one step -------------------------------------------------------------------------

interface Card {
  fill: HTMLElement;
  slider: ReturnType<typeof stepSlider>;
  legend: HTMLElement;
  meta: RunsMeta;
}
/** Cards by tag. */
const cards: Map<string, Card> = new Map();
const axis = () => view.read(settings.axis);

function showRuns(fill: HTMLElement, meta: RunsMeta): void {
  let card = cards.get(meta.tag);
  if (card?.meta === meta && card.fill.isConnected) return;
  if (card?.fill !== fill || !fill.firstChild) {
    const slider = stepSlider({ setting: settings.step, key: meta.tag, label: "Step" });
    card = { fill, slider, legend: make("ul", { className: "legend" }), meta };
    fill.replaceChildren(slider.element, card.legend);
    cards.set(meta.tag, card);
  }
  card.meta = meta;
  card.slider.update(meta.slider, axis());
  card.legend.replaceChildren(...meta.runs.map((run) => {
    const said = run.said ? [make("span", { className: "said" }, run.said)] : [];
    return make("li", { className: run.drawn ? "" : "absent" }, runLabel(run), ...said);
  }));
}

// --- download ----------------------------------------------------------------------------------------------

function openMenu(button: HTMLElement): void {
  const card = button.closest(".card");
  const meta: ChartMeta | undefined = (card && plotIn(card))?._fullLayout?.meta;
  if (!meta?.mode) return;
  const run = meta.mode === "runs" ? meta.runs.map((one) => one.run) : meta.run;
  const [first, last] = [settings.first, settings.last].map((edge) => view.read(edge).at(-1));
  const text = first || last ? "Histograms of the range as" : "All histograms as";
  downloadMenu(
    button,
    ["csv", "json"].map((format) => [
      `${text} ${format.toUpperCase()}`,
      api.address("download", { tag: meta.tag, run, first, last, format }),
    ]),
  );
}

document.addEventListener("click", (event) => {
  const button = within(event, ".histograms-card .act-download");
  if (button) openMenu(button);
});

callbacks("stepscope", {
  /** From the figures of the cards, builds what is below those with all runs. */
  drawHistograms(figures: Figure[]) {
    const inputs = callbackContext().inputs_list[0] as { id: { key: string } }[];
    figures.forEach((figure, i) => {
      const meta = figure?.layout?.meta;
      if (meta?.mode !== "runs") return;
      const fill = pageCards.find("histograms", inputs[i].id.key)?.querySelector<HTMLElement>(".fill");
      if (fill) showRuns(fill, meta);
    });
    return noUpdate();
  },
  /** Applies the toolbar settings that need no redrawing. */
  adjustHistograms() {
    const root = document.getElementById("histograms-panel");
    if (root) {
      root.dataset.bins = view.read(settings.bins);
      root.dataset.mode = view.read(settings.mode);
    }
    for (const { fill, slider, meta } of cards.values()) if (fill.isConnected) slider.update(meta.slider, axis());
    return noUpdate();
  },
});
