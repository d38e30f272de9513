/** Drag to orbit, right drag or Shift to pan, wheel or pinch to zoom. */
import { within } from "../../../web/core/dom.ts";
import { cameras } from "./cameras.ts";
import type { Card, Seen } from "./card.ts";
import { moveCamera, resetCamera, rest } from "./loop.ts";
import { type Camera, panned, turned, zoomed } from "./orbit.ts";

const TURN = 0.4; // degrees per pixel
const WHEEL_PAUSE_MS = 250;

// A page that is scrolling keeps scrolling: a mesh zooms only if the wheel started turning above it.
let lastWheel: { time: number; canvas: Element | null } = { time: 0, canvas: null };
document.addEventListener(
  "wheel",
  (event) => {
    const goesOn = event.timeStamp - lastWheel.time < WHEEL_PAUSE_MS;
    lastWheel = { time: event.timeStamp, canvas: goesOn ? lastWheel.canvas : within(event, ".mesh-canvas") };
  },
  { capture: true, passive: true },
);

/** Moves the camera so that everything shifts by an offset in page pixels. */
export function shifted(camera: Camera, x: number, y: number, { projection, ratio, frame }: Seen): Camera {
  const by = projection.perPixel * ratio / frame.radius;
  return panned(camera, x * by, y * by, cameras.up());
}

export function attach(canvas: HTMLCanvasElement, card: Card): void {
  const down: Map<number, { x: number; y: number }> = new Map();

  function drag(event: PointerEvent): void {
    const before = down.get(event.pointerId);
    if (!before || !card.seen) return;
    const now = { x: event.clientX, y: event.clientY };
    const [x, y] = [now.x - before.x, now.y - before.y];
    const camera = cameras.of(card);
    const other = [...down].find(([id]) => id !== event.pointerId)?.[1];
    if (down.size === 2 && other) {
      const far = (finger: typeof now) => Math.hypot(finger.x - other.x, finger.y - other.y) || 1;
      moveCamera(card, shifted(zoomed(camera, far(now) / far(before)), x / 2, y / 2, card.seen));
    } else if (event.buttons & 6 || event.shiftKey) moveCamera(card, shifted(camera, x, y, card.seen));
    else moveCamera(card, turned(camera, x * TURN, y * TURN));
    down.set(event.pointerId, now);
  }

  function release(event: PointerEvent): void {
    down.delete(event.pointerId);
    rest();
  }

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    down.set(event.pointerId, { x: event.clientX, y: event.clientY });
  });
  canvas.addEventListener("pointermove", drag);
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  canvas.addEventListener(
    "wheel",
    (event) => {
      if (lastWheel.canvas !== canvas || !card.seen) return;
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 16 : 1;
      moveCamera(card, zoomed(cameras.of(card), Math.exp(-event.deltaY * lines * 0.0015)));
      rest();
    },
    { passive: false },
  );
  canvas.addEventListener("dblclick", () => resetCamera(card));
}
