// @ts-nocheck
/** Small parts that the Projector panel is made of, and how numbers are written in it. */
import { elements, storage } from "../../../web/core/dom.ts";

export const make = (...args: any[]) => elements.make(...args);

export function button(
  text: string,
  title: string,
  action: (event: MouseEvent) => void,
  className: string = "",
): HTMLButtonElement {
  const made = make("button", { type: "button", className: `pj-button ${className}`, title }, text);
  if (!/\w\w/.test(text)) made.setAttribute("aria-label", title);
  made.addEventListener("click", action);
  return made;
}

/** A button that is on or off. */
export function toggle(text: string, title: string, action: (on: boolean) => void, className: string = "") {
  const made = button(text, title, () => action(made.getAttribute("aria-pressed") !== "true"), `toggle ${className}`);
  return Object.assign(made, {
    show: (on: boolean) => {
      made.classList.toggle("on", on);
      made.setAttribute("aria-pressed", String(on));
    },
  });
}

/** A button with an icon of assets/icons. */
export function iconButton(name: string, title: string, action: (event: MouseEvent) => void) {
  const made = make(
    "button",
    { type: "button", className: "icon-button", title, "aria-label": title },
    elements.icon(name, 13),
  );
  made.addEventListener("click", action);
  return made;
}

/**
 * A row of choices, one of which is taken.
 * @param options value, text, title
 */
export function segmented(label: string, options: [string, string, string?][], action: (value: string) => void) {
  const buttons = new Map(options.map(([value, text, title]) => {
    const made = make("button", {
      type: "button",
      className: "pj-segment",
      role: "radio",
      title: title ?? text,
      "aria-checked": "false",
    }, text);
    made.addEventListener("click", () => action(value));
    return [value, made];
  }));
  const element = make(
    "div",
    { className: "pj-segments", role: "radiogroup", "aria-label": label },
    ...buttons.values(),
  );
  element.addEventListener("keydown", (event: KeyboardEvent) => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!by) return;
    const all = [...buttons.values()];
    const next = all[(all.indexOf(document.activeElement as any) + by + all.length) % all.length];
    next.focus();
    next.click();
    event.preventDefault();
    event.stopPropagation();
  });
  return Object.assign(element, {
    show: (chosen: string) => {
      for (const [value, made] of buttons) {
        made.setAttribute("aria-checked", String(value === chosen));
        made.tabIndex = value === chosen ? 0 : -1;
      }
    },
    of: (value: string) => buttons.get(value),
  });
}

/** @param label for a screen reader */
export function select(label: string, action: (value: string) => void, title: string = label) {
  const made = make("select", { className: "pj-select", title, "aria-label": label }) as HTMLSelectElement;
  made.addEventListener("change", () => action(made.value));
  let known = "";
  return Object.assign(made, {
    /** @param options value, text, whether it is disabled */
    show: (options: [string, string, boolean?][], value: string) => {
      const text = JSON.stringify(options);
      if (text !== known) {
        made.replaceChildren(
          ...options.map(([one, said, disabled]) => make("option", { value: one, disabled: Boolean(disabled) }, said)),
        );
      }
      known = text;
      made.value = value;
    },
  });
}

/** A row: what it is called, with its explanation, and a control. */
export function field(name: string, help: string, ...control: Node[]) {
  return make(
    "label",
    { className: "pj-field", title: help },
    make("span", { className: "pj-field-name" }, name),
    ...control,
  );
}

export function check(label: string, help: string, action: (on: boolean) => void) {
  const input = make("input", { type: "checkbox" }) as HTMLInputElement;
  input.addEventListener("change", () => action(input.checked));
  const text = make("span", {}, label);
  const element = make("label", { className: "pj-check", title: help }, input, text);
  return Object.assign(element, {
    input,
    show: (on: boolean, disabled = false) => {
      input.checked = on;
      input.disabled = disabled;
    },
  });
}

/** A section that folds. */
export function fold(name: string, title: string, open: boolean, ...children: ((Node | string))[]) {
  const note = make("span", { className: "pj-fold-note" });
  const element = make(
    "details",
    { className: "pj-section", open },
    make("summary", {}, make("h3", {}, title), note),
    make("div", { className: "pj-section-body" }, ...children),
  );
  const key = `stepscope-projector-fold-${name}`;
  const kept = storage.get(key);
  if (kept) element.open = kept === "1";
  element.addEventListener("toggle", () => storage.set(key, element.open ? "1" : "0"));
  return Object.assign(element, { note });
}

export function save(href: string, name: string) {
  const link = document.createElement("a");
  link.href = href;
  link.download = name;
  link.click();
}

export function saveBlob(blob: Blob, name: string) {
  const url = URL.createObjectURL(blob);
  save(url, name);
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

const trimmed = (text: string) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
export const format = {
  integer: (value: number) => Math.round(value).toLocaleString("en-US"),
  counted: (count: number, noun: string) =>
    `${Math.round(count).toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`,
  /** Four digits that count. */
  number: (value: number | null | undefined) => {
    if (value === null || value === undefined || Number.isNaN(value)) return "–";
    if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
    const size = Math.abs(value);
    if (Number.isInteger(value) && size < 1e6) return value.toLocaleString("en-US").replace("-", "−");
    if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(2).replace("-", "−");
    return trimmed(value.toPrecision(4)).replace("-", "−");
  },
  percent: (share: number) => `${(share * 100).toFixed(share >= 0.0995 || share === 0 ? 1 : 2)}\u00a0%`,
  /** Seconds as "8 s", "3 min 20 s". */
  seconds: (value: number) => {
    const whole = Math.max(Math.round(value), 0);
    if (whole < 60) return `${whole} s`;
    return whole < 3600
      ? `${Math.floor(whole / 60)} min ${whole % 60} s`
      : `${Math.floor(whole / 3600)} h ${Math.floor(whole / 60) % 60} min`;
  },
  bytes: (value: number) => (value < 1e6 ? `${(value / 1e3).toFixed(0)} kB` : `${(value / 1e6).toFixed(1)} MB`),
};
