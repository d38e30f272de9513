// How the pointer, the wheel and keys control a chart.
import type { Chart, Hit, Hooks, ZoomBox } from "./chart.ts";
import type { AxisName, Line, Scene, Zoom } from "./scene.ts";
import { bind, type Bindings } from "../core/commands.ts";
import { loop } from "./loop.ts";
import { movedRange, type Range, type Scale, usableRange, zoomedRange } from "./scale.ts";
import { inView, nearestIndex } from "./points.ts";

/** In pixels: a shorter drag is a click; one that is narrower than FLAT in a direction does not zoom in it. */
const STILL = 4;
const FLAT = 12;
/** How far a second tap may be from the first. */
const FINGER = 20;
/** Wheels do not signal an end; the zoom is reported after this many milliseconds of rest. */
const REST = 160;
/** The share of the range that remains when a key zooms in. */
const CLOSER = 0.7;

interface Drag {
  px: number;
  py: number;
  pan: boolean;
  moved: boolean;
  scene: Scene;
  zoom: Zoom;
  id: number;
}

export class Hand {
  chart: Chart;
  drag: Drag | null = null;
  hovered: Hit | null = null;
  /** Set while the zoom has yet to be reported. */
  rest: ReturnType<typeof setTimeout> | null = null;
  stop = new AbortController();
  inside = false;
  /** The last event of a pointer that has not left: the drawing may appear under it later. */
  resting: PointerEvent | null = null;

  constructor(chart: Chart) {
    this.chart = chart;
    const { over, element } = chart;
    const { signal } = this.stop;
    const on = <K extends keyof HTMLElementEventMap>(
      target: HTMLElement,
      name: K,
      act: (event: HTMLElementEventMap[K]) => void,
      options: AddEventListenerOptions = {},
    ) => target.addEventListener(name, act, { signal, ...options });
    on(over, "pointerdown", (event) => this.press(event));
    on(over, "pointermove", (event) => this.move(event));
    on(over, "pointerup", (event) => this.release(event));
    on(over, "pointercancel", () => this.cancel());
    // A finger leaves after every tap: what it showed stays until it taps elsewhere.
    on(over, "pointerleave", (event) => !this.drag && event.pointerType !== "touch" && this.leave(event));
    on(document.documentElement, "pointerdown", (event) => !over.contains(event.target as Node) && this.leave(event));
    on(element, "blur", (event) => !this.drag && this.leave(event));
    on(over, "dblclick", () => this.reset());
    on(over, "contextmenu", (event) => this.menu(event));
    on(over, "wheel", (event) => this.wheel(event), { passive: false });
    bind(element, this.keys(), signal);
    // No matter where the focus is.
    bind(window, { Escape: () => this.cancel() }, signal);
  }

  destroy() {
    this.endRest();
    this.stop.abort();
  }

  call<N extends keyof Hooks>(name: N, ...values: Parameters<NonNullable<Hooks[N]>>) {
    const hook = this.chart.hooks[name] as ((...reported: typeof values) => void) | undefined;
    hook?.(...values);
  }

  press(event: PointerEvent) {
    const { chart } = this;
    // Several fingers drag nothing.
    if (!event.isPrimary) return void this.cancel();
    const at = chart.placeOf(event.offsetX, event.offsetY);
    const { scene, zoom } = chart;
    if (event.button !== 0 || !at?.inside || !scene) return;
    chart.element.focus({ preventScroll: true });
    chart.over.setPointerCapture(event.pointerId);
    this.drag = {
      px: at.px,
      py: at.py,
      pan: event.shiftKey,
      moved: false,
      scene,
      zoom: { ...zoom },
      id: event.pointerId,
    };
    event.preventDefault();
  }

  move(event: PointerEvent) {
    const { offsetX, offsetY } = event;
    if (this.drag ? event.pointerId !== this.drag.id : event.pointerType === "touch") return;
    if (!this.drag) this.resting = event;
    // Only the last position in a frame counts.
    loop.before(this, () => (this.drag ? this.pull(offsetX, offsetY, event) : this.hover(event, offsetX, offsetY)));
  }

  hover(event: PointerEvent, px: number, py: number) {
    const at = this.chart.placeOf(px, py);
    if (!at || !at.inside || !this.chart.model.lines.length) return this.quit(event);
    this.over(this.chart.markAt(px, py), event);
    this.inside = true;
    this.call("onCursor", at.x, at.y, event);
  }

