/** Input on the canvas: turns mouse, touch, wheel and keys into calls to the panel. */
import { register } from "../../../web/core/commands.ts";
import { groupsOf } from "./commands.ts";
import type { Point } from "./geometry.ts";
import type { Band } from "./layout.ts";
import type { TimelinePanel } from "./panel.ts";
import * as rulers from "./rulers.ts";
import { still } from "../../../web/core/motion.ts";

const DRAG_THRESHOLD = 4;
const HOLD_MS = 170;
const ZOOM_STEP = 1.6;
const PAN_STEP = 0.18;
const HELD_ZOOM_PER_S = 5.5;
const HELD_PAN_PER_S = 1.1;
/** A flung view slows down by this factor each millisecond. */
const FRICTION = 0.9955;
const LEAST_SPEED = 0.02;
const THROW_MS = 90;

/** Moves the view on while a key is held. */
type Onward = (seconds: number, now: number) => void;

/** What a press has grabbed, and how far it has moved. */
type Drag = { from: Point; last: Point; moved: boolean } & Held;
type Held =
  | { kind: "pan" | "divider" | "scrollbar" }
  | { kind: "box" | "area"; time: number }
  | { kind: "minimap"; inside: boolean; view: [number, number] }
  | { kind: "label"; band: Band | null; drop: { place: number; y: number } | null };

