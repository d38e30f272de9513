// Small boxes beside a control: one at a time, closed by Escape, a click elsewhere, or another box.
import { beforeAll, bind, type Bindings } from "./commands.ts";
import { icon, make } from "./dom.ts";

let open:
  | { box: HTMLElement; anchor: HTMLElement; back: HTMLElement | null; atEnd?: boolean; onClose?: () => void }
  | null = null;

function close(giveFocus = true) {
  if (!open) return;
  const { box, anchor, back, onClose } = open;
  open = null;
  box.remove();
  anchor.removeAttribute("aria-expanded");
  if (giveFocus && back && back.isConnected) back.focus({ preventScroll: true });
  if (onClose) onClose();
}

/** The area that a box is placed below or above. */
export interface Place {
  left: number;
  /** For a box that is aligned to the right edge. */
  right?: number;
  top: number;
  bottom: number;
}

/** Places a box below the anchor, or above it if there is more room; always inside the window. */
function place(box: HTMLElement, at: Place, atEnd = false) {
  const margin = 8;
  const { width, height } = box.getBoundingClientRect();
  const below = innerHeight - at.bottom - margin;
  const above = at.top - margin;
  const top = height <= below || below >= above ? at.bottom + 4 : at.top - Math.min(height, above) - 4;
  box.style.maxHeight = Math.max(below, above) - 4 + "px";
  const left = atEnd && at.right !== undefined ? at.right - width : at.left;
  box.style.left = Math.max(margin, Math.min(left, innerWidth - width - margin)) + "px";
  box.style.top = Math.max(margin, top) + "px";
}

/** Wraps the entries in a menu, followed by everything that is not an entry, such as a field. */
function inMenu(label: string, content: Node[]): Node[] {
  const isEntry = (part: Node) => part instanceof HTMLElement && part.role?.startsWith("menuitem");
  const list = make("div", { role: "menu", "aria-label": label }, ...content.filter(isEntry));
  return [...(list.childElementCount ? [list] : []), ...content.filter((part) => !isEntry(part))];
}

/**
 * Opens a box with the given content beside an element.
 * @param label the name of the box
 */
function show(
  anchor: HTMLElement,
  label: string,
  content: Node[],
  options: {
    role?: string;
    className?: string;
    at?: Place;
    focus?: HTMLElement | null;
    /** Whether it is aligned to the right edge of the anchor. */
    atEnd?: boolean;
    onClose?: () => void;
  } = {},
) {
  const again = open && open.anchor === anchor && !options.at;
  close(false);
  if (again) return null;
  const box = make("div", {
    className: "beside-box " + (options.className || ""),
    role: "dialog",
    "aria-label": label,
    tabIndex: -1,
  }, ...(options.role === "menu" ? inMenu(label, content) : content));
  document.body.append(box);
  open = { box, anchor, back: document.activeElement as HTMLElement, atEnd: options.atEnd, onClose: options.onClose };
  anchor.setAttribute("aria-expanded", "true");
  place(box, options.at || anchor.getBoundingClientRect(), options.atEnd);
  const first = options.focus || box.querySelector<HTMLElement>("input, select, button") || box;
  first.focus({ preventScroll: true });
  return box;
}

/** Keys that move up and down the entries of a list. */
export function arrows(list: HTMLElement, entries: string): Bindings {
  const to = (place: (at: number, last: number) => number) => () => {
    const all = [...list.querySelectorAll<HTMLElement>(entries)];
    if (!all.length) return;
    const at = all.indexOf(document.activeElement as HTMLElement);
    all[(place(at, all.length - 1) + all.length) % all.length].focus();
  };
  return {
    ArrowDown: to((at) => at + 1),
    ArrowUp: to((at, last) => at < 0 ? last : at - 1),
    Home: to(() => 0),
    End: to((_at, last) => last),
  };
}

/** One of several options, of which one is chosen. */
export interface Choice {
  text: string;
  icon: string;
  chosen: boolean;
  act: () => void;
}

/**
 * Opens a menu.
 * @param entries each a text and its action, one of several choices, or a node
 */
function menu(
  anchor: HTMLElement,
  label: string,
  entries: ([string, () => void] | Choice | Node)[],
  at?: Place,
) {
  const buttons = entries.map((entry) => {
    if (entry instanceof Node) return entry;
    const [text, act] = Array.isArray(entry) ? entry : [entry.text, entry.act];
    const button = make("button", { className: "menu-entry", role: "menuitem" }, text);
    if (!Array.isArray(entry)) {
      button.prepend(icon(entry.icon, 15));
      button.setAttribute("role", "menuitemradio");
      button.setAttribute("aria-checked", String(entry.chosen));
    }
    button.addEventListener("click", () => {
      close();
      act();
    });
    return button;
  });
  const focus = buttons.find((button) => button instanceof HTMLElement && button.ariaChecked === "true");
  const box = show(anchor, label, buttons, {
    role: "menu",
    className: "entries",
    at,
    focus: focus as HTMLElement | undefined,
  });
  if (box) bind(box, arrows(box, "[role^=menuitem]"));
  return box;
}

let presses = 0;
document.addEventListener("pointerdown", (event) => {
  presses += 1;
  if (open && ![open.box, open.anchor].some((part) => part.contains(event.target as Node))) close(false);
}, true);
// Before all other handlers, so that Escape closes the box and does nothing else.
beforeAll((event) => {
  presses += 1;
  if (!open || event.key !== "Escape") return false;
  close();
  return true;
});
window.addEventListener("resize", () => {
  if (open && open.anchor.isConnected && !open.box.classList.contains("entries")) {
    place(open.box, open.anchor.getBoundingClientRect(), open.atEnd);
  } else close(false);
});

export const popover = {
  show,
  menu,
  close,
  /** How often anything was pressed: a box that waits for its content is no longer wanted once this has changed. */
  presses: () => presses,
};
