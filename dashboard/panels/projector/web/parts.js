/** Small parts that the Projector panel is made of, and how numbers are written in it. */
import { elements, storage } from "../../../web/core/dom.js";

export const make = (/** @type {any[]} */ ...args) => elements.make(...args);

/** @param {string} text @param {string} title @param {(event: MouseEvent) => void} action @param {string} [className] @returns {HTMLButtonElement} */
export function button(text, title, action, className = "") {
  const made = make("button", { type: "button", className: `pj-button ${className}`, title }, text);
  if (!/\w\w/.test(text)) made.setAttribute("aria-label", title);
  made.addEventListener("click", action);
  return made;
}

/** A button that is on or off. @param {string} text @param {string} title @param {(on: boolean) => void} action @param {string} [className] */
export function toggle(text, title, action, className = "") {
  const made = button(text, title, () => action(made.getAttribute("aria-pressed") !== "true"), `toggle ${className}`);
  return Object.assign(made, {
    show: (/** @type {boolean} */ on) => {
      made.classList.toggle("on", on);
      made.setAttribute("aria-pressed", String(on));
    },
  });
}

/** A button with an icon of assets/icons. @param {string} name @param {string} title @param {(event: MouseEvent) => void} action */
export function iconButton(name, title, action) {
  const made = make("button", { type: "button", className: "icon-button", title, "aria-label": title }, elements.icon(name, 13));
  made.addEventListener("click", action);
  return made;
}

/**
 * A row of choices, one of which is taken.
 * @param {string} label @param {[string, string, string?][]} options value, text, title
 * @param {(value: string) => void} action
 */
export function segmented(label, options, action) {
  const buttons = new Map(options.map(([value, text, title]) => {
    const made = make("button", { type: "button", className: "pj-segment", role: "radio", title: title ?? text, "aria-checked": "false" }, text);
    made.addEventListener("click", () => action(value));
    return [value, made];
  }));
  const element = make("div", { className: "pj-segments", role: "radiogroup", "aria-label": label }, ...buttons.values());
  element.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!by) return;
    const all = [...buttons.values()];
    const next = all[(all.indexOf(/** @type {any} */ (document.activeElement)) + by + all.length) % all.length];
    next.focus();
    next.click();
    event.preventDefault();
    event.stopPropagation();
  });
  return Object.assign(element, {
    show: (/** @type {string} */ chosen) => {
      for (const [value, made] of buttons) {
        made.setAttribute("aria-checked", String(value === chosen));
        made.tabIndex = value === chosen ? 0 : -1;
      }
    },
    of: (/** @type {string} */ value) => buttons.get(value),
  });
}

/** @param {string} label for a screen reader @param {(value: string) => void} action @param {string} [title] */
export function select(label, action, title = label) {
  const made = /** @type {HTMLSelectElement} */ (make("select", { className: "pj-select", title, "aria-label": label }));
  made.addEventListener("change", () => action(made.value));
  let known = "";
  return Object.assign(made, {
    /** @param {[string, string, boolean?][]} options value, text, whether it is disabled @param {string} value */
    show: (options, value) => {
      const text = JSON.stringify(options);
      if (text !== known) made.replaceChildren(...options.map(([one, said, disabled]) => make("option", { value: one, disabled: Boolean(disabled) }, said)));
      known = text;
      made.value = value;
    },
  });
}

/** A row: what it is called, with its explanation, and a control. @param {string} name @param {string} help @param {...Node} control */
export function field(name, help, ...control) {
  return make("label", { className: "pj-field", title: help }, make("span", { className: "pj-field-name" }, name), ...control);
}

/** @param {string} label @param {string} help @param {(on: boolean) => void} action */
export function check(label, help, action) {
  const input = /** @type {HTMLInputElement} */ (make("input", { type: "checkbox" }));
  input.addEventListener("change", () => action(input.checked));
  const text = make("span", {}, label);
  const element = make("label", { className: "pj-check", title: help }, input, text);
  return Object.assign(element, {
    input,
    show: (/** @type {boolean} */ on, disabled = false) => {
      input.checked = on;
      input.disabled = disabled;
    },
  });
}

/** A section that folds. @param {string} name @param {string} title @param {boolean} open @param {...(Node | string)} children */
export function fold(name, title, open, ...children) {
  const note = make("span", { className: "pj-fold-note" });
  const element = make("details", { className: "pj-section", open }, make("summary", {}, make("h3", {}, title), note), make("div", { className: "pj-section-body" }, ...children));
  const key = `stepscope-projector-fold-${name}`;
  const kept = storage.get(key);
  if (kept) element.open = kept === "1";
  element.addEventListener("toggle", () => storage.set(key, element.open ? "1" : "0"));
  return Object.assign(element, { note });
}

/** @param {string} href @param {string} name */
export function save(href, name) {
  const link = document.createElement("a");
  link.href = href;
  link.download = name;
  link.click();
}

/** @param {Blob} blob @param {string} name */
export function saveBlob(blob, name) {
  const url = URL.createObjectURL(blob);
  save(url, name);
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

const trimmed = (/** @type {string} */ text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
export const format = {
  integer: (/** @type {number} */ value) => Math.round(value).toLocaleString("en-US"),
  counted: (/** @type {number} */ count, /** @type {string} */ noun) => `${Math.round(count).toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`,
  /** Four digits that count. */
  number: (/** @type {number | null | undefined} */ value) => {
    if (value === null || value === undefined || Number.isNaN(value)) return "–";
    if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
    const size = Math.abs(value);
    if (Number.isInteger(value) && size < 1e6) return value.toLocaleString("en-US").replace("-", "−");
    if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(2).replace("-", "−");
    return trimmed(value.toPrecision(4)).replace("-", "−");
  },
  percent: (/** @type {number} */ share) => `${(share * 100).toFixed(share >= 0.0995 || share === 0 ? 1 : 2)}\u00a0%`,
  /** Seconds as "8 s", "3 min 20 s". */
  seconds: (/** @type {number} */ value) => {
    const whole = Math.max(Math.round(value), 0);
    if (whole < 60) return `${whole} s`;
    return whole < 3600 ? `${Math.floor(whole / 60)} min ${whole % 60} s` : `${Math.floor(whole / 3600)} h ${Math.floor(whole / 60) % 60} min`;
  },
  bytes: (/** @type {number} */ value) => (value < 1e6 ? `${(value / 1e3).toFixed(0)} kB` : `${(value / 1e6).toFixed(1)} MB`),
};
