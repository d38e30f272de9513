/**
 * Touch on Plotly charts: a finger scrolls the page up and down, zooms sideways like a mouse, and taps.
 * Plotly's own listeners would keep the page from scrolling, and a tap from being a click.
 */
import { within } from "../core/dom.ts";

/** The least distance, in pixels, that counts as a sideways move. */
const SIDEWAYS = 8;

let start: PointerEvent | null = null;
let isZooming = false;

/** Presents the finger to Plotly as a mouse; it listens for a press on the chart, and for what follows on the page. */
function mouse(name: string, target: EventTarget, { clientX, clientY }: PointerEvent): void {
  const held = name === "mouseup" ? 0 : 1;
  target.dispatchEvent(new MouseEvent(name, { bubbles: true, cancelable: true, clientX, clientY, buttons: held }));
}

document.addEventListener("touchstart", (event) => {
  if (within(event, ".js-plotly-plot .drag")) event.stopPropagation();
}, { capture: true, passive: true });

document.addEventListener("pointerdown", (event) => {
  if (event.pointerType !== "touch") return;
  giveUp();
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

/** Ends a gesture where it began, so that nothing is zoomed. */
function giveUp(): void {
  if (start && isZooming) mouse("mousemove", document, start);
  end(start);
}

function end(last: PointerEvent | null): void {
  if (last && isZooming) mouse("mouseup", document, last);
  start = null;
  isZooming = false;
}

document.addEventListener("pointerup", (event) => start?.pointerId === event.pointerId && end(event));
document.addEventListener("pointercancel", (event) => start?.pointerId === event.pointerId && giveUp());
