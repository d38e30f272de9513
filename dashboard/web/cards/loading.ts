// What a card, or part of one, shows until it is drawn: that it is loading (cards.css), or why it could not be loaded.
import { make } from "../core/dom.ts";
import { messageOf } from "../core/request.ts";

/** Marks an element as drawn. */
export function ready(element: Element): void {
  element.setAttribute("aria-busy", "false");
  element.querySelector(":scope > .not-loaded")?.remove();
}

/** Marks an element as loading. */
export function busy(element: Element): void {
  ready(element);
  element.setAttribute("aria-busy", "true");
}

/** A button that retries. */
export function retryButton(again: () => unknown, className: "primary" | "quiet" = "primary"): HTMLButtonElement {
  const retry = make("button", { type: "button", className }, "Retry");
  retry.addEventListener("click", () => again());
  return retry;
}

/** Marks an element as not loaded: shows why, and lets the user retry. */
export function failed(element: Element, error: unknown, again: () => unknown): void {
  ready(element);
  const retry = retryButton(() => {
    busy(element);
    again();
  });
  element.append(make("div", { className: "not-loaded", role: "alert" }, `Not loaded: ${messageOf(error)}`, retry));
}
