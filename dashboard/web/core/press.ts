/** Redrawing that waits for the pointer: a click or a drag ends on the element on which it began, or counts for nothing. */

/** What each pressed pointer was pressed on. */
const pressed = new Map<number, EventTarget | null>();
const waiting = new Map<Element, () => void>();

/** The browser shows the list of a select element itself, and the page does not hear of the release. */
const opensList = (target: EventTarget | null) => target instanceof Element && target.closest("select") !== null;

const isPressed = (element: Element) =>
  [...pressed.values()].some((target) => target instanceof Node && element.contains(target));

function release({ pointerId }: PointerEvent): void {
  // The click comes after the release.
  setTimeout(() => {
    pressed.delete(pointerId);
    for (const [element, draw] of [...waiting]) {
      if (isPressed(element)) continue;
      waiting.delete(element);
      draw();
    }
  });
}

if (typeof document !== "undefined") {
  document.addEventListener("pointerdown", (event) => {
    if (!opensList(event.target)) pressed.set(event.pointerId, event.target);
  }, true);
  document.addEventListener("pointerup", release, true);
  document.addEventListener("pointercancel", release, true);
  // A release outside the window may be missed.
  document.addEventListener("pointermove", (event) => {
    if (!event.buttons && pressed.has(event.pointerId)) release(event);
  }, true);
}

/** Calls `draw`, which replaces what is in `element`: at once, or while it is pressed, after the release; the last one counts. */
export function whenReleased(element: Element, draw: () => void): void {
  if (isPressed(element)) {
    waiting.set(element, draw);
    return;
  }
  waiting.delete(element);
  draw();
}
