/** The images panel: galleries by tag, by run and by step; a step and a sample for each card, or one step for all. */
import { register } from "../../../web/core/commands.ts";
import { noUpdate } from "../../../web/core/dash.ts";
import { within } from "../../../web/core/dom.ts";
import type { NumberSetting } from "../../../web/core/setting.ts";
import * as cards from "./cards.ts";
import { commands } from "./commands.ts";
import { zip } from "./downloads.ts";
import { linked, mounted, readUrl } from "./gallery.ts";
import * as large from "./large.ts";
import type { CardData } from "./messages.generated.ts";
import { crispAll } from "./pictures.ts";
import { settings } from "./settings.generated.ts";
import { read } from "./settings.ts";

let sizes = "";

/** Shows the value of a toolbar slider beside it. */
function say({ name }: NumberSetting, text: string): void {
  const shown = document.querySelector(`.adjusted[data-setting="${name}"]`);
  if (shown) shown.textContent = text;
}

/** Applies the toolbar settings as CSS. */
function adjust(): void {
  const root = document.documentElement;
  const { brightness, contrast } = settings;
  for (const [variable, setting] of [["--brightness", brightness], ["--contrast", contrast]] as const) {
    const value = read(setting);
    root.style.setProperty(variable, String(value));
    say(setting, Math.round(value * 100) + "%");
  }
  const isAdjusted = [brightness, contrast].some((setting) => read(setting) !== setting.default);
  root.classList.toggle("images-adjusted", isAdjusted);
  const width = read(settings.width);
  root.style.setProperty("--thumb", width + "px");
  say(settings.width, width + " px");
  root.dataset.imageSize = read(settings.size);
  const group = read(settings.group);
  const panel = document.getElementById("panel");
  if (panel && root.dataset.imageGroup && root.dataset.imageGroup !== group) panel.scrollTop = 0;
  root.dataset.imageGroup = group;
  const now = [width, root.dataset.imageSize, linked()].join();
  if (readUrl() || now !== sizes) {
    sizes = now;
    mounted().forEach((card) => card.parts?.strip?.refresh());
    cards.refreshAll();
  }
  crispAll();
}

export function drawImages(all: (CardData | null)[]) {
  readUrl();
  for (const data of all) if (data) cards.draw(data);
  cards.refreshShared();
  large.renew();
  return noUpdate();
}

export const resetAdjustments = () => [settings.brightness.default, settings.contrast.default];

export function adjustImages() {
  adjust();
  large.openFromUrl();
  return noUpdate();
}
register({ panel: "images", title: "Images", commands });
large.whenClosed(cards.moveTo);
addEventListener("resize", crispAll);
document.addEventListener("click", (event) => {
  const button = within<HTMLButtonElement>(event, "#images-zip");
  if (button) zip(button, cards.shown());
});
