/** Small building blocks of the Projector panel, and how it writes numbers. */
import { bind } from "../../../web/core/commands.ts";
import { type Child, make, storage } from "../../../web/core/dom.ts";
import { shortNumber } from "../../../web/core/numbers.ts";

export { make };

export function button(
  text: string,
  title: string,
  action: (event: MouseEvent) => void,
  className = "",
): HTMLButtonElement {
  const made = make("button", { type: "button", className: `pj-button ${className}`, title }, text);
  if (!/\w\w|\w \w/.test(text)) made.setAttribute("aria-label", title);
  made.addEventListener("click", action);
  return made;
}

/** A toggle button. */
export type Toggle = HTMLButtonElement & { show(on: boolean): void };
export function toggle(text: string, title: string, action: (on: boolean) => void, className = ""): Toggle {
  const made = button(text, title, () => action(made.getAttribute("aria-pressed") !== "true"), `toggle ${className}`);
  return Object.assign(made, {
    show(on: boolean) {
      made.classList.toggle("on", on);
      made.setAttribute("aria-pressed", String(on));
    },
  });
}

/** A row of choices, one of which is selected. */
export type Segments<V extends string = string> = HTMLDivElement & {
  show(chosen: string): void;
  of(value: V): HTMLButtonElement | undefined;
};
/** @param options value, text, title */
export function segmented<V extends string>(
  label: string,
  options: readonly (readonly [V, string, string?])[],
  action: (value: V) => void,
): Segments<V> {
  const buttons = new Map(options.map(([value, text, title = text]) => {
    const props = { type: "button", className: "pj-segment", role: "radio", title, "aria-checked": "false" };
    const made = make("button", props, text);
    made.addEventListener("click", () => action(value));
    return [value, made];
  }));
  const all = [...buttons.values()];
  const element = make("div", { className: "pj-segments", role: "radiogroup", "aria-label": label }, ...all);
  const go = (by: number) => {
    const next = all[(all.findIndex((one) => one === document.activeElement) + by + all.length) % all.length];
    next.focus();
    next.click();
  };
  bind(element, { ArrowRight: () => go(1), ArrowLeft: () => go(-1) });
  return Object.assign(element, {
    show(chosen: string) {
      for (const [value, made] of buttons) {
        made.setAttribute("aria-checked", String(value === chosen));
        made.tabIndex = value === chosen ? 0 : -1;
      }
    },
    of: (value: V) => buttons.get(value),
  });
}

/** Value, text, and whether it is disabled. */
export type Option = readonly [value: string, text: string, disabled?: boolean];
export type Select = HTMLSelectElement & { show(options: readonly Option[], value: string): void };
/** @param label for a screen reader */
export function select(label: string, action: (value: string) => void, title = label): Select {
  const made = make("select", { className: "pj-select", title, "aria-label": label });
  made.addEventListener("change", () => action(made.value));
  let known = "";
  return Object.assign(made, {
    show(options: readonly Option[], value: string) {
      const text = JSON.stringify(options);
      if (text !== known) {
        made.replaceChildren(
          ...options.map(([one, said, disabled = false]) => make("option", { value: one, disabled }, said)),
        );
      }
      known = text;
      made.value = value;
    },
  });
}

/** A row with a name, an explanation, and a control. */
export const field = (name: string, help: string, ...control: Node[]): HTMLLabelElement =>
  make(
    "label",
    { className: "pj-field", title: help },
    make("span", { className: "pj-field-name" }, name),
    ...control,
  );

export type Check = HTMLLabelElement & { input: HTMLInputElement; show(on: boolean, disabled?: boolean): void };
export function check(label: string, help: string, action: (on: boolean) => void): Check {
  const input = make("input", { type: "checkbox" });
  input.addEventListener("change", () => action(input.checked));
  const element = make("label", { className: "pj-check", title: help }, input, make("span", {}, label));
  return Object.assign(element, {
    input,
    show(on: boolean, disabled = false) {
      input.checked = on;
      input.disabled = disabled;
    },
  });
}

/** A collapsible section. */
export type Fold = HTMLDetailsElement & { note: HTMLSpanElement };
export function fold(name: string, title: string, open: boolean, ...children: Child[]): Fold {
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

/** A note below a control. */
export const remark = (text: string, className = ""): HTMLParagraphElement =>
  make("p", { className: `pj-note ${className}`.trim() }, text);

/** An error message. */
export const complaint = (text: string): HTMLParagraphElement =>
  make("p", { className: "pj-note bad", role: "alert" }, text);

export const format = {
  /** Four significant digits. */
  number(value: number | null | undefined): string {
    return value === null || value === undefined || Number.isNaN(value) ? "–" : shortNumber(value);
  },
  percent: (share: number): string => `${(share * 100).toFixed(share >= 0.0995 || share === 0 ? 1 : 2)}%`,
  /** Seconds as "8 s", "3 min 20 s". */
  seconds(value: number): string {
    const whole = Math.max(Math.round(value), 0);
    if (whole < 60) return `${whole} s`;
    return whole < 3600
      ? `${Math.floor(whole / 60)} min ${whole % 60} s`
      : `${Math.floor(whole / 3600)} h ${Math.floor(whole / 60) % 60} min`;
  },
};
