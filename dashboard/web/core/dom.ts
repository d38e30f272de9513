/** Parts of the page that its scripts make, what they read of it, and what the browser remembers. */

import { runName } from "./names.ts";

export type Child = Node | string;

/** An element: `make("div", {className: "x"}, child, "text")`. What is not a property of it becomes an attribute. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props?: Record<string, unknown> | null,
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (name in element) Reflect.set(element, name, value);
    else element.setAttribute(name, String(value));
  }
  element.append(...children);
  return element;
}

/** An icon by the name of its file, in the color of the text around it. */
export function icon(name: string, size = 14): HTMLSpanElement {
  const span = make("span", { className: "icon", "aria-hidden": "true" });
  span.style.setProperty("--icon", `var(--icon-${name})`);
  span.style.setProperty("--size", size + "px");
  return span;
}

/** A button that is an icon alone: its title is its name. */
export function iconButton(
  name: string,
  title: string,
  act: (event: MouseEvent) => void,
  size = 14,
): HTMLButtonElement {
  const made = make(
    "button",
    { type: "button", className: "icon-button", title, "aria-label": title },
    icon(name, size),
  );
  made.addEventListener("click", act);
  return made;
}

/** Gives a button that `iconButton` made another icon and name. */
export function becomes(button: HTMLButtonElement, name: string, title: string, size = 14): void {
  if (button.title === title) return;
  button.title = title;
  button.setAttribute("aria-label", title);
  button.replaceChildren(icon(name, size));
}

/** The element that an event happened in, or the nearest around it, that a selector describes. */
export function within<E extends HTMLElement = HTMLElement>(event: Event, selector: string): E | null {
  return event.target instanceof Element ? event.target.closest<E>(selector) : null;
}

/** Whether a scroll moves an element, if there is one. */
export const isScrolled = ({ target }: Event, element: Element | null): boolean =>
  target instanceof Node && target.contains(element);

/** A run's name with its color. */
export function runLabel(run: { run: string; light: string; dark: string }): HTMLSpanElement {
  const dot = make("i", { className: "run-dot" });
  dot.style.setProperty("--light", run.light);
  dot.style.setProperty("--dark", run.dark);
  return make("span", { className: "run-label", title: run.run }, dot, make("bdi", {}, runName(run.run)));
}

const ARRAYS = {
  i1: Int8Array,
  i2: Int16Array,
  i4: Int32Array,
  u1: Uint8Array,
  u2: Uint16Array,
  u4: Uint32Array,
  f4: Float32Array,
  f8: Float64Array,
};
export type Numbers = InstanceType<typeof ARRAYS[keyof typeof ARRAYS]>;
/** A typed array as base64 (dashboard/server/arrays.py). */
export interface NumbersSpec {
  dtype: keyof typeof ARRAYS;
  bdata: string;
}
const decoded = new WeakMap<NumbersSpec, Numbers>();

/** The numbers of a base64 typed array, decoded once. */
export function numbers(spec: NumbersSpec): Numbers {
  let array = decoded.get(spec);
  if (!array) {
    const bytes = Uint8Array.from(atob(spec.bdata), (c) => c.charCodeAt(0));
    array = new ARRAYS[spec.dtype](bytes.buffer);
    decoded.set(spec, array);
  }
  return array;
}

/** A moment in seconds since 1970: the time of today, the day with it where it is another. */
export function when(seconds: number): string {
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) return "no time";
  const day = date.toLocaleDateString("en-CA");
  const time = date.toLocaleTimeString("en-GB");
  return day === new Date().toLocaleDateString("en-CA") ? time : `${day} ${time}`;
}

/** A step's number with its thousands apart. */
export const stepText = (value: number): string => Number(value).toLocaleString("en-US");

/** Browsers give the clipboard only to pages of localhost or HTTPS; elsewhere the old way still works. */
export async function toClipboard(text: string): Promise<void> {
  if (navigator.clipboard) return await navigator.clipboard.writeText(text);
  const area = make("textarea", { value: text });
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

export const storage = {
  /** What the browser remembers under a key; null where it has nothing, or refuses, as it may in a frame. */
  get(key: string): string | null {
    try {
      return localStorage.getItem(key);
    } catch {
      return null;
    }
  },
  set(key: string, value: string): void {
    try {
      localStorage.setItem(key, value);
    } catch {
      // It is forgotten with the page.
    }
  },
};

/** The same by the names under which most modules know them. */
export const elements = { make, icon, runLabel, numbers, when, toClipboard, step: stepText };