  /** Called after axes were laid out: a pointer that was there before any lines now has a position in the plot. */
  laidOut() {
    const { resting, chart } = this;
    if (!resting || this.inside || this.drag) return;
    const { left, top } = chart.over.getBoundingClientRect();
    this.hover(resting, resting.clientX - left, resting.clientY - top);
  }

  over(mark: Hit | null, event: Event) {
    if (mark === this.hovered) return;
    this.hovered = mark;
    this.chart.element.classList.toggle("curves-on-mark", Boolean(mark));
    this.chart.element.classList.toggle("curves-on-span", Boolean(mark && "spans" in mark));
    this.call("onMarkHover", mark, event);
  }

  leave(event: Event) {
    this.resting = null;
    this.quit(event);
  }

  /** Called when the pointer is not in the plot. */
  quit(event: Event) {
    this.over(null, event);
    loop.forget(this);
    if (!this.inside) return;
    this.inside = false;
    this.call("onLeave");
  }

  /** Continues a drag. */
  pull(px: number, py: number, event: PointerEvent) {
    const { chart, drag } = this;
    if (!drag) return;
    const [dx, dy] = [px - drag.px, py - drag.py];
    if (!drag.moved && Math.hypot(dx, dy) < STILL) return;
    // Details about the position would cover what is being dragged.
    if (!drag.moved) this.leave(event);
    drag.moved = true;
    if (drag.pan) {
      const { sx, sy, sy2 } = drag.scene;
      const zoom: Zoom = { x: movedRange(sx, dx), y: movedRange(sy, dy) };
      if (sy2) zoom.y2 = movedRange(sy2, dy);
      return chart.setZoom(zoom);
    }
    const { plot } = drag.scene;
    const x1 = Math.min(Math.max(px, plot.x), plot.x + plot.w);
    const y1 = Math.min(Math.max(py, plot.y), plot.y + plot.h);
    const [wide, high] = [Math.abs(x1 - drag.px) >= FLAT, Math.abs(y1 - drag.py) >= FLAT];
    chart.box = { x0: drag.px, y0: drag.py, x1, y1, zooms: { x: wide || !high, y: high } };
    chart.askOverlay();
  }

  release(event: PointerEvent) {
    const { chart, drag } = this;
    if (drag?.id !== event.pointerId) return;
    this.pull(event.offsetX, event.offsetY, event);
    const { box } = chart;
    this.letGo();
    if (!drag.moved) {
      const at = chart.placeOf(drag.px, drag.py);
      if (event.pointerType === "touch" && !this.isAtCursor(drag.px)) this.hover(event, drag.px, drag.py);
      else if (at) {
        this.call("onClick", at.x, at.y, event, chart.lineAt(at.px, at.py), chart.markAt(at.px, at.py));
        if (event.pointerType === "touch") this.leave(event);
      }
    } else if (drag.pan) this.reported(drag.scene.sy2 ? ["x", "y", "y2"] : ["x", "y"]);
    else if (box && (Math.abs(box.x1 - box.x0) >= FLAT || Math.abs(box.y1 - box.y0) >= FLAT)) {
      this.zoomInto(box, drag.scene);
    }
  }

  /** Whether the cursor is already where a finger taps: only the second tap is a click. */
  isAtCursor(px: number): boolean {
    const { cursor, scene } = this.chart;
    return this.inside && cursor !== null && scene !== null && Math.abs(scene.sx.toPx(cursor) - px) <= FINGER;
  }

  zoomInto({ x0, y0, x1, y1, zooms }: ZoomBox, { sx, sy, sy2 }: Scene) {
    const between = (scale: Scale, one: number, other: number): Range => {
      const range = [scale.toData(one), scale.toData(other)].sort((a, b) => a - b) as Range;
      return usableRange(scale.kind, range) ? range : [scale.lo, scale.hi];
    };
    const changed: AxisName[] = [];
    const zoom = { ...this.chart.zoom };
    const choose = (axis: AxisName, range: Range) => {
      zoom[axis] = range;
      changed.push(axis);
    };
    if (zooms.x) choose("x", between(sx, x0, x1));
    if (zooms.y) choose("y", between(sy, y0, y1));
    if (zooms.y && sy2) choose("y2", between(sy2, y0, y1));
    this.chart.setZoom(zoom);
    this.reported(changed);
  }

