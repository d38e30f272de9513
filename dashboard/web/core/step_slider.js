// Sliders over the steps of a card (dashboard/panels/steps.py): the place is kept in the URL, the end follows new data.
import { elements } from "./dom.js";
import { view } from "../page/view.js";

const { make, numbers } = elements;
const WRITE_MS = 80;

/** Seconds as "4.2 s", "3 min 20 s", "2 h 5 min", "1 d 3 h". */
export function duration(seconds) {
  if (!Number.isFinite(seconds)) return "no time";
  if (Math.abs(seconds) < 60) return Number(seconds.toFixed(Math.abs(seconds) < 10 ? 2 : 1)) + " s";
  const whole = Math.round(Math.abs(seconds));
  const [d, h, m] = [Math.floor(whole / 86400), Math.floor(whole / 3600) % 24, Math.floor(whole / 60) % 60];
  const text = d ? `${d} d ${h} h` : h ? `${h} h ${m} min` : `${m} min ${whole % 60} s`;
  return (seconds < 0 ? "−" : "") + text;
}

/**
 * A moment in the words that an axis asks for.
 * @param {"step" | "relative" | "wall"} axis
 */
export function told(axis, step, seconds, wall) {
  if (axis === "relative") return duration(seconds);
  if (axis === "wall") return elements.when(wall);
  return "step " + elements.step(step);
}

/** The step that the URL has for a key, or null for the newest. */
export function chosen(setting, key) {
  for (const entry of view.values(setting)) {
    const at = entry.lastIndexOf(":");
    if (at >= 0 && entry.slice(0, at) === key && /^-?\d+$/.test(entry.slice(at + 1))) return Number(entry.slice(at + 1));
  }
  return null;
}

/** Writes `KEY:VALUE` into a list parameter, in place of what it had for the key; null takes it out. */
export function choose(setting, key, value) {
  view.update((_params, set) => {
    const rest = view.values(setting).filter((entry) => entry.slice(0, entry.lastIndexOf(":")) !== key);
    set(setting, value === null ? rest : [...rest, `${key}:${value}`]);
  });
}

/**
 * A slider over steps with its label.
 * @param {{setting: string, key: string, label: string}} options the URL's list parameter, and the key in it
 * @returns {{element: HTMLElement, update: (data: {steps: object, walls: object, seconds: object, of: number}, axis: string) => void}}
 */
function stepSlider({ setting, key, label }) {
  const input = make("input", { type: "range", min: "0", step: "1", className: "slider-input", "aria-label": label });
  const output = make("output", { className: "slider-at" });
  const element = make("div", { className: "step-slider" }, input, output);
  let data = null;
  let axis = "step";
  let writing = 0;

  function position() {
    const steps = numbers(data.steps);
    const wanted = chosen(setting, key);
    if (wanted === null) return steps.length - 1;
    let low = 0;
    let high = steps.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (steps[middle] <= wanted) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  function say(at) {
    const steps = numbers(data.steps);
    const [seconds, wall] = [numbers(data.seconds)[at], numbers(data.walls)[at]];
    output.textContent = told(axis, steps[at], seconds, wall);
    const offered = data.of > steps.length ? ` · ${steps.length.toLocaleString("en-US")} of ${data.of.toLocaleString("en-US")} steps offered` : "";
    input.title = output.title =
      `${at + 1} of ${steps.length} · step ${elements.step(steps[at])} · ${duration(seconds)} · ${elements.when(wall)}${offered}`;
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
    if (!writing) writing = setTimeout(write, WRITE_MS);
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
      // Under the hand the slider is ahead of the URL.
      const at = writing ? Math.min(Number(input.value), last) : position();
      input.max = String(last);
      input.value = String(at);
      input.disabled = last === 0;
      say(at);
    },
  };
}

export { stepSlider as slider };
