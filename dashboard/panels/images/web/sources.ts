// @ts-nocheck
// The images panel: a row of the large view's foot: run, tag, step, sample and frame of one of its two pictures.
import * as controls from "./controls.ts";
import * as settings from "./settings.ts";
import { elements } from "../../../web/core/dom.ts";
import { stepper as imagesStepper } from "./stepper.ts";

const { make, icon } = elements;

/**
 * @param letter "A" or "B"
 * @param slot as images_slot.js has it
 */
function makeSource(
  letter: string,
  slot: object,
  on: {
    catalog: () => { tags: string[]; runs: { run: string; light: string; dark: string; tags: number[] }[] };
    go: (slot: object, news: object) => void;
    moved: (slot: object) => void;
  },
) {
  const run = make("select", { title: "Run (↑ ↓)", "aria-label": `Run of ${letter}`, className: "run-choice" });
  const tag = make("select", { title: "Tag", "aria-label": `Tag of ${letter}`, className: "tag-choice" });
  const stepper = imagesStepper(
    {
      positions: () => (slot.series ? slot.series.points : []),
      at: () => (slot.series && slot.series.points.length ? slot.at() : 0),
      move: (at) => slot.move(at).then(() => on.moved(slot)),
      busy: () => slot.busy,
    },
    `Step of ${letter}`,
  );
  const which = make("button", { type: "button", className: "quiet which", title: "Next sample (S)" });
  const frames = make("span", { className: "frames", hidden: true });
  const frameButton = (name, title, act) => {
    const made = make("button", { type: "button", className: "icon-button", title }, icon(name, 14));
    made.addEventListener("click", act);
    return made;
  };
  const frameSlider = make("input", { type: "range", min: "0", step: "1", "aria-label": "Frame" });
  const frameAt = make("output", {});
  const playFrames = frameButton("play", "Play frames (P)", () => slot.playFrames(!slot.frames.playing));
  const speed = controls.select(
    "Speed of animations",
    { 0.25: "×¼", 0.5: "×½", 1: "×1", 2: "×2", 4: "×4" },
    "1",
    (value) => settings.set({ speed: value }),
  );
  frames.append(
    frameButton("left", "Previous frame (,)", () => slot.turnFrame(-1)),
    playFrames,
    frameButton("right", "Next frame (.)", () => slot.turnFrame(1)),
    frameSlider,
    frameAt,
    speed,
  );
  frameSlider.addEventListener("input", () => slot.turnFrame(Number(frameSlider.value), true));
  run.addEventListener("change", () => on.go(slot, { run: run.value }));
  tag.addEventListener("change", () => on.go(slot, { tag: tag.value }));
  which.addEventListener("click", turnSample);
  const element = make(
    "div",
    { className: "source" },
    make("b", { className: "letter" }, letter),
    run,
    tag,
    stepper.element,
    which,
    frames,
  );

  function turnSample() {
    if (!slot.facts || slot.facts.samples < 2) return;
    slot.set({ sample: (slot.sample + 1) % slot.facts.samples }).then(() => on.moved(slot));
  }

  function fill(select, names, value) {
    const all = names.includes(value) ? names : [value, ...names];
    if (select.dataset.names !== JSON.stringify(all)) {
      select.dataset.names = JSON.stringify(all);
      select.replaceChildren(...all.map((name) => make("option", { value: name }, name)));
    }
    select.value = value;
  }

  function refresh() {
    const { tags, runs } = on.catalog();
    const place = tags.indexOf(slot.tag);
    const here = runs.find((entry) => entry.run === slot.run);
    fill(run, runs.filter((entry) => entry.tags.includes(place)).map((entry) => entry.run), slot.run);
    fill(tag, here ? here.tags.map((at) => tags[at]) : [], slot.tag);
    stepper.refresh();
    const samples = slot.facts ? slot.facts.samples : 1;
    which.hidden = samples < 2;
    which.textContent = `sample ${slot.sample + 1} of ${samples}`;
    frames.hidden = !slot.frames;
    if (!slot.frames) return;
    frameSlider.max = String(slot.frames.count - 1);
    frameSlider.value = String(slot.frames.at);
    frameAt.textContent = `${slot.frames.at + 1}/${slot.frames.count}`;
    playFrames.title = (slot.frames.playing ? "Pause" : "Play") + " frames (P)";
    playFrames.replaceChildren(icon(slot.frames.playing ? "stop" : "play", 14));
    speed.value = settings.get("speed") || "1";
  }

  return { element, refresh, stepper, turnSample };
}

export { makeSource as source };
