// Sliders over a card's steps (dashboard/panels/steps.py): the URL keeps the position, and the end follows new data.
import { integer } from "../core/numbers.ts";
import { type Setting, withValue } from "../core/setting.ts";
import { make, numbers, type NumbersSpec, stepText, when } from "../core/dom.ts";
import { upperBound } from "../core/steps.ts";
import { view } from "../page/view.ts";

const WRITE_MS = 80;

export type Axis = "step" | "relative" | "wall";
/** What `StepData` in dashboard/panels/steps.py sends: columns of equal length, and how many steps there are. */
export interface StepData {
  steps: NumbersSpec;
  walls: NumbersSpec;
  seconds: NumbersSpec;
  of: number;
}

/** Seconds as "4.2 s", "3 min 20 s", "2 h 5 min", "1 d 3 h". */
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return "no time";
  const size = Math.abs(seconds);
  if (size < 60) return `${Number(seconds.toFixed(size < 10 ? 2 : 1))} s`.replace("-", "−");
  const whole = Math.round(size);
  const [d, h, m] = [Math.floor(whole / 86400), Math.floor(whole / 3600) % 24, Math.floor(whole / 60) % 60];
  const text = d ? `${d} d ${h} h` : h ? `${h} h ${m} min` : `${m} min ${whole % 60} s`;
  return (seconds < 0 ? "−" : "") + text;
}

/** A moment as text, in the form that an axis uses. */
export function reported(axis: Axis, step: number, seconds: number, wall: number): string {
  if (axis === "relative") return duration(seconds);
  if (axis === "wall") return when(wall);
  return "step " + stepText(step);
}

/** A list of `KEY:VALUE` entries. */
export type Keyed = Setting<readonly string[]>;

/** The step for a key in the URL, or null for the newest. */
export function chosen(setting: Keyed, key: string): number | null {
  for (const entry of view.read(setting)) {
    const at = entry.lastIndexOf(":");
    if (at >= 0 && entry.slice(0, at) === key && /^-?\d+$/.test(entry.slice(at + 1))) {
      return Number(entry.slice(at + 1));
    }
  }
  return null;
}

/** Writes `KEY:VALUE` into a list, replacing the key's previous entry; null removes it. */
export function choose(setting: Keyed, key: string, value: number | null): void {
  view.write(setting, withValue(view.read(setting), key, value));
}

/**
 * A slider over steps, with its label.
 * @param options the list in the URL, and the key in it
 */
function stepSlider(
  { setting, key, label }: { setting: Keyed; key: string; label: string },
): { element: HTMLElement; update: (data: StepData, axis: Axis) => void } {
  const input = make("input", { type: "range", min: "0", step: "1", className: "slider-input", "aria-label": label });
  const output = make("output", { className: "slider-at" });
  const element = make("div", { className: "step-slider" }, input, output);
  let data: StepData;
  let axis: Axis = "step";
  let writing = 0;

  function position() {
    const steps = numbers(data.steps);
    const wanted = chosen(setting, key);
    if (wanted === null) return steps.length - 1;
    return Math.max(upperBound(steps, wanted) - 1, 0);
  }

  function say(at: number) {
    const steps = numbers(data.steps);
    const [seconds, wall] = [numbers(data.seconds)[at], numbers(data.walls)[at]];
    output.textContent = reported(axis, steps[at], seconds, wall);
    const offered = data.of > steps.length ? ` · ${integer(steps.length)} of ${integer(data.of)} steps available` : "";
    input.title =
      output.title =
        `${at + 1} of ${steps.length} · step ${stepText(steps[at])} · ${duration(seconds)} · ${when(wall)}${offered}`;
    input.setAttribute("aria-valuetext", output.textContent);
  }

  function write() {
    clearTimeout(writing);
    writing = 0;
    const steps = numbers(data.steps);
    const at = Number(input.value);
    choose(setting, key, at >= steps.length - 1 ? null : steps[at]);
  }

  input.addEventListener("input", () => {
    say(Number(input.value));
    if (!writing) writing = window.setTimeout(write, WRITE_MS);
  });
  input.addEventListener("change", write);

  return {
    element,
    update(next, how) {
      data = next;
      axis = how;
      const last = numbers(data.steps).length - 1;
      element.hidden = last < 0;
      if (last < 0) return;
      // While it is being dragged, the slider is ahead of the URL.
      const at = writing ? Math.min(Number(input.value), last) : position();
      input.max = String(last);
      input.value = String(at);
      input.disabled = last === 0;
      say(at);
    },
  };
}

export { stepSlider as slider };