  reported(changed: AxisName[]) {
    this.call("onZoom", { ...this.chart.visibleRange(), changed });
  }

  letGo() {
    const { chart, drag } = this;
    if (drag && chart.over.hasPointerCapture(drag.id)) chart.over.releasePointerCapture(drag.id);
    this.drag = null;
    chart.box = null;
    loop.forget(this);
    chart.askOverlay();
  }

  /** Ends a drag as if it had never begun; returns whether there was one. */
  cancel(): boolean {
    if (!this.drag) return false;
    const { pan, zoom } = this.drag;
    this.letGo();
    if (pan) this.chart.setZoom(zoom);
    return true;
  }

  reset() {
    this.endRest();
    this.chart.setZoom(null);
    this.call("onZoom", null);
  }

  /** Shows `share` of the x range around a pixel; the hook is called once the zoom rests. */
  zoomAround(px: number, share: number) {
    const { chart } = this;
    const coming = chart.coming();
    if (!coming) return;
    const range = zoomedRange(coming, px, share);
    chart.setZoom({ ...chart.zoom, x: range });
    this.endRest();
    this.rest = setTimeout(() => {
      this.rest = null;
      this.reported(["x"]);
    }, REST);
  }

  endRest() {
    if (this.rest) clearTimeout(this.rest);
    this.rest = null;
  }

  menu(event: MouseEvent) {
    const at = this.chart.placeOf(event.offsetX, event.offsetY);
    if (at && at.inside) this.call("onMenu", at.x, event);
  }

  wheel(event: WheelEvent) {
    if (!event.ctrlKey) return;
    const at = this.chart.placeOf(event.offsetX, event.offsetY);
    if (!at || !at.inside) return;
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 16 : 1;
    this.zoomAround(at.px, Math.exp(Math.min(Math.max(event.deltaY * lines, -120), 120) * 0.004));
  }

  /** Moves the cursor to the next point of the line with the most points. */
  step(way: 1 | -1, event: KeyboardEvent) {
    const { chart } = this;
    const { lines } = chart.model;
    const pool = chart.lit ? lines.filter((line) => chart.lit?.has(line.id)) : lines;
    const line = pool.reduce<Line | null>((most, next) => (!most || next.x.length > most.x.length ? next : most), null);
    if (!line || !line.x.length) return;
    const [lo, hi] = chart.ranges.x;
    const isShown = (x: number) => x >= lo && x <= hi;
    const [from, to] = inView(line.x, lo, hi);
    let index = way > 0 ? from : to - 1;
    if (chart.cursor !== null && isShown(chart.cursor)) {
      index = nearestIndex(line.x, chart.cursor);
      const here = line.x[index];
      do index += way; while (index > 0 && index < line.x.length - 1 && line.x[index] === here);
      index = Math.min(Math.max(index, 0), line.x.length - 1);
    } else while (index >= from && index < to && !isShown(line.x[index])) index += way;
    const x = line.x[index];
    if (!isShown(x)) return;
    chart.showCursor(x);
    this.inside = true;
    this.call("onCursor", x, line.y[index], event);
  }

  keys(): Bindings {
    const { chart } = this;
    /** Calls `act` with the x axis as it will be drawn next, if there is one. */
    const on = (act: (sx: Scale, event: KeyboardEvent) => unknown) => (event: KeyboardEvent) => {
      const sx = chart.coming();
      return !sx || chart.scene?.tiny ? false : act(sx, event);
    };
    const zoom = (share: number) =>
      on((sx) => {
        const middle = chart.cursor === null ? sx.p0 + (sx.toPx(sx.hi) - sx.p0) / 2 : sx.toPx(chart.cursor);
        this.zoomAround(middle, share);
      });
    return {
      ArrowLeft: on((_, event) => this.step(-1, event)),
      ArrowRight: on((_, event) => this.step(1, event)),
      "+": zoom(CLOSER),
      "=": zoom(CLOSER),
      "-": zoom(1 / CLOSER),
      0: on(() => this.reset()),
      Enter: on((_, event) => chart.cursor !== null && this.call("onEnter", chart.cursor, event)),
      Escape: on((_, event) => {
        if (this.drag) return false;
        chart.showCursor(null);
        this.leave(event);
        // Elements around the chart may have something to end as well.
        return false;
      }),
    };
  }
}
