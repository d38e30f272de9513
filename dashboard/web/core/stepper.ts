// A slider over points with a field for a step number, for text and clip cards. Its owner knows what a point is.
import { bind } from "./commands.ts";
import { iconButton, make, stepText } from "./dom.ts";

/** the points that a stepper moves along */
export interface Track {
  /** the number of points */
  count: () => number;
  /** the point that is shown */
  at: () => number;
  /** the step of that point, as text */
  said: () => string;
  /** further details about it */
  hint: () => string;
  move: (at: number) => void;
  /** goes to the point nearest to a step */
  typed: (step: number) => void;
  /** receives typed text that is not a number */
  mistyped?: (text: string) => void;
  /** called when the user has let go */
  settled: () => void;
}

/** The names of a stepper and its buttons. */
export interface Names {
  label: string;
  previous: string;
  next: string;
}
const NAMES: Names = { label: "Step", previous: "Previous step", next: "Next step" };

export function create(track: Track, names: Names = NAMES) {
  const previous = iconButton("left", names.previous, () => go(track.at() - 1));
  const next = iconButton("right", names.next, () => go(track.at() + 1));
  const slider = make("input", {
    type: "range",
    min: "0",
    step: "1",
    className: "track-slider",
    "aria-label": names.label,
  });
  const field = make("input", {
    type: "text",
    inputMode: "numeric",
    className: "track-field",
    title: "Type a step to show the nearest logged one",
    "aria-label": `${names.label}, typed`,
    autocomplete: "off",
  });
  /** Whether the user has typed in the field since it was last filled. */
  let edited = false;
  const label = make("label", { className: "track-label" }, make("span", {}, "step"), field);
  const element = make(
    "div",
    { className: "track" },
    previous,
    slider,
    next,
    label,
  );

  function go(at: number) {
    track.move(Math.min(Math.max(at, 0), track.count() - 1));
    track.settled();
  }

  function typed() {
    const wanted = Number(field.value.replace(/[,\s_]/g, ""));
    if (field.value.trim() !== "" && Number.isFinite(wanted)) track.typed(wanted);
    else track.mistyped?.(field.value);
    refresh(true);
  }

  slider.addEventListener("input", () => track.move(Number(slider.value)));
  slider.addEventListener("change", () => track.settled());
  field.addEventListener("focus", () => field.select());
  field.addEventListener("input", () => {
    edited = true;
  });
  field.addEventListener("change", typed);
  const step = (by: number) => () => {
    go(track.at() + by);
    refresh(true);
  };
  bind(field, {
    ArrowUp: step(1),
    ArrowDown: step(-1),
    Escape() {
      refresh(true);
      return false;
    },
  });

  /** Updates the parts to match the track. */
  function refresh(force = false) {
    const count = track.count();
    if (!count) {
      slider.disabled =
        field.disabled =
        previous.disabled =
        next.disabled =
          true;
      field.value = "";
      return;
    }
    const at = track.at();
    slider.max = String(count - 1);
    slider.value = String(at);
    slider.disabled = field.disabled = count < 2;
    previous.hidden = next.hidden = count < 2;
    previous.disabled = at <= 0;
    next.disabled = at >= count - 1;
    const said = track.said();
    if (force || !edited || document.activeElement !== field) {
      const isNews = field.value !== said;
      field.value = said;
      edited = false;
      // Else what is typed next would be appended to it.
      if (isNews && document.activeElement === field) field.select();
    }
    field.style.width = Math.max(3, said.length) + 2 + "ch";
    slider.setAttribute("aria-valuetext", "step " + said);
    slider.title = label.title = `${stepText(at + 1)} of ${stepText(count)} · ${track.hint()}`;
  }

  return { element, refresh };
}
