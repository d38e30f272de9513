/** The text panel: cards of texts, a search in all of them, and comparison of two texts. */
import { register } from "../../../web/core/commands.ts";
import { callbacks, noUpdate } from "../../../web/core/dash.ts";
import { view } from "../../../web/page/view.ts";
import * as cards from "./cards.ts";
import { bindSearch, commands } from "./commands.ts";
import * as diff from "./diff.ts";
import { sortAt } from "./entry.ts";
import * as search from "./search.ts";
import type { CardData } from "./messages.generated.ts";
import { settings } from "./settings.generated.ts";
import { api } from "./texts.ts";

/** Parameters that determine which texts are searched. */
const OF_RUNS_AND_TAGS = ["runs", "show", "hide", "run_filter", "tag_filter"];

let before = "";
let searched = "";

/** Applies the toolbar settings. */
function adjust(): void {
  const panel = document.querySelector(".panel.text");
  if (!panel) return;
  bindSearch();
  panel.classList.toggle("no-wrap", !view.read(settings.wrap));
  panel.classList.toggle("mono", view.read(settings.mono));
  const save = document.querySelector<HTMLAnchorElement>("#text-save");
  if (save) save.href = api.address("file", { query: view.params().toString() });
  const { find, regex, shown, link } = settings;
  const now = JSON.stringify([view.read(find), view.read(regex), view.read(shown), view.read(link)]);
  const params = view.params();
  const nowSearched = JSON.stringify([now, ...OF_RUNS_AND_TAGS.map((name) => params.getAll(name))]);
  if (nowSearched !== searched) search.start();
  if (now !== before) cards.fillAll();
  [before, searched] = [now, nowSearched];
  cards.followUrls();
  diff.fromUrl();
}

/** Shows the panel's first cards all at once: the heights of texts are unknown in advance, and no card should move. */
async function showFilled(filled: Promise<void>[]): Promise<void> {
  await Promise.allSettled(filled);
  document.querySelector<HTMLElement>(".panel.text")?.setAttribute("data-filled", "");
}

callbacks("stepscope", {
  drawTexts(all: (CardData | null)[]) {
    const filled = all.flatMap((data) => {
      const text = data && cards.draw(data);
      return text ? [text.then(() => search.arrived(data.key))] : [];
    });
    if (filled.length) showFilled(filled);
    return noUpdate();
  },
  adjustTexts() {
    adjust();
    return noUpdate();
  },
});
register({ panel: "text", title: "Text", commands });
document.addEventListener("click", sortAt);
document.addEventListener("click", cards.download);
