// @ts-nocheck
// The mesh panel: drag to orbit, right drag or Shift to pan, wheel or pinch to zoom, and the same by keys.
import * as math from "./math.ts";
import { cameras } from "./cameras.ts";

const TURN = 0.4; // degrees for a pixel
const WHEEL_PAUSE_MS = 250;
const KEY_TURN = 10;
const KEY_PAN = 30; // pixels
const KEY_ZOOM = 1.2;

// A page that scrolls under the pointer goes on scrolling: a mesh zooms only if the turning began above it.
let lastWheel = { time: 0, canvas: null };
document.addEventListener(
  "wheel",
  (event) => {
    const canvas = event.target.closest && event.target.closest(".mesh-canvas");
    const goesOn = event.timeStamp - lastWheel.time < WHEEL_PAUSE_MS;
    lastWheel = { time: event.timeStamp, canvas: goesOn ? lastWheel.canvas : canvas };
  },
  { capture: true, passive: true },
);

const turned = (camera, x, y) => ({
  ...camera,
  az: camera.az - x * TURN,
  el: Math.min(90, Math.max(-90, camera.el + y * TURN)),
});
const zoomed = (camera, by) => ({ ...camera, zoom: Math.min(1e4, Math.max(1e-3, camera.zoom * by)) });

/** Moves what is seen by pixels. */
function panned(camera, x, y, seen) {
  const { right, up } = math.basis(camera, cameras.up());
  const by = seen.projection.perPixel * seen.ratio / seen.frame.radius;
  return { ...camera, pan: math.add(math.add(camera.pan, right, -x * by), up, y * by) };
}

/** @param card `seen` is how the card was drawn last, null before */
export function attach(
  canvas: HTMLCanvasElement,
  card: { camera: () => any; seen: () => any; move: (camera: any) => void; rest: () => void; reset: () => void },
) {
  const down: Map<number, { x: number; y: number }> = new Map();

  function drag(event) {
    const before = down.get(event.pointerId);
    if (!before || !card.seen()) return;
    const [x, y] = [event.clientX - before.x, event.clientY - before.y];
    if (down.size === 2) {
      const other = [...down].find(([id]) => id !== event.pointerId)[1];
      const far = (a) => Math.hypot(a.x - other.x, a.y - other.y) || 1;
      card.move(
        panned(
          zoomed(card.camera(), far({ x: event.clientX, y: event.clientY }) / far(before)),
          x / 2,
          y / 2,
          card.seen(),
        ),
      );
    } else if (event.buttons & 6 || event.shiftKey) card.move(panned(card.camera(), x, y, card.seen()));
    else card.move(turned(card.camera(), x, y));
    down.set(event.pointerId, { x: event.clientX, y: event.clientY });
  }

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    down.set(event.pointerId, { x: event.clientX, y: event.clientY });
  });
  canvas.addEventListener("pointermove", drag);
  for (const name of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(name, (event) => {
      down.delete(event.pointerId);
      card.rest();
    });
  }
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  canvas.addEventListener(
    "wheel",
    (event) => {
      if (lastWheel.canvas !== canvas || !card.seen()) return;
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 16 : 1;
      card.move(zoomed(card.camera(), Math.exp(-event.deltaY * lines * 0.0015)));
      card.rest();
    },
    { passive: false },
  );
  canvas.addEventListener("dblclick", () => card.reset());
  canvas.addEventListener("keydown", (event) => key(event, card));
}

function key(event, card) {
  if (!card.seen() || event.ctrlKey || event.metaKey || event.altKey) return;
  const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const camera = card.camera();
  if (event.key in arrows) {
    const [x, y] = arrows[event.key];
    if (event.shiftKey) card.move(panned(camera, x * KEY_PAN, y * KEY_PAN, card.seen()));
    else card.move(turned(camera, (x * KEY_TURN) / TURN, (y * KEY_TURN) / TURN));
  } else if (event.key === "+" || event.key === "=") card.move(zoomed(camera, KEY_ZOOM));
  else if (event.key === "-") card.move(zoomed(camera, 1 / KEY_ZOOM));
  else if (event.key === "r" || event.key === "R" || event.key === "0") card.reset();
  else return;
  event.preventDefault();
  card.rest();
}
