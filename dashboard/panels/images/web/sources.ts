/** A row at the bottom of the large view: run, tag, step, sample and frame of one of its two pictures. */
import { tip } from "../../../web/core/commands.ts";
import { becomes, iconButton, make } from "../../../web/core/dom.ts";
import type { Choice, Slot } from "./compare_side.ts";
import { select } from "./controls.ts";
import { KEYS } from "./large_keys.ts";
import { settings } from "./settings.generated.ts";
import { read, write } from "./settings.ts";
import type { Catalog } from "./messages.generated.ts";
import { Stepper } from "./stepper.ts";

const FRACTIONS: Record<string, string | undefined> = { "0.25": "¼", "0.5": "½" };

export interface Source {
  element: HTMLElement;
  stepper: Stepper;
  refresh: () => void;
  turnSample: () => void;
}

/** Fills a list with names, keeping the chosen one even if it is no longer offered. */
function fill(choice: HTMLSelectElement, names: string[], value: string): void {
  const all = names.includes(value) ? names : [value, ...names];
  if (choice.dataset.names !== JSON.stringify(all)) {
    choice.dataset.names = JSON.stringify(all);
    choice.replaceChildren(...all.map((name) => make("option", { value: name }, name)));
  }
  choice.value = value;
}

/** @param moved called when the user has changed it */
export function makeSource(letter: "A" | "B", slot: Slot, catalog: () => Catalog, moved: (slot: Slot) => void): Source {
  const go = (news: Partial<Choice>) => slot.set(news).then(() => moved(slot));
  const run = make("select", { title: "Run (↑ ↓)", "aria-label": `Run of ${letter}`, className: "run-choice" });
  const tag = make("select", { title: "Tag", "aria-label": `Tag of ${letter}`, className: "tag-choice" });
  const stepper = new Stepper({
    positions: () => slot.points(),
    at: () => Math.max(slot.at(), 0),
    move: (at) => slot.move(at).then(() => moved(slot)),
    busy: () => slot.busy,
  }, `Step of ${letter}`);
  const which = make("button", { type: "button", className: "quiet which", title: tip(KEYS.next_sample) });
  const frameSlider = make("input", { type: "range", min: "0", step: "1", "aria-label": "Frame" });
  const frameAt = make("output", {});
  const playFrames = iconButton("play", tip({ ...KEYS.play_frames, title: "Play frames" }), () => slot.toggleFrames());
  const speed = select(
    "Speed of animations",
    settings.speed,
    (value) => "×" + (FRACTIONS[value] ?? value),
    (value) => write(settings.speed, value),
  );
  const frames = make(
    "span",
    { className: "frames", hidden: true },
    iconButton("left", tip(KEYS.previous_frame), () => slot.turnFrame(-1)),
    playFrames,
    iconButton("right", tip(KEYS.next_frame), () => slot.turnFrame(1)),
    frameSlider,
    frameAt,
    speed,
  );
  frameSlider.addEventListener("input", () => slot.showFrame(Number(frameSlider.value)));
  run.addEventListener("change", () => go({ run: run.value }));
  tag.addEventListener("change", () => go({ tag: tag.value }));
  which.addEventListener("click", turnSample);
  const name = make("b", { className: "letter" }, letter);
  const element = make("div", { className: "source" }, name, run, tag, stepper.element, which, frames);

  function turnSample() {
    const samples = slot.facts?.samples ?? 1;
    if (samples > 1) go({ sample: (slot.choice.sample + 1) % samples });
  }

  function refresh() {
    const { tags, runs } = catalog();
    const { choice } = slot;
    const place = tags.indexOf(choice.tag);
    const here = runs.find((entry) => entry.run === choice.run);
    fill(run, runs.filter((entry) => entry.tags.includes(place)).map((entry) => entry.run), choice.run);
    fill(tag, here ? here.tags.map((at) => tags[at]) : [], choice.tag);
    stepper.refresh();
    const samples = slot.facts?.samples ?? 1;
    which.hidden = samples < 2;
    which.textContent = `sample ${choice.sample + 1} of ${samples}`;
    frames.hidden = !slot.frames;
    if (!slot.frames) return;
    const { count, at, playing } = slot.frames;
    frameSlider.max = String(count - 1);
    frameSlider.value = String(at);
    frameAt.textContent = `${at + 1}/${count}`;
    const title = tip({ ...KEYS.play_frames, title: playing ? "Pause frames" : "Play frames" });
    becomes(playFrames, playing ? "stop" : "play", title);
    speed.value = read(settings.speed);
  }

  return { element, refresh, stepper, turnSample };
}
