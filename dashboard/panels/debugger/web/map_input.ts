/** Handles pointer and wheel input on the map. */
import type { Layout } from "./map_draw.ts";
import { rowAtY, stepAtX } from "./map_draw.ts";
import { moved, type Span, within, zoomed } from "./viewport.ts";

/** The view that the input acts on. */
export interface Held {
  layout: Layout;
  rows: Span;
  steps: Span;
  /** The totals. */
  rowCount: number;
  stepCount: number;
  box: { x0: number; y0: number; x1: number; y1: number } | null;
  /** Called when the view has changed. */
  changed(): void;
  hover(at: { x: number; y: number } | null): void;
  choose(row: number, step: number): void;
  /** Shows everything again. */
  reset(): void;
}

const STILL = 5;
const FEWEST_ROWS = 3;
const FEWEST_STEPS = 2;

const inside = ({ left, top, plotWidth, plotHeight }: Layout, x: number, y: number) =>
  x >= left && x < left + plotWidth && y >= top && y < top + plotHeight;

export function zoomSteps(held: Held, factor: number, at = (held.steps.begin + held.steps.end) / 2): void {
  held.steps = zoomed(held.steps, at, factor, held.stepCount, FEWEST_STEPS);
  held.changed();
}

export function zoomRows(held: Held, factor: number, at = (held.rows.begin + held.rows.end) / 2): void {
  held.rows = zoomed(held.rows, at, factor, held.rowCount, FEWEST_ROWS);
  held.changed();
}

export function pan(held: Held, rows: number, steps: number): void {
  held.rows = moved(held.rows, rows, held.rowCount);
  held.steps = moved(held.steps, steps, held.stepCount);
  held.changed();
}

export function attach(canvas: HTMLCanvasElement, of: () => Held | null): void {
  let drag: { x: number; y: number; pans: boolean; rows: Span; steps: Span; moved: boolean } | null = null;
  canvas.addEventListener("pointerdown", (event) => {
    const held = of();
    const { offsetX: x, offsetY: y } = event;
    if (!held || event.button !== 0 || y > held.layout.top + held.layout.plotHeight) return;
    canvas.setPointerCapture(event.pointerId);
    const pans = event.shiftKey || event.pointerType === "touch";
    drag = { x, y, pans, rows: held.rows, steps: held.steps, moved: false };
  });
  canvas.addEventListener("pointermove", (event) => {
    const held = of();
    if (!held) return;
    const { offsetX: x, offsetY: y } = event;
    if (!drag) return held.hover(inside(held.layout, x, y) || x < held.layout.left ? { x, y } : null);
    if (Math.hypot(x - drag.x, y - drag.y) > STILL) drag.moved = true;
    if (!drag.moved) return;
    held.hover(null);
    if (drag.pans) {
      const { plotWidth, plotHeight } = held.layout;
      const by = (span: Span, pixels: number, room: number) => (-pixels / room) * (span.end - span.begin);
      held.rows = moved(drag.rows, by(drag.rows, y - drag.y, plotHeight), held.rowCount);
      held.steps = moved(drag.steps, by(drag.steps, x - drag.x, plotWidth), held.stepCount);
    } else held.box = { x0: drag.x, y0: drag.y, x1: x, y1: y };
    held.changed();
  });
  const end = (event: PointerEvent, wanted: boolean) => {
    const held = of();
    const was = drag;
    drag = null;
    if (!held || !was) return;
    const { offsetX: x, offsetY: y } = event;
    const box = held.box;
    held.box = null;
    if (!wanted) return held.changed();
    if (!was.moved) {
      const row = Math.floor(rowAtY(held.layout, held.rows, y));
      const step = x < held.layout.left ? -1 : Math.floor(stepAtX(held.layout, held.steps, x));
      if (row >= 0 && row < held.rowCount) held.choose(row, step);
    } else if (box) {
      const steps = [stepAtX(held.layout, held.steps, box.x0), stepAtX(held.layout, held.steps, box.x1)].sort((a, b) =>
        a - b
      );
      const rows = [rowAtY(held.layout, held.rows, box.y0), rowAtY(held.layout, held.rows, box.y1)].sort((a, b) =>
        a - b
      );
      // A box that is flat in one direction zooms only in the other.
      if (Math.abs(box.x1 - box.x0) > 12) {
        held.steps = within({ begin: Math.floor(steps[0]), end: Math.ceil(steps[1]) }, held.stepCount, FEWEST_STEPS);
      }
      if (Math.abs(box.y1 - box.y0) > 12) {
        held.rows = within({ begin: Math.floor(rows[0]), end: Math.ceil(rows[1]) }, held.rowCount, FEWEST_ROWS);
      }
    }
    held.changed();
  };
  canvas.addEventListener("pointerup", (event) => end(event, true));
  canvas.addEventListener("pointercancel", (event) => end(event, false));
  canvas.addEventListener("pointerleave", () => of()?.hover(null));
  canvas.addEventListener("dblclick", () => of()?.reset());
  canvas.addEventListener("wheel", (event) => {
    const held = of();
    if (!held) return;
    const factor = Math.exp(Math.max(-1, Math.min(1, event.deltaY / 240)));
    if (event.ctrlKey || event.metaKey) zoomSteps(held, factor, stepAtX(held.layout, held.steps, event.offsetX));
    else if (event.altKey) zoomRows(held, factor, rowAtY(held.layout, held.rows, event.offsetY));
    else {
      const before = held.rows.begin + held.steps.begin;
      const [across, down] = event.shiftKey ? [event.deltaY || event.deltaX, 0] : [event.deltaX, event.deltaY];
      pan(
        held,
        (down / held.layout.plotHeight) * (held.rows.end - held.rows.begin),
        (across / held.layout.plotWidth) * (held.steps.end - held.steps.begin),
      );
      if (held.rows.begin + held.steps.begin === before) return;
    }
    event.preventDefault();
  }, { passive: false });
}
