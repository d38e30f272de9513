/** The hand on the canvas: mouse, touch, wheel and keys, turned into calls of the panel. */
import * as rulers from "./rulers.ts";
import { register } from "../../../web/core/commands.ts";
import { groupsOf } from "./commands.ts";
import type { TimelinePanel } from "./panel.ts";

const DRAG_THRESHOLD = 4;
const HOLD_MS = 170;
const ZOOM_STEP = 1.6;
const PAN_STEP = 0.18;
const HELD_ZOOM_PER_S = 5.5;
const HELD_PAN_PER_S = 1.1;
/** A thrown view slows down by this factor each millisecond. */
const FRICTION = 0.9955;
const LEAST_SPEED = 0.02;
const THROW_MS = 90;

const still = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;

export function attach(
  panel: TimelinePanel,
  canvas: HTMLCanvasElement,
): { tick: (now: number, elapsed: number) => boolean; close: () => void } {
  const abort = new AbortController();
  const options = { signal: abort.signal };
  /** keys held down, with since when */
  const held: Map<string, number> = new Map();
  let drag: any = null;
  /** Fingers on the canvas. */
  const fingers: Map<number, { x: number; y: number }> = new Map();
  /** Pixels per millisecond after a throw, and what moved last. */
  let speed = 0;
  let trail: { x: number; time: number }[] = [];

  const where = (event: MouseEvent) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const perPixel = () => panel.viewport.span / (panel.scene.width - panel.scene.left);

  /** What a press at a point takes hold of. */
  const grip = (at: { x: number; y: number }, event: MouseEvent) => {
    const scene = panel.scene;
    const bar = rulers.scrollbarPlace(scene);
    if (bar && at.x >= bar.x - 2 && at.y > scene.top) return "scrollbar";
    if (at.x < scene.left - 3) return "label";
    if (at.x <= scene.left + 3) return "divider";
    if (at.y < rulers.MINIMAP_HEIGHT) return "minimap";
    if (at.y < scene.pinTop || event.altKey) return "box";
    return event.shiftKey !== panel.choosing ? "area" : "pan";
  };

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !panel.ready) return;
    canvas.focus({ preventScroll: true });
    speed = 0;
    const at = where(event);
    if (event.pointerType === "touch") fingers.set(event.pointerId, at);
    if (fingers.size === 2) {
      drag = null;
      panel.area.chosen = null;
      panel.viewport.remember(performance.now());
      return;
    }
    drag = {
      kind: grip(at, event),
      from: at,
      last: at,
      moved: false,
      time: panel.timeAt(at.x),
      view: [...panel.viewport.target],
    };
    if (drag.kind === "minimap") drag.inside = panel.insideMinimapView(at.x);
    if (drag.kind === "label") drag.band = panel.bandAt(at);
    trail = [{ x: at.x, time: performance.now() }];
    canvas.setPointerCapture(event.pointerId);
  }, options);

  /** Two fingers: what is under them stays under them. */
  const pinch = (event: PointerEvent) => {
    const other = [...fingers].find(([id]) => id !== event.pointerId);
    const before = fingers.get(event.pointerId);
    if (!other || !before) return;
    const at = where(event);
    const [, fixed] = other;
    const gap = (one: { x: number; y: number }) => Math.max(Math.hypot(one.x - fixed.x, one.y - fixed.y), 12);
    const now = performance.now();
    const middle = (before.x + fixed.x) / 2;
    panel.viewport.zoom(gap(at) / gap(before), panel.timeAt(middle), now, true);
    const by = ((at.x - before.x) / 2) * perPixel();
    panel.viewport.go(panel.viewport.start - by, panel.viewport.end - by, now, true);
    panel.scrollBy((before.y - at.y) / 2);
    fingers.set(event.pointerId, at);
    panel.changed();
  };

  canvas.addEventListener("pointermove", (event) => {
    if (!panel.ready) return;
    if (fingers.size === 2) return pinch(event);
    const at = where(event);
    if (drag && !drag.moved && Math.hypot(at.x - drag.from.x, at.y - drag.from.y) > DRAG_THRESHOLD) {
      drag.moved = true;
      if (["pan", "box", "minimap"].includes(drag.kind)) panel.viewport.remember(performance.now());
    }
    if (drag?.moved) {
      panel.hover = null;
      panel.tip.hide();
      dragTo(at);
    } else panel.point(at);
    if (!drag) canvas.style.cursor = cursorOf(at, event);
  }, options);

  const cursorOf = (at: { x: number; y: number }, event: MouseEvent) => {
    const kind = grip(at, event);
    if (kind === "divider") return "col-resize";
    if (kind === "label") return panel.bandAt(at) ? "pointer" : "default";
    if (kind === "minimap") return panel.insideMinimapView(at.x) ? "grab" : "crosshair";
    if (kind === "box" && rulers.stepAtPoint(panel.scene, at.x, at.y)) return "pointer";
    if (kind === "box" || kind === "area") return "crosshair";
    return kind === "pan" && panel.hover ? "pointer" : "default";
  };

  const dragTo = (at: { x: number; y: number }) => {
    const now = performance.now();
    const { viewport, scene } = panel;
    if (drag.kind === "pan") {
      const by = (at.x - drag.last.x) * perPixel();
      viewport.remember(now);
      viewport.go(viewport.start - by, viewport.end - by, now, true);
      panel.scrollBy(drag.last.y - at.y, drag.from.y < scene.top);
      trail.push({ x: at.x, time: now });
      trail = trail.filter((point) => now - point.time < THROW_MS);
      canvas.style.cursor = "grabbing";
    } else if (drag.kind === "box") {
      panel.box = [drag.time, panel.timeAt(Math.max(at.x, scene.left))];
    } else if (drag.kind === "area") {
      panel.area.draw([drag.time, panel.timeAt(Math.max(at.x, scene.left))], [drag.from.y, at.y]);
    } else if (drag.kind === "minimap") {
      viewport.remember(now);
      const to = panel.minimapTime(at.x);
      const from = panel.minimapTime(drag.from.x);
      if (drag.inside) viewport.go(drag.view[0] + to - from, drag.view[1] + to - from, now, true);
      else viewport.go(Math.min(from, to), Math.max(from, to), now, true);
    } else if (drag.kind === "divider") {
      panel.setLabelWidth(at.x);
    } else if (drag.kind === "label" && drag.band) {
      drag.drop = panel.dropAt(drag.band, at.y);
      canvas.style.cursor = "grabbing";
    } else if (drag.kind === "scrollbar") {
      const bar = rulers.scrollbarPlace(scene);
      if (bar) panel.scrollBy(((at.y - drag.last.y) / bar.travel) * (panel.contentHeight - (scene.height - scene.top)));
    }
    drag.last = at;
    panel.drop = drag.drop ? drag.drop.y : null;
    panel.changed();
  };

  canvas.addEventListener("pointerup", (event) => {
    fingers.delete(event.pointerId);
    if (!drag) return;
    const { kind, moved, from, drop, band } = drag;
    drag = null;
    panel.drop = null;
    const now = performance.now();
    const at = where(event);
    if (kind === "box" && moved && panel.box) {
      const [a, b] = panel.box;
      panel.box = null;
      panel.viewport.go(Math.min(a, b), Math.max(a, b), now);
    } else if (kind === "area" && moved) panel.area.ask();
    else if (kind === "pan" && moved) letGo(now);
    else if (kind === "label" && drop) panel.moveBand(band, drop.place);
    else if (!moved && kind === "label") panel.labelAt(from, event);
    else if (!moved && kind === "minimap") panel.viewport.centre(panel.minimapTime(from.x), now);
    else if (!moved && kind === "box") panel.rulerAt(from, event);
    else if (!moved && (kind === "pan" || kind === "area")) panel.clickAt(from);
    canvas.style.cursor = cursorOf(at, event);
    panel.changed();
  }, options);

  /** The hand lets go while it moves: the view goes on, slower and slower. */
  const letGo = (now: number) => {
    const [first] = trail;
    const last = trail[trail.length - 1];
    if (!first || still() || now - last.time > 40 || last.time - first.time < 8) return;
    speed = (last.x - first.x) / (last.time - first.time);
  };

  canvas.addEventListener("pointercancel", (event) => {
    fingers.delete(event.pointerId);
    drag = null;
    panel.box = panel.drop = null;
  }, options);
  canvas.addEventListener("pointerleave", () => panel.point(null), options);
  canvas.addEventListener("dblclick", (event) => {
    const at = where(event);
    if (panel.ready && at.x > panel.scene.left && at.y > panel.scene.pinTop) panel.zoomToAt(at);
  }, options);
  canvas.addEventListener("contextmenu", (event) => {
    if (!panel.ready) return;
    const at = where(event);
    if (panel.menuAt(at, { x: event.clientX, y: event.clientY })) event.preventDefault();
  }, options);

  canvas.addEventListener("wheel", (event) => {
    if (!panel.ready) return;
    const at = where(event);
    speed = 0;
    const pixels = event.deltaMode === 1 ? 30 : event.deltaMode === 2 ? 400 : 1;
    const dx = event.deltaX * pixels;
    const dy = event.deltaY * pixels;
    const now = performance.now();
    const onRuler = at.y < panel.scene.pinTop;
    if (event.ctrlKey || event.metaKey || onRuler) {
      event.preventDefault();
      panel.viewport.remember(now);
      panel.viewport.zoom(
        Math.exp(-Math.max(Math.min(dy, 200), -200) * (event.ctrlKey && Math.abs(dy) < 20 ? 0.02 : 0.004)),
        panel.timeAt(at.x),
        now,
        Math.abs(dy) < 60,
      );
    } else if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) {
      event.preventDefault();
      panel.viewport.remember(now);
      panel.viewport.pan((event.shiftKey && !dx ? dy : dx) / (panel.scene.width - panel.scene.left), now, true);
    } else if (panel.scrollBy(dy, at.y < panel.scene.top)) {
      event.preventDefault();
    }
    panel.changed();
  }, { ...options, passive: false });

  const anchor = () =>
    panel.timeAt(
      panel.cursor && panel.cursor.x >= panel.scene.left ? panel.cursor.x : (panel.scene.left + panel.scene.width) / 2,
    );
  const hold = (move: (now: number) => void) => (event: KeyboardEvent) => {
    speed = 0;
    if (!event.repeat) {
      const now = performance.now();
      panel.viewport.remember(now);
      move(now);
      held.set(event.key.toLowerCase(), now);
    }
  };
  const moves = {
    zoomIn: hold((now) => panel.viewport.zoom(ZOOM_STEP, anchor(), now)),
    zoomOut: hold((now) => panel.viewport.zoom(1 / ZOOM_STEP, anchor(), now)),
    panLeft: hold((now) => panel.viewport.pan(-PAN_STEP, now)),
    panRight: hold((now) => panel.viewport.pan(PAN_STEP, now)),
  };
  for (const group of groupsOf(panel, canvas, moves)) register(group, abort.signal);
  document.addEventListener("keyup", (event) => held.delete(event.key.toLowerCase()), options);
  window.addEventListener("blur", () => held.clear(), options);

  /**
   * Held keys and a thrown view move on; true while any does.
   * @param elapsed ms
   */
  const tick = (now: number, elapsed: number) => {
    let moving = false;
    const { viewport } = panel;
    if (speed !== 0) {
      moving = true;
      const ms = Math.min(elapsed, 50);
      const by = speed * ms * perPixel();
      viewport.remember(now);
      viewport.go(viewport.start - by, viewport.end - by, now, true);
      speed *= FRICTION ** ms;
      if (Math.abs(speed) < LEAST_SPEED) speed = 0;
    }
    for (const [key, since] of held) {
      moving = true;
      if (now - since < HOLD_MS) continue;
      const by = Math.min(elapsed, 50) / 1000;
      viewport.remember(now);
      if (key === "w" || key === "+" || key === "=") viewport.zoom(HELD_ZOOM_PER_S ** by, anchor(), now, true);
      if (key === "s" || key === "-") viewport.zoom(HELD_ZOOM_PER_S ** -by, anchor(), now, true);
      if (key === "a" || key === "arrowleft") viewport.pan(-HELD_PAN_PER_S * by, now, true);
      if (key === "d" || key === "arrowright") viewport.pan(HELD_PAN_PER_S * by, now, true);
    }
    return moving;
  };
  return { tick, close: () => abort.abort() };
}
