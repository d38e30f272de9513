/** Parts of the boxes that open from the sidebar. */
import { pageTextWidth } from "../../web/core/canvas_text.ts";
import { make } from "../../web/core/dom.ts";
import { shortNames } from "../../web/core/names.ts";

const MOST_LISTED = 300;

export function button(
  text: string,
  className: string,
  act: () => void,
  props?: Record<string, unknown>,
): HTMLButtonElement {
  const found = make("button", { className, type: "button", ...props }, text);
  found.addEventListener("click", act);
  return found;
}

/**
 * A list for choosing one option; `pick` gets its value.
 * @param options values and labels
 */
export function select<T extends string>(
  label: string,
  options: readonly (readonly [T, string])[],
  chosen: T,
  pick: (value: T) => void,
): HTMLElement {
  const found = make(
    "select",
    { "aria-label": label },
    ...options.map(([name, text]) => make("option", { value: name, selected: name === chosen }, text)),
  );
  found.addEventListener("change", () => pick(options[found.selectedIndex][0]));
  return make("label", { className: "row" }, make("span", {}, label), found);
}

/** A checkbox or, given a name, one of the radio buttons with that name. */
export function check(label: string, on: boolean, pick: (on: boolean) => void, name?: string): HTMLElement {
  const input = make("input", { type: name ? "radio" : "checkbox", checked: on, name: name ?? "" });
  input.addEventListener("change", () => pick(input.checked));
  return make("label", { className: "check", title: label }, input, make("bdi", {}, label));
}

/** Shortens names to the room in a box of the sidebar. */
export function fitted(names: readonly string[]): (name: string) => string {
  const short = shortNames(names, Math.min(340, innerWidth - 200), (text) => pageTextWidth(text, "13px"));
  return (name) => short.get(name) ?? name;
}

/** A list, with a search field above it if it is long. */
export function searchable(
  label: string,
  entries: { text: string; element: HTMLElement }[],
  empty: string,
): { field: HTMLInputElement | null; parts: HTMLElement[] } {
  const list = make("div", { className: "choices", role: "group", "aria-label": label });
  const field = make("input", {
    type: "search",
    className: "text-field",
    placeholder: "Search",
    "aria-label": "Search " + label.toLowerCase(),
  });
  const show = () => {
    const wanted = field.value.trim().toLowerCase();
    const found = entries.filter((entry) => entry.text.toLowerCase().includes(wanted));
    list.replaceChildren(...found.slice(0, MOST_LISTED).map((entry) => entry.element));
    const say = (text: string) => list.append(make("p", { className: "hint" }, text));
    if (found.length > MOST_LISTED) say(`${found.length - MOST_LISTED} more: search for them`);
    if (!found.length) say(entries.length ? "No matches" : empty);
  };
  field.addEventListener("input", show);
  show();
  return entries.length > 8 ? { field, parts: [field, list] } : { field: null, parts: [list] };
}
