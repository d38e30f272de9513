// Small boxes beside a control: one at a time, closed by Escape, a click elsewhere, or another one.
import { elements } from "./dom.js";

/** @type {{box: HTMLElement, anchor: HTMLElement, back: HTMLElement | null, onClose?: () => void} | null} */
let open = null;

function close(giveFocus = true) {
  if (!open) return;
  const { box, anchor, back, onClose } = open;
  open = null;
  box.remove();
  anchor.removeAttribute("aria-expanded");
  if (giveFocus && back && back.isConnected) back.focus({ preventScroll: true });
  if (onClose) onClose();
}

/** Below the anchor, or above it where there is more room; inside the window. */
function place(box, at) {
  const margin = 8;
  const { width, height } = box.getBoundingClientRect();
  const below = innerHeight - at.bottom - margin;
  const above = at.top - margin;
  const top = height <= below || below >= above ? at.bottom + 4 : at.top - Math.min(height, above) - 4;
  box.style.maxHeight = Math.max(below, above) - 4 + "px";
  box.style.left = Math.max(margin, Math.min(at.left, innerWidth - width - margin)) + "px";
  box.style.top = Math.max(margin, top) + "px";
}

/**
 * Opens a box with some content beside an element.
 * @param {HTMLElement} anchor
 * @param {string} label what the box is called
 * @param {Node[]} content
 * @param {{role?: string, className?: string, at?: {left: number, top: number, bottom: number}, focus?: HTMLElement | null, onClose?: () => void}} [options]
 */
function show(anchor, label, content, options = {}) {
  const again = open && open.anchor === anchor && !options.at;
  close(false);
  if (again) return null;
  const box = elements.make("div", { className: "beside-box " + (options.className || ""), role: options.role || "dialog", "aria-label": label, tabIndex: -1 }, ...content);
  document.body.append(box);
  open = { box, anchor, back: /** @type {HTMLElement} */ (document.activeElement), onClose: options.onClose };
  anchor.setAttribute("aria-expanded", "true");
  place(box, options.at || anchor.getBoundingClientRect());
  const first = options.focus || box.querySelector("input, select, button") || box;
  /** @type {HTMLElement} */ (first).focus({ preventScroll: true });
  return box;
}

/** Up and down among the entries of a list. */
function arrows(event, box, entries) {
  if (!["ArrowDown", "ArrowUp", "Home", "End"].includes(event.key)) return;
  const all = [...box.querySelectorAll(entries)];
  const at = all.indexOf(document.activeElement);
  const next = { ArrowDown: at + 1, ArrowUp: at < 0 ? all.length - 1 : at - 1, Home: 0, End: all.length - 1 }[event.key];
  event.preventDefault();
  if (all.length) all[(next + all.length) % all.length].focus();
}

/**
 * Opens a menu.
 * @param {HTMLElement} anchor
 * @param {string} label
 * @param {([string, () => void] | Node)[]} entries a text and what it does, or a part of the page
 * @param {{left: number, top: number, bottom: number}} [at]
 */
function menu(anchor, label, entries, at) {
  const buttons = entries.map((entry) => {
    if (entry instanceof Node) return entry;
    const button = elements.make("button", { className: "menu-entry", role: "menuitem" }, entry[0]);
    button.addEventListener("click", () => {
      close();
      entry[1]();
    });
    return button;
  });
  const box = show(anchor, label, buttons, { role: "menu", className: "entries", at });
  if (box) box.addEventListener("keydown", (event) => arrows(event, box, "[role=menuitem]"));
  return box;
}

let presses = 0;
document.addEventListener("pointerdown", (event) => {
  presses += 1;
  if (open && !open.box.contains(event.target) && !open.anchor.contains(event.target)) close(false);
}, true);
// First of all, so that Escape closes the box and does nothing else.
window.addEventListener("keydown", (event) => {
  presses += 1;
  if (!open || event.key !== "Escape") return;
  event.preventDefault();
  event.stopPropagation();
  close();
}, true);
window.addEventListener("resize", () => {
  if (open && open.anchor.isConnected && !open.box.classList.contains("entries")) place(open.box, open.anchor.getBoundingClientRect());
  else close(false);
});

export const popover = {
  show, menu, close, arrows,
  /** How often anything was pressed: a box that has to wait for its content is wanted no more where this has moved on. */
  presses: () => presses,
};