/** @param signal removes the listeners */
export function attach(
  panel: TimelinePanel,
  canvas: HTMLCanvasElement,
  signal: AbortSignal,
): { tick: (now: number, elapsed: number) => boolean } {
  const options = { signal };
  /** keys held down, by their place on the keyboard: what they mean may change with Shift */
  const held: Map<string, { since: number; onward: Onward }> = new Map();
  let drag: Drag | null = null;
  /** Fingers on the canvas. */
  const fingers: Map<number, Point> = new Map();
  /** Pixels per millisecond after a fling, and the most recent movement. */
  let speed = 0;
  let trail: { x: number; time: number }[] = [];

  const where = (event: MouseEvent): Point => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const perPixel = () => panel.viewport.span / (panel.scene.width - panel.scene.left);

  /** What a press at a point grabs. */
  const grip = (at: Point, event: MouseEvent): Held["kind"] => {
    const scene = panel.scene;
    const bar = rulers.scrollbarPlace(scene);
    if (bar && at.x >= bar.x - 2 && at.y > scene.top) return "scrollbar";
    if (at.x < scene.left - 3) return "label";
    if (at.x <= scene.left + 3) return "divider";
    if (at.y < rulers.MINIMAP_HEIGHT) return "minimap";
    if (at.y < scene.pinTop || event.altKey) return "box";
    return event.shiftKey !== panel.choosing ? "area" : "pan";
  };

  const taken = (kind: Held["kind"], at: Point): Held => {
    if (kind === "box" || kind === "area") return { kind, time: panel.timeAt(at.x) };
    if (kind === "label") return { kind, band: panel.bandAt(at), drop: null };
    if (kind !== "minimap") return { kind };
    return { kind, inside: panel.insideMinimapView(at.x), view: panel.viewport.target };
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
    drag = { from: at, last: at, moved: false, ...taken(grip(at, event), at) };
    trail = [{ x: at.x, time: performance.now() }];
    canvas.setPointerCapture(event.pointerId);
  }, options);

  /** Two fingers: the content under them stays under them. */
  const pinch = (event: PointerEvent) => {
    const other = [...fingers].find(([id]) => id !== event.pointerId);
    const before = fingers.get(event.pointerId);
    if (!other || !before) return;
    const at = where(event);
    const [, fixed] = other;
    const gap = (one: Point) => Math.max(Math.hypot(one.x - fixed.x, one.y - fixed.y), 12);
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
      dragTo(drag, at);
    } else panel.point(at);
    if (!drag) canvas.style.cursor = cursorOf(at, event);
  }, options);

  const cursorOf = (at: Point, event: MouseEvent): string => {
    const kind = grip(at, event);
    if (kind === "divider") return "col-resize";
    if (kind === "label") return panel.bandAt(at) ? "pointer" : "default";
    if (kind === "minimap") return panel.insideMinimapView(at.x) ? "grab" : "crosshair";
    if (kind === "box" && rulers.stepAtPoint(panel.scene, at)) return "pointer";
    if (kind === "box" || kind === "area") return "crosshair";
    return kind === "pan" && panel.hover ? "pointer" : "default";
  };

  const dragTo = (drag: Drag, at: Point) => {
    const now = performance.now();
    const { viewport, scene } = panel;
    switch (drag.kind) {
      case "pan": {
        const by = (at.x - drag.last.x) * perPixel();
        viewport.remember(now);
        viewport.go(viewport.start - by, viewport.end - by, now, true);
        panel.scrollBy(drag.last.y - at.y, drag.from.y < scene.top);
        trail.push({ x: at.x, time: now });
        trail = trail.filter((point) => now - point.time < THROW_MS);
        canvas.style.cursor = "grabbing";
        break;
      }
      case "box":
        panel.box = [drag.time, panel.timeAt(Math.max(at.x, scene.left))];
        break;
      case "area":
        panel.area.draw([drag.time, panel.timeAt(Math.max(at.x, scene.left))], [drag.from.y, at.y]);
        break;
      case "minimap": {
        const [from, to] = [panel.minimapTime(drag.from.x), panel.minimapTime(at.x)];
        const [start, end] = drag.view;
        viewport.remember(now);
        if (drag.inside) viewport.go(start + to - from, end + to - from, now, true);
        else viewport.go(Math.min(from, to), Math.max(from, to), now, true);
        break;
      }
      case "divider":
        panel.setLabelWidth(at.x);
        break;
      case "label":
        if (drag.band) {
          drag.drop = panel.dropAt(drag.band, at.y);
          canvas.style.cursor = "grabbing";
        }
        break;
      case "scrollbar": {
        const bar = rulers.scrollbarPlace(scene);
        const hidden = panel.contentHeight - (scene.height - scene.top);
        if (bar) panel.scrollBy(((at.y - drag.last.y) / bar.travel) * hidden);
      }
    }
    drag.last = at;
    panel.drop = drag.kind === "label" ? drag.drop?.y ?? null : null;
    panel.changed();
  };

  canvas.addEventListener("pointerup", (event) => {
    fingers.delete(event.pointerId);
    if (!drag) return;
    const done = drag;
    drag = null;
    panel.drop = null;
    if (done.moved) letGo(done);
    else press(done, event);
    canvas.style.cursor = cursorOf(where(event), event);
    panel.changed();
  }, options);

  /** The end of a drag. */
  const letGo = (drag: Drag) => {
    const now = performance.now();
    if (drag.kind === "box" && panel.box) {
      const [a, b] = panel.box;
      panel.box = null;
      panel.viewport.go(Math.min(a, b), Math.max(a, b), now);
    } else if (drag.kind === "area") panel.area.ask();
    else if (drag.kind === "pan") throwOn(now);
    else if (drag.kind === "label" && drag.band && drag.drop) panel.moveBand(drag.band, drag.drop.place);
  };

  /** A press that did not move. */
  const press = ({ kind, from }: Drag, event: MouseEvent) => {
    const page = { x: event.clientX, y: event.clientY };
    if (kind === "label") panel.labelAt(from, page);
    else if (kind === "minimap") panel.viewport.center(panel.minimapTime(from.x), performance.now());
    else if (kind === "box") panel.rulerAt(from, page);
    else if (kind === "pan" || kind === "area") panel.clickAt(from);
  };

  /** Released while moving: the view keeps moving, slower and slower. */
  const throwOn = (now: number) => {
    const [first, last] = [trail.at(0), trail.at(-1)];
    if (!first || !last || still() || now - last.time > 40 || last.time - first.time < 8) return;
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
    if (panel.ready && grip(at, event) === "divider") panel.setLabelWidth(null);
    else if (panel.ready && at.x > panel.scene.left && at.y > panel.scene.pinTop) panel.zoomToAt(at);
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
  const hold = (move: (now: number) => void, onward: Onward) => (event: KeyboardEvent) => {
    speed = 0;
    if (!event.repeat) {
      const now = performance.now();
      panel.viewport.remember(now);
      move(now);
      held.set(event.code, { since: now, onward });
    }
  };
  const zoom = (way: 1 | -1) =>
    hold(
      (now) => panel.viewport.zoom(ZOOM_STEP ** way, anchor(), now),
      (seconds, now) => panel.viewport.zoom(HELD_ZOOM_PER_S ** (way * seconds), anchor(), now, true),
    );
  const pan = (way: 1 | -1) =>
    hold(
      (now) => panel.viewport.pan(way * PAN_STEP, now),
      (seconds, now) => panel.viewport.pan(way * HELD_PAN_PER_S * seconds, now, true),
    );
  const moves = { zoomIn: zoom(1), zoomOut: zoom(-1), panLeft: pan(-1), panRight: pan(1) };
  for (const group of groupsOf(panel, canvas, moves)) register(group, signal);
  document.addEventListener("keyup", (event) => held.delete(event.code), options);
  window.addEventListener("blur", () => held.clear(), options);

  /**
   * Advances held keys and a flung view; true while any is moving.
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
    for (const { since, onward } of held.values()) {
      moving = true;
      if (now - since < HOLD_MS) continue;
      viewport.remember(now);
      onward(Math.min(elapsed, 50) / 1000, now);
    }
    return moving;
  };
  return { tick };
}
