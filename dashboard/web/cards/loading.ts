// What is seen of a card, or a part of one, until it is drawn: that it is on its way (cards.css), or why it is not here.
import { make } from "../core/dom.ts";
import { messageOf } from "../core/request.ts";

/** It is drawn. */
export function ready(element: Element): void {
  element.setAttribute("aria-busy", "false");
  element.querySelector(":scope > .not-loaded")?.remove();
}

/** It is on its way. */
export function busy(element: Element): void {
  ready(element);
  element.setAttribute("aria-busy", "true");
}

/** A button that asks again. */
export function retryButton(again: () => unknown, className: "primary" | "quiet" = "primary"): HTMLButtonElement {
  const retry = make("button", { type: "button", className }, "Retry");
  retry.addEventListener("click", () => again());
  return retry;
}

/** It did not come: says why, and lets the user ask again. */
export function failed(element: Element, error: unknown, again: () => unknown): void {
  ready(element);
  const retry = retryButton(() => {
    busy(element);
    again();
  });
  element.append(make("div", { className: "not-loaded", role: "alert" }, `Not loaded: ${messageOf(error)}`, retry));
}
