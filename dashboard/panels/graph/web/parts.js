/** Small parts that the Graph panel's boxes are made of. */
import * as frame from "../../../web/page/layout.js";
import { elements } from "../../../web/core/dom.js";

/** @param {string} text @param {string} title @param {(event: MouseEvent) => void} action @param {string} [className] @returns {HTMLButtonElement} */
export function button(text, title, action, className = "") {
  const made = elements.make("button", { type: "button", className: `graph-button ${className}`, title }, text);
  if (text.length === 1) made.setAttribute("aria-label", title);
  made.addEventListener("click", action);
  return made;
}

/** A head and what stands below it. @param {string} title @param {...(Node | string)} children */
export const section = (title, ...children) => elements.make("section", { className: "graph-section" }, elements.make("h4", {}, title), ...children);

/** Names and values. @param {[string, Node | string][]} rows */
export const facts = (rows) => elements.make("dl", { className: "graph-facts" }, ...rows.flatMap(([name, value]) => [elements.make("dt", {}, name), elements.make("dd", {}, value)]));

/** @param {string} text @param {string} name */
export function saveText(text, name) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  save(url, name);
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

/** @param {string} href @param {string} name */
export function save(href, name) {
  const link = document.createElement("a");
  link.href = href;
  link.download = name;
  link.click();
}

export const copy = (/** @type {string} */ text, /** @type {string} */ said) => elements.toClipboard(text).then(() => frame.say(said));
