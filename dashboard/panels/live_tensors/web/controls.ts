/** Controls for how live tensors are shown: which ones, how often, and on what scale. */
import { make } from "../../../web/core/dom.ts";
import type { Choice } from "../../../web/core/setting.ts";
import { view } from "../../../web/page/view.ts";
import { settings } from "./settings.generated.ts";

/** The ends of a fixed scale, the lower one first. */
export function limits(): [number, number] {
  const found = view.read(settings.limits).split(":").map(Number);
  return [Math.min(...found), Math.max(...found)];
}

export function field(label: string, placeholder: string, value: string, type: string): HTMLInputElement {
  return make("input", {
    type,
    className: "text-field",
    value,
    placeholder,
    spellcheck: false,
    autocomplete: type === "password" ? "new-password" : "off",
    "aria-label": label,
  });
}

export function controls(changed: () => void): HTMLElement[] {
  const names = field("Names of the arrays; * stands for any characters", "Names, such as layers.*", "", "search");
  names.value = view.read(settings.names);
  names.addEventListener("change", () => {
    view.write(settings.names, names.value.trim());
    changed();
  });
  const ends = field("Lowest and highest value of the scale, such as -1:1", "-1:1", view.read(settings.limits), "text");
  ends.classList.add("live-limits");
  ends.addEventListener("change", () => {
    if (!/^-?\d+(\.\d+)?(e[+-]?\d+)?:-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(ends.value.trim())) {
      return ends.setCustomValidity("Expected two numbers, such as -1:1"), void ends.reportValidity();
    }
    ends.setCustomValidity("");
    view.write(settings.limits, ends.value.trim());
    changed();
  });
  const fixed = () => (ends.hidden = view.read(settings.scale) !== "fixed");
  fixed();
  return [
    names,
    chooser("Maximum frames per second", settings.rate, {
      "0": "Paused",
      "1": "1 / s",
      "5": "5 / s",
      "10": "10 / s",
      "30": "30 / s",
    }, changed),
    chooser("What is shown", settings.show, { value: "Values", variance: "Changes" }, changed),
    chooser("Number of frames over which changes are measured", settings.window, {
      "4": "Changes over 4 frames",
      "8": "Changes over 8 frames",
      "32": "Changes over 32 frames",
    }, changed),
    chooser("Range of the color scale", settings.scale, {
      tensor: "Scale per array",
      section: "Scale per section",
      fixed: "Fixed scale",
    }, () => {
      fixed();
      changed();
    }),
    ends,
  ];
}

function chooser<T extends string>(
  label: string,
  setting: Choice<T>,
  texts: Readonly<Record<T, string>>,
  changed: () => void,
): HTMLSelectElement {
  const chosen = view.read(setting);
  const options = setting.options.map((value) => make("option", { value, selected: value === chosen }, texts[value]));
  const select = make("select", { "aria-label": label, title: label }, ...options);
  select.addEventListener("change", () => {
    view.write(setting, select.value as T);
    changed();
  });
  return select;
}
