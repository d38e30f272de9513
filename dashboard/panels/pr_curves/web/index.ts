/** The PR curves panel: its callbacks, reset and download. */
import { downloadMenu } from "../../../web/cards/download_menu.ts";
import { cards as pageCards } from "../../../web/cards/grid.ts";
import { plotIn, showAll } from "../../../web/cards/plotly.ts";
import { callbackContext, callbacks, noUpdate } from "../../../web/core/dash.ts";
import { within } from "../../../web/core/dom.ts";
import { Api } from "../../../web/core/request.ts";
import { view } from "../../../web/page/view.ts";
import { placeSliders, refresh } from "./below.ts";
import { type Card, cards, curvesOf } from "./card.ts";
import "./commands.ts";
import { placeDots } from "./dots.ts";
import type { CardMeta } from "./messages.generated.ts";
import "./pointer.ts";
import { settings } from "./settings.generated.ts";

const api = new Api("api/pr_curves");

function openMenu(button: HTMLElement, card: Card): void {
  const runs = curvesOf(card);
  const shown = { tag: card.key, run: runs.map(({ run }) => run), index: runs.map(({ index }) => index) };
  const files = ["csv", "json"].map((format): [string, string] => [
    `Visible curves as ${format.toUpperCase()}`,
    api.address("download", { ...shown, format }),
  ]);
  downloadMenu(button, runs.length ? files : [], "No curve is shown");
}

document.addEventListener("click", (event) => {
  const button = within(event, ".pr_curves-card :is(.act-download, .act-reset)");
  const article = button?.closest<HTMLElement>(".card");
  if (!button || !article) return;
  const card = cards.get(article.dataset.key ?? "");
  const plot = plotIn(article);
  if (button.classList.contains("act-download") && card) openMenu(button, card);
  if (button.classList.contains("act-reset") && plot) showAll(plot);
});

callbacks("stepscope", {
  /** From the figures of the cards, builds what is below them. */
  drawPrCurves(figures: ({ layout?: { meta?: CardMeta } } | null)[]) {
    const inputs = callbackContext().inputs_list[0] as { id: { key: string } }[];
    figures.forEach((figure, i) => {
      const { key } = inputs[i].id;
      const meta = figure?.layout?.meta;
      const fill = pageCards.find("pr_curves", key)?.querySelector<HTMLElement>(".fill");
      if (!meta?.view || !fill) return;
      const card = cards.get(key) ?? { key, meta, parts: null, moving: null, dots: [] };
      if (card.meta === meta && card.parts?.fill.isConnected) return;
      card.meta = meta;
      cards.set(key, card);
      refresh(card, fill);
    });
    return noUpdate();
  },
  /** Applies the toolbar settings that need no redrawing. */
  adjustPrCurves() {
    const root = document.getElementById("pr_curves-panel");
    if (root) {
      root.dataset.view = view.read(settings.view);
      root.dataset.matrix = view.read(settings.matrix) ? "on" : "off";
    }
    for (const card of cards.values()) {
      if (!card.parts?.fill.isConnected || card.meta.view === "steps") continue;
      placeSliders(card);
      placeDots(card);
    }
    return noUpdate();
  },
});
