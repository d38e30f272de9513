/** Elements that the page's scripts create, what they read from the page, and what the browser remembers. */

import { runName } from "./names.ts";

export type Child = Node | string;

/** An element: `make("div", {className: "x"}, child, "text")`. Anything that is not a property becomes an attribute. */
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

/**
 * Makes elements the children of a box, in order. Those already in their place are not moved, which would interrupt a
 * focus, a click or a drag inside them; nor is the one with the focus, around which the others move.
 */
export function arrange(box: Element, elements: readonly Element[]): void {
  const kept = new Set(elements);
  for (const child of [...box.children]) if (!kept.has(child)) child.remove();
  const focused = [...box.children].find((child) => child.contains(document.activeElement));
  if (focused) {
    const following = new Set(elements.slice(elements.indexOf(focused)));
    const before = [...box.children].slice(0, [...box.children].indexOf(focused));
    box.append(...before.filter((child) => following.has(child)));
  }
  elements.forEach((element, place) => {
    if (box.children[place] !== element) box.insertBefore(element, box.children[place] ?? null);
  });
}

/** An icon by its file name, in the color of the surrounding text. */
export function icon(name: string, size = 14): HTMLSpanElement {
  const span = make("span", { className: "icon", "aria-hidden": "true" });
  span.style.setProperty("--icon", `var(--icon-${name})`);
  span.style.setProperty("--size", size + "px");
  return span;
}

/** A button that consists only of an icon: its title is its accessible name. */
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

/** Changes the icon and name of a button made by `iconButton`. */
export function becomes(button: HTMLButtonElement, name: string, title: string, size = 14): void {
  if (button.title === title) return;
  button.title = title;
  button.setAttribute("aria-label", title);
  button.replaceChildren(icon(name, size));
}

/** The closest element that matches a selector, from the target of an event outward. */
export function within<E extends HTMLElement = HTMLElement>(event: Event, selector: string): E | null {
  return event.target instanceof Element ? event.target.closest<E>(selector) : null;
}

/** Whether a scroll event moves an element, if there is one. */
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

/** A moment, given in seconds since 1970, as a time, preceded by the date if it is not today. */
export function when(seconds: number): string {
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) return "no time";
  const day = date.toLocaleDateString("en-CA");
  const time = date.toLocaleTimeString("en-GB");
  return day === new Date().toLocaleDateString("en-CA") ? time : `${day} ${time}`;
}

/** A step number with thousands separators. */
export const stepText = (value: number): string => Number(value).toLocaleString("en-US");

/**
 * Copies a text. Browsers have no clipboard for pages that are neither on localhost nor HTTPS, and refuse it to most
 * frames of notebooks and editors; the old way works in both.
 * @throws Error if the browser allows neither
 */
export async function toClipboard(text: string): Promise<void> {
  try {
    return await navigator.clipboard.writeText(text);
  } catch {
    const focused = document.activeElement;
    const area = make("textarea", { value: text });
    document.body.append(area);
    area.select();
    const isCopied = document.execCommand("copy");
    area.remove();
    if (focused instanceof HTMLElement) focused.focus({ preventScroll: true });
    if (!isCopied) throw new Error("The browser does not allow this page to copy");
  }
}

export const storage = {
  /** The value the browser remembers under a key; null if there is none, or if it refuses, as it may in a frame. */
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
      // The value is forgotten when the page closes.
    }
  },
  remove(key: string): void {
    try {
      localStorage.removeItem(key);
    } catch {
      // Nothing was remembered.
    }
  },
};

/** The same functions under the names that most modules use. */
export const elements = { make, icon, runLabel, numbers, when, step: stepText };
