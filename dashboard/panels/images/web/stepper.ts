// @ts-nocheck
// The images panel: a slider over steps with buttons, a field for a step's number, and play.
import * as settings from "./settings.ts";
import * as steps from "./steps.ts";
import { elements } from "../../../web/core/dom.ts";

const { make, icon } = elements;
const LONGEST_WAIT_MS = 3000;

/** what a stepper moves along */
export interface Track {
  positions: () => { step: number; nth: number }[];
  /** index of the position that is shown */
  at: () => number;
  move: (at: number) => void;
  /** whether pictures of the last move are still on their way */
  busy?: () => boolean;
}

/** A stepper; call `refresh` when the track changed. */
export function stepper(track: Track, label) {
  const button = (name, title, act) => {
    const made = make("button", { type: "button", className: "icon-button", title }, icon(name, 14));
    made.addEventListener("click", act);
    return made;
  };
  const last = () => track.positions().length - 1;
  const move = (at) => {
    said.textContent = "";
    track.move(Math.min(Math.max(at, 0), last()));
  };
  const previous = button("left", "Previous step (←)", () => move(track.at() - 1));
  const play = button("play", "Play", () => (timer ? stop() : start()));
  const next = button("right", "Next step (→)", () => move(track.at() + 1));
  previous.classList.add("act-previous");
  play.classList.add("act-play");
  next.classList.add("act-next");
  const slider = make("input", { type: "range", min: "0", step: "1", className: "steps", "aria-label": label });
  const field = make("input", {
    type: "text",
    inputMode: "numeric",
    className: "at",
    title: "Step: type one, the nearest that was logged is shown",
    "aria-label": label + ", typed",
    autocomplete: "off",
  });
  const said = make("output", { className: "said" });
  const element = make(
    "div",
    { className: "stepper" },
    previous,
    play,
    next,
    slider,
    make("label", { className: "step-label" }, make("span", {}, "step"), field),
    said,
  );
  let timer = 0;

  slider.addEventListener("input", () => move(Number(slider.value)));
  field.addEventListener("focus", () => field.select());
  field.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Enter") typed();
    else if (event.key === "Escape") refresh(true);
    else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      move(track.at() + (event.key === "ArrowUp" ? 1 : -1));
    }
  });
  field.addEventListener("change", typed);

  /** Goes to the step that was typed, or to the nearest, and says so. */
  function typed() {
    const wanted = Number(field.value.replace(/[,\s_]/g, ""));
    if (field.value.trim() === "" || !Number.isFinite(wanted)) {
      said.textContent = `“${field.value.slice(0, 20)}” is no step`;
      return refresh(true);
    }
    // Enter and leaving the field both come here: the second time there is nothing to do, and nothing to unsay.
    if (wanted === track.positions()[track.at()].step) return refresh(true);
    const at = steps.nearest(track.positions(), wanted, 0);
    const found = track.positions()[at].step;
    if (at !== track.at()) track.move(at);
    refresh(true);
    said.textContent = found === wanted ? "" : `no ${show(wanted)}, nearest is ${show(found)}`;
  }

  function start() {
    if (last() < 1) return;
    if (track.at() >= last()) track.move(0);
    let due = performance.now();
    const tick = () => {
      if (!element.isConnected) return stop();
      const now = performance.now();
      // Pictures that are on their way are waited for, so that each is seen.
      if (track.busy && track.busy() && now - due < LONGEST_WAIT_MS) return (timer = setTimeout(tick, 15));
      if (track.at() >= last()) return stop();
      track.move(track.at() + 1);
      due = now;
      timer = setTimeout(tick, 1000 / settings.number("rate", 5));
    };
    timer = setTimeout(tick, 1000 / settings.number("rate", 5));
    refresh();
  }

  function stop() {
    clearTimeout(timer);
    timer = 0;
    refresh();
  }

  function refresh(force) {
    const positions = track.positions();
    if (!positions.length) return;
    const at = track.at();
    const single = positions.length < 2;
    slider.max = String(positions.length - 1);
    slider.value = String(at);
    slider.disabled = field.disabled = single;
    for (const part of [previous, play, next]) part.hidden = single;
    previous.disabled = at <= 0;
    next.disabled = at >= positions.length - 1;
    play.title = timer ? "Pause" : "Play";
    play.replaceChildren(icon(timer ? "stop" : "play", 14));
    const step = show(positions[at].step);
    if (force || document.activeElement !== field || single) field.value = step;
    field.style.width = Math.max(3, step.length) + 2 + "ch";
    slider.title = `${at + 1} of ${positions.length} steps`;
    slider.setAttribute("aria-valuetext", "step " + step);
  }

  return {
    element,
    refresh,
    move: (by) => move(track.at() + by),
    to: move,
    last,
    toggle: () => (timer ? stop() : start()),
    stop,
  };
}

const show = (step) => elements.step(step);
