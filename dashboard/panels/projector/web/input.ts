/** Input on the cloud: mouse, fingers, and keys. */
import { bind, type Bindings } from "../../../web/core/commands.ts";
import { Trail } from "./lasso.ts";
import { TURN } from "./motion.ts";
import type { View } from "./view.ts";

const CLICK = 4; // pixels a pointer may move during a click
const RECENT_MS = 60; // the end of a drag, whose speed a throw continues at
const FASTEST = 2; // pixels per millisecond
const WHEEL = 0.0016;
const KEY_TURN = 8; // degrees
const KEY_PAN = 40; // pixels
const KEY_ZOOM = 1.25;
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

interface Point {
  x: number;
  y: number;
}

/**
 * @param element what the pointer is over
 * @returns a function that undoes all of it
 */
export function attach(element: HTMLElement, view: View): () => void {
  const hand = new Hand(element, view);
  const stop = new AbortController();
  const { signal } = stop;
  const passive = { signal, passive: true };
  element.addEventListener("pointerdown", (event) => hand.down(event), passive);
  element.addEventListener("pointermove", (event) => hand.move(event), passive);
  element.addEventListener("pointerup", (event) => hand.up(event), passive);
  element.addEventListener("pointercancel", (event) => hand.cancel(event), passive);
  element.addEventListener("pointerleave", () => view.hover(null), passive);
  element.addEventListener("contextmenu", (event) => event.preventDefault(), { signal });
  element.addEventListener("dblclick", (event) => view.center(...hand.place(event)), passive);
  element.addEventListener("wheel", (event) => hand.wheel(event), { signal, passive: false });
  bind(element, hand.keys(), signal);
  return () => stop.abort();
}

class Hand {
  readonly element: HTMLElement;
  readonly view: View;
  /** Pointers that are down. */
  held: Map<number, Point> = new Map();
  start: Point & { moved: boolean; many: boolean } | null = null;
  recent: (Point & { at: number })[] = [];
  trail: Trail | null = null;

  constructor(element: HTMLElement, view: View) {
    this.element = element;
    this.view = view;
  }

  place(event: MouseEvent): [number, number] {
    const box = this.element.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  down(event: PointerEvent) {
    const [x, y] = this.place(event);
    this.element.focus({ preventScroll: true });
    this.element.setPointerCapture(event.pointerId);
    this.held.set(event.pointerId, { x, y });
    this.view.motion.stop();
    this.view.motion.held = true;
    if (this.held.size > 1) {
      this.trail = null;
      if (this.start) this.start.many = true;
      return;
    }
    this.start = { x, y, moved: false, many: false };
    this.recent = [];
    const { tool } = this.view;
    if (event.button === 0 && tool !== "pointer") this.trail = new Trail(tool, x, y);
  }

  move(event: PointerEvent) {
    const [x, y] = this.place(event);
    const before = this.held.get(event.pointerId);
    if (!before || !this.start) return this.view.hover([x, y]);
    const [dx, dy] = [x - before.x, y - before.y];
    if (!this.start.moved && Math.hypot(x - this.start.x, y - this.start.y) < CLICK && this.held.size === 1) return;
    this.start.moved = true;
    this.view.hover(null);
    if (this.held.size === 2) this.pinch(event.pointerId, x, y, dx, dy);
    else if (this.trail) {
      this.trail.to(x, y);
      this.view.showTrail(this.trail);
    } else this.drag(event, dx, dy);
    this.held.set(event.pointerId, { x, y });
  }

  drag(event: PointerEvent, dx: number, dy: number) {
    const pan = this.pans(event);
    this.recent.push({ x: dx, y: dy, at: event.timeStamp });
    while (this.recent.length && this.recent[0].at < event.timeStamp - RECENT_MS) this.recent.shift();
    if (pan) this.view.pan(dx, dy);
    else this.view.turn(dx * TURN, dy * TURN);
  }

  /** Whether a drag pans instead of turning. */
  pans(event: PointerEvent) {
    return this.view.dimensions === 2 || this.view.mode === "pan" || (event.buttons & 6) !== 0 || event.shiftKey;
  }

  pinch(id: number, x: number, y: number, dx: number, dy: number) {
    const other = [...this.held].find(([held]) => held !== id)?.[1];
    const before = this.held.get(id);
    if (!other || !before) return;
    const far = (a: Point) => Math.hypot(a.x - other.x, a.y - other.y) || 1;
    this.view.pan(dx / 2, dy / 2);
    this.view.zoom(far({ x, y }) / far(before), (x + other.x) / 2, (y + other.y) / 2);
  }

  up(event: PointerEvent) {
    const { start, trail } = this;
    this.held.delete(event.pointerId);
    if (this.held.size || !start) return;
    this.view.motion.held = false;
    this.start = this.trail = null;
    const [x, y] = this.place(event);
    if (trail) this.view.showTrail(null);
    if (start.many) return this.view.settle();
    const how = { add: event.shiftKey || event.ctrlKey || event.metaKey, remove: event.altKey };
    if (!start.moved) {
      if (event.button === 0) this.view.pickAt(x, y, how);
    } else if (trail) this.view.selectIn(trail.line(), how);
    else this.throwOn(event);
  }

  /** Releases a drag: whatever speed it had carries on for a moment. */
  throwOn(event: PointerEvent) {
    const { recent } = this;
    const began = recent.length ? recent[0].at : 0;
    const ms = event.timeStamp - began;
    if (recent.length < 2 || ms > 2 * RECENT_MS) return this.view.settle();
    const speed = (axis: "x" | "y") =>
      Math.max(-FASTEST, Math.min(FASTEST, recent.reduce((all, one) => all + one[axis], 0) / Math.max(ms, 16)));
    // Once the button is up, the event no longer tells which one it was.
    const pan = this.view.dimensions === 2 || this.view.mode === "pan" || event.button !== 0 || event.shiftKey;
    this.view.throwOn(speed("x"), speed("y"), pan);
  }

  cancel(event: PointerEvent) {
    this.held.delete(event.pointerId);
    this.view.motion.held = this.held.size > 0;
    this.start = this.trail = null;
    this.view.showTrail(null);
    this.view.settle();
  }

  wheel(event: WheelEvent) {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
    const [x, y] = this.place(event);
    // A pinch on a touchpad arrives as a wheel event with Ctrl, in smaller numbers.
    const by = Math.max(-240, Math.min(240, event.deltaY * lines)) * (event.ctrlKey ? 6 : 1);
    this.view.zoom(Math.exp(-by * WHEEL), x, y);
  }

  keys(): Bindings {
    const { view } = this;
    const arrows = Object.entries(ARROWS).flatMap(([key, [x, y]]) => {
      const pan = () => view.pan(-x * KEY_PAN, -y * KEY_PAN);
      const turn = () => view.dimensions === 2 ? pan() : view.turn(x * KEY_TURN, y * KEY_TURN);
      return [[key, turn], [`Shift ${key}`, pan]] as const;
    });
    const [closer, further] = [() => view.zoom(KEY_ZOOM), () => view.zoom(1 / KEY_ZOOM)];
    return {
      ...Object.fromEntries(arrows),
      "+": closer,
      "=": closer,
      "-": further,
      "_": further,
      "0": () => view.fit(null),
      Escape: () => {
        if (!this.trail) return false;
        this.trail = this.start = null;
        view.showTrail(null);
      },
    };
  }
}
