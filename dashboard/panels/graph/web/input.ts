/** Input on the graph: turns mouse, touch, wheel and keys into calls to the panel. */
import { register } from "../../../web/core/commands.ts";
import { commandsOf } from "./commands.ts";
import { menuAt } from "./tools.ts";
import { still } from "../../../web/core/motion.ts";
import type { GraphPanel } from "./panel.ts";

const DRAG_THRESHOLD = 4;
/** A flung view slows down by this factor each millisecond. */
const FRICTION = 0.9955;
const LEAST_SPEED = 0.02;
const THROW_MS = 90;

export function attach(
  panel: GraphPanel,
  canvas: HTMLCanvasElement,
  signal: AbortSignal,
): { tick: (elapsed: number) => boolean } {
  const options = { signal };
  let drag: { from: { x: number; y: number }; last: { x: number; y: number }; moved: boolean } | null = null;
  /** Fingers on the canvas. */
  const fingers: Map<number, { x: number; y: number }> = new Map();
  /** Pixels per millisecond after a fling. */
  let speed = { x: 0, y: 0 };
  let trail: { x: number; y: number; time: number }[] = [];

  const where = (event: MouseEvent) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const stop = () => (speed = { x: 0, y: 0 });

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button > 1 || !panel.ready) return;
    canvas.focus({ preventScroll: true });
    stop();
    const at = where(event);
    if (event.pointerType === "touch") fingers.set(event.pointerId, at);
    drag = fingers.size === 2 ? null : { from: at, last: at, moved: false };
    if (fingers.size === 2) panel.remember();
    trail = [{ ...at, time: performance.now() }];
    canvas.setPointerCapture(event.pointerId);
  }, options);

  /** Two fingers: the content under them stays under them. */
  const pinch = (event: PointerEvent) => {
    const other = [...fingers].find(([id]) => id !== event.pointerId);
    const before = fingers.get(event.pointerId);
    if (!other || !before) return;
    const at = where(event);
    const [, fixed] = other;
    const gap = (one: { x: number; y: number }) => Math.max(Math.hypot(one.x - fixed.x, one.y - fixed.y), 12);
    panel.zoomBy(gap(at) / gap(before), { x: (at.x + fixed.x) / 2, y: (at.y + fixed.y) / 2 }, true);
    panel.view.pan((at.x - before.x) / 2, (at.y - before.y) / 2, true);
    panel.viewMoved = true;
    fingers.set(event.pointerId, at);
  };

  canvas.addEventListener("pointermove", (event) => {
    if (!panel.ready) return;
    if (fingers.size === 2) return pinch(event);
    const at = where(event);
    if (!drag) {
      panel.point(at);
      canvas.style.cursor = panel.hover || panel.hoverEdge ? "pointer" : "grab";
      return;
    }
    if (!drag.moved && Math.hypot(at.x - drag.from.x, at.y - drag.from.y) > DRAG_THRESHOLD) {
      drag.moved = true;
      panel.remember();
      panel.point(null);
    }
    if (!drag.moved) return;
    const now = performance.now();
    panel.view.pan(at.x - drag.last.x, at.y - drag.last.y, true);
    drag.last = at;
    trail.push({ ...at, time: now });
    trail = trail.filter((point) => now - point.time < THROW_MS);
    canvas.style.cursor = "grabbing";
    panel.viewMoved = true;
  }, options);

  canvas.addEventListener("pointerup", (event) => {
    fingers.delete(event.pointerId);
    if (!drag) return;
    const { moved, from } = drag;
    drag = null;
    canvas.style.cursor = "grab";
    if (moved) letGo(performance.now());
    else if (event.button === 0) panel.clickAt(from, event.shiftKey);
  }, options);

  /** Released while moving: the view keeps moving, slower and slower. */
  const letGo = (now: number) => {
    const [first] = trail;
    const last = trail[trail.length - 1];
    if (!first || still() || now - last.time > 40 || last.time - first.time < 8) return;
    const ms = last.time - first.time;
    speed = { x: (last.x - first.x) / ms, y: (last.y - first.y) / ms };
  };

  canvas.addEventListener("pointercancel", (event) => {
    fingers.delete(event.pointerId);
    drag = null;
  }, options);
  canvas.addEventListener("pointerleave", () => panel.point(null), options);
  canvas.addEventListener("dblclick", (event) => panel.ready && panel.openAt(where(event)), options);
  canvas.addEventListener("contextmenu", (event) => {
    if (!panel.ready) return;
    event.preventDefault();
    menuAt(panel, where(event), { x: event.clientX, y: event.clientY });
  }, options);
  canvas.addEventListener("wheel", (event) => {
    if (!panel.ready) return;
    event.preventDefault();
    stop();
    panel.remember();
    const pixels = event.deltaMode === 1 ? 30 : event.deltaMode === 2 ? 400 : 1;
    const [dx, dy] = [event.deltaX * pixels, event.deltaY * pixels];
    if (event.shiftKey || Math.abs(dx) > Math.abs(dy) * 1.5) panel.view.pan(-(dx || dy), dx ? -dy : 0, true);
    else {panel.zoomBy(
        Math.exp(-Math.max(Math.min(dy, 200), -200) * (event.ctrlKey && Math.abs(dy) < 20 ? 0.02 : 0.0035)),
        where(event),
        Math.abs(dy) < 60,
      );}
    panel.viewMoved = true;
  }, { ...options, passive: false });

  register({ panel: "graph", title: "Graph", commands: commandsOf(panel, canvas) }, signal);

  /**
   * Advances a flung view; true while it is moving.
   * @param elapsed ms
   */
  const tick = (elapsed: number) => {
    if (!speed.x && !speed.y) return false;
    const ms = Math.min(elapsed, 50);
    panel.view.pan(speed.x * ms, speed.y * ms, true);
    const slower = FRICTION ** ms;
    speed = { x: speed.x * slower, y: speed.y * slower };
    if (Math.hypot(speed.x, speed.y) < LEAST_SPEED) stop();
    return true;
  };
  return { tick };
}
