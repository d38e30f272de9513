/**
 * What a finger does on a chart of Plotly: up and down it scrolls the page, sideways it zooms as a mouse does, and it taps.
 * Plotly's own listeners would keep the page from scrolling, and a tap from being a click.
 */
import { within } from "../core/dom.ts";

/** Pixels from which on a move is one. */
const SIDEWAYS = 8;

let start: PointerEvent | null = null;
let isZooming = false;

/** Tells Plotly of the finger as of a mouse; it listens to the chart for a press, and to the page for what follows. */
function mouse(name: string, target: EventTarget, { clientX, clientY }: PointerEvent): void {
  const held = name === "mouseup" ? 0 : 1;
  target.dispatchEvent(new MouseEvent(name, { bubbles: true, cancelable: true, clientX, clientY, buttons: held }));
}

document.addEventListener("touchstart", (event) => {
  if (within(event, ".js-plotly-plot .drag")) event.stopPropagation();
}, { capture: true, passive: true });

document.addEventListener("pointerdown", (event) => {
  if (event.pointerType !== "touch") return;
  start = event.isPrimary && within(event, ".js-plotly-plot .drag") ? event : null;
}, true);

document.addEventListener("pointermove", (event) => {
  if (start?.pointerId !== event.pointerId || !start.target) return;
  if (!isZooming) {
    const [dx, dy] = [Math.abs(event.clientX - start.clientX), Math.abs(event.clientY - start.clientY)];
    if (dx < SIDEWAYS || dx < dy) return;
    isZooming = true;
    mouse("mousedown", start.target, start);
  }
  mouse("mousemove", document, event);
});

function end(event: PointerEvent): void {
  if (start?.pointerId !== event.pointerId) return;
  // A gesture that the browser took back ends where it began, which zooms into nothing.
  if (isZooming) mouse("mouseup", document, event.type === "pointercancel" ? start : event);
  start = null;
  isZooming = false;
}
document.addEventListener("pointerup", end);
document.addEventListener("pointercancel", end);
