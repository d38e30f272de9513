// Toolbars of panels in little room: beyond two rows, all but the first row goes behind a button. Also, rows of choices
// wider than the page (`side_scroll` in dashboard/page/controls.py): which ends have more, and what the arrows do.
import { icon, make, within } from "../core/dom.ts";

const BARS = ".toolbar:not(.profile-toolbar), .graph-toolbar, .timeline-toolbar, .pj-toolbar";
/** The height of two rows of controls and the space around them, in pixels. */
const MOST_HEIGHT = 98;

interface Fold {
  button: HTMLButtonElement;
  text: HTMLElement;
  open: boolean;
}
const known = new WeakMap<HTMLElement, Fold>();

function foldOf(bar: HTMLElement): Fold {
  const found = known.get(bar);
  if (found) return found;
  const text = make("span", {});
  const button = make("button", { type: "button", className: "quiet options" }, icon("filter"), text);
  const fold = { button, text, open: false };
  button.addEventListener("click", () => {
    fold.open = !fold.open;
    arrange(bar);
    button.focus();
  });
  known.set(bar, fold);
  return fold;
}

/** The controls of a toolbar, and of boxes in it that have no layout of their own; results in it stay visible. */
const itemsOf = (bar: Element): HTMLElement[] =>
  ([...bar.children] as HTMLElement[]).flatMap((item) =>
    item.matches(".options, [data-stays]") ? [] : getComputedStyle(item).display === "contents" ? itemsOf(item) : [item]
  );

function arrange(bar: HTMLElement): void {
  const fold = foldOf(bar);
  const { button, text } = fold;
  const items = itemsOf(bar).filter((item) => item.hasAttribute("data-folded") || item.offsetHeight > 0);
  items.forEach((item) => item.removeAttribute("data-folded"));
  bar.removeAttribute("data-fold");
  // Out of the way, but still on the page, since they may have the focus.
  const aside = [button, ...bar.querySelectorAll<HTMLElement>(":scope > [data-stays]")];
  for (const part of aside) part.style.position = "absolute";
  const folds = bar.offsetHeight > MOST_HEIGHT && items.length > 1;
  for (const part of aside) part.style.position = "";
  if (!folds) button.remove();
  else {
    bar.dataset.fold = fold.open ? "open" : "closed";
    if (!button.isConnected) bar.append(button);
    const below = (item: HTMLElement) => item.offsetTop >= items[0].offsetTop + items[0].offsetHeight;
    const foldAway = (item: HTMLElement) => item.toggleAttribute("data-folded", true);
    text.textContent = fold.open ? "Fewer" : "Options";
    if (!fold.open) {
      items.filter(below).forEach(foldAway);
      for (const item of items.slice(1).reverse()) if (below(button)) foldAway(item);
    }
    button.title = fold.open ? "Show only the first controls" : "Show all controls";
    button.setAttribute("aria-expanded", String(fold.open));
  }
  paintGutter(bar);
}

/** Extends the line below a sticky toolbar to its side, where the scrollbar is or would be. */
function paintGutter(bar: HTMLElement): void {
  const stays = bar.matches(".toolbar") && bar.offsetTop === 0 && bar.dataset.fold !== "open";
  document.getElementById("panel")?.style.setProperty("--toolbar", stays ? `${bar.offsetHeight}px` : "0px");
}

function markEnds(strip: Element): void {
  const row = strip.querySelector(".side-scroll-row");
  if (!row) return;
  const rest = row.scrollWidth - row.clientWidth - row.scrollLeft;
  strip.classList.toggle("more-before", row.scrollLeft > 1);
  strip.classList.toggle("more-after", rest > 1);
}

document.addEventListener("scroll", ({ target }) => {
  const strip = target instanceof Element ? target.closest(".side-scroll") : null;
  if (strip) markEnds(strip);
}, true);
document.addEventListener("click", (event) => {
  const arrow = within(event, ".side-scroll-arrow");
  const row = arrow?.parentElement?.querySelector(".side-scroll-row");
  row?.scrollBy({ left: row.clientWidth * (arrow!.matches(".before") ? -0.7 : 0.7), behavior: "smooth" });
});

const sizes = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (!target.isConnected) sizes.unobserve(target);
    else if (target instanceof HTMLElement && target.matches(BARS)) arrange(target);
    else if (target instanceof HTMLElement) {
      showChosen(target);
      markEnds(target.closest(".side-scroll")!);
    }
  }
});
const watched = new WeakSet<Element>();

function watch(element: Element, begin: () => void): void {
  if (watched.has(element)) return;
  watched.add(element);
  sizes.observe(element);
  begin();
}

const inSight = new WeakMap<Element, Element>();

/** Scrolls a row to the chosen option, once for each choice: after that, the row stays where the user scrolls it. */
function showChosen(row: HTMLElement): void {
  const chosen = row.querySelector("input:checked")?.nextElementSibling;
  // If the whole row is visible, there is nothing to do, unless it gets more options or less room.
  if (!chosen || row.scrollWidth <= row.clientWidth || inSight.get(row) === chosen) return;
  inSight.set(row, chosen);
  const [place, around] = [chosen.getBoundingClientRect(), row.getBoundingClientRect()];
  row.scrollLeft += place.left + place.width / 2 - around.left - around.width / 2;
}

function follow(): void {
  const panel = document.getElementById("panel");
  if (!panel) return;
  const bars = [...panel.querySelectorAll<HTMLElement>(BARS)];
  bars.forEach((bar) => watch(bar, () => arrange(bar)));
  if (!bars.length) panel.style.removeProperty("--toolbar");
  for (const row of panel.querySelectorAll<HTMLElement>(".side-scroll-row")) {
    watch(row, () => {});
    showChosen(row);
  }
}

let following = 0;
new MutationObserver(() => {
  following ||= requestAnimationFrame(() => {
    following = 0;
    follow();
  });
}).observe(document.documentElement, { childList: true, subtree: true });
