/** The images panel: galleries by tag, by run and by step; a step and a sample for each card, or one step for all. */
import { register } from "../../../web/core/commands.ts";
import { callbacks, noUpdate } from "../../../web/core/dash.ts";
import { within } from "../../../web/core/dom.ts";
import * as cards from "./cards.ts";
import { commands } from "./commands.ts";
import { zip } from "./downloads.ts";
import { type CardData, linked, mounted, readUrl } from "./gallery.ts";
import * as large from "./large.ts";
import { crispAll } from "./pictures.ts";
import * as settings from "./settings.ts";

let sizes = "";

/** Says the value of a slider of the toolbar beside it. */
function say(name: string, text: string): void {
  const shown = document.querySelector(`.adjusted[data-setting="images.${name}"]`);
  if (shown) shown.textContent = text;
}

/** What the toolbar says, as CSS. */
function adjust(): void {
  const root = document.documentElement;
  const factors = ["brightness", "contrast"].map((name) => {
    const value = settings.number(name, 1);
    root.style.setProperty("--" + name, String(value));
    say(name, Math.round(value * 100) + "%");
    return value;
  });
  root.classList.toggle("images-adjusted", factors.some((value) => value !== 1));
  const width = settings.number("width", 160);
  root.style.setProperty("--thumb", width + "px");
  say("width", width + " px");
  root.dataset.imageSize = settings.get("size") === "actual" ? "actual" : "fit";
  const group = settings.get("group") || "tag";
  const panel = document.getElementById("panel");
  if (panel && root.dataset.imageGroup && root.dataset.imageGroup !== group) panel.scrollTop = 0;
  root.dataset.imageGroup = group;
  const now = [width, root.dataset.imageSize, linked(), settings.get("at")].join();
  if (now !== sizes) {
    sizes = now;
    mounted().forEach((card) => card.parts?.strip?.refresh());
    cards.refreshAll();
  }
  crispAll();
}

callbacks("stepscope", {
  drawImages(all: (CardData | null)[]) {
    readUrl();
    for (const data of all) if (data) cards.draw(data);
    cards.refreshShared();
    large.renew();
    return noUpdate();
  },
  resetAdjustments: () => [1, 1],
  adjustImages() {
    adjust();
    large.openFromUrl();
    return noUpdate();
  },
});
register({ panel: "images", title: "Images", commands });
large.whenClosed(cards.moveTo);
addEventListener("resize", crispAll);
document.addEventListener("click", (event) => {
  const button = within<HTMLButtonElement>(event, "#images-zip");
  if (button) zip(button, cards.shown());
});
