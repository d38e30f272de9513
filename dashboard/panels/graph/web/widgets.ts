/** Small building blocks of the Graph panel's boxes. */
import { elements } from "../../../web/core/dom.ts";

export function button(
  text: string,
  title: string,
  action: (event: MouseEvent) => void,
  className: string = "",
): HTMLButtonElement {
  const made = elements.make("button", { type: "button", className: `graph-button ${className}`, title }, text);
  if (text.length === 1) made.setAttribute("aria-label", title);
  made.addEventListener("click", action);
  return made;
}

/** A heading and the content below it. */
export const section = (title: string, ...children: ((Node | string))[]) =>
  elements.make("section", { className: "graph-section" }, elements.make("h4", {}, title), ...children);

/** Names and values. */
export const facts = (rows: [string, Node | string][]) =>
  elements.make(
    "dl",
    { className: "graph-facts" },
    ...rows.flatMap(([name, value]) => [elements.make("dt", {}, name), elements.make("dd", {}, value)]),
  );
