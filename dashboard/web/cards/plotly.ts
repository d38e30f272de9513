// Shared by the panels whose cards are charts (dashboard/panels/charts.py): notes, and the position of the pointer.
import { callbackContext, callbacks, noUpdate } from "../core/dash.ts";
import { isScrolled, within } from "../core/dom.ts";
import { byFinger, isNear, isStill, onTap } from "../core/taps.ts";
import { cards as pageCards } from "./grid.ts";
import { ready } from "./loading.ts";
import "./plotly_touch.ts";

/** An axis of a chart drawn by Plotly: its range, and how values become pixels. */
export interface PlotlyAxis {
  range: [number, number];
  type: string;
  autorange: boolean;
  visible: boolean;
  title: { text: string };
  c2p(value: number): number;
  p2c(pixel: number): number;
  /** The pixel of a value as it is in the data: of a date, milliseconds since 1970. */
  d2p(value: number): number;
}
/** A trace as decoded by Plotly; its `meta` comes from the server. */
export interface PlotlyTrace {
  x?: ArrayLike<number>;
  y?: ArrayLike<number>;
  meta?: unknown;
}
/** The parts of a drawn chart that are known from Plotly's undocumented `_fullLayout`. */
export interface PlotlyLayout {
  xaxis: PlotlyAxis;
  yaxis: PlotlyAxis;
  _size: { l: number; t: number; w: number; h: number };
  // deno-lint-ignore no-explicit-any
  meta?: any;
}
/** The element of a Plotly chart. */
export interface Plot extends HTMLElement {
  _fullLayout?: PlotlyLayout;
  _fullData?: PlotlyTrace[];
  /** Absent until Plotly has made the chart. */
  on?(event: string, listener: (told: unknown) => void): void;
  // deno-lint-ignore no-explicit-any
  data?: any[];
  // deno-lint-ignore no-explicit-any
  layout?: any;
}
/** Where the pointer is in a chart. */
export interface Pointed {
  card: HTMLElement;
  plot: Plot;
  layout: PlotlyLayout;
  /** Pixels from the plot's left and top edges. */
  px: number;
  py: number;
  /** The plot's corner on the page. */
  origin: { x: number; y: number };
}

declare global {
  interface Window {
    Plotly: { relayout(plot: Plot, changes: Record<string, unknown>): void };
  }
}

/** Zooms a chart out to show everything in it. */
export const showAll = (plot: Plot): void =>
  window.Plotly.relayout(plot, { "xaxis.autorange": true, "yaxis.autorange": true });

/** The drawn chart inside an element. */
export const plotIn = (element: Element): Plot | null => element.querySelector<Plot>(".js-plotly-plot");

/**
 * Calls `enter` once a frame while the pointer is inside a card's chart, with its position in pixels of the plot and
 * `origin`, the plot's corner on the page; and `leave` when it is not, a button is down, or the card is scrolled.
 * A finger tap enters where it is; a tap elsewhere leaves, and so does a second tap in the same place.
 * @param cards selector of the cards
 * @param click called for clicks that are not drags, and for second taps
 */
export function onPointer(
  cards: string,
  enter: (at: Pointed, event: PointerEvent) => void,
  leave: () => void,
  click?: (card: HTMLElement) => void,
) {
  let frame = 0;
  /** Where a finger tapped to show what is visible now. */
  let tapped: PointerEvent | null = null;
  let entered: HTMLElement | null = null;

  function quit() {
    tapped = null;
    entered = null;
    leave();
  }

  function look(card: HTMLElement, event: PointerEvent) {
    const plot = plotIn(card);
    const layout = plot?._fullLayout;
    if (!plot || !layout?.xaxis || event.buttons) return leave();
    const area = plot.getBoundingClientRect();
    const { l, t, w, h } = layout._size;
    const origin = { x: area.left + l, y: area.top + t };
    const px = event.clientX - origin.x;
    const py = event.clientY - origin.y;
    if (px < 0 || py < 0 || px > w || py > h) return leave();
    entered = card;
    enter({ card, plot, layout, px, py, origin }, event);
  }

  document.addEventListener("pointermove", (event) => {
    cancelAnimationFrame(frame);
    const card = within(event, cards);
    if (!card) return quit();
    frame = requestAnimationFrame(() => look(card, event));
  });
  // A finger leaves after every tap.
  document.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && quit());
  document.addEventListener("scroll", (event) => {
    if (isScrolled(event, entered) || isScrolled(event, tapped?.target as Element ?? null)) quit();
  }, true);
  onTap((event) => {
    cancelAnimationFrame(frame);
    const card = within(event, cards);
    const isSecond = isNear(tapped, event);
    if (card && !isSecond) {
      tapped = event;
      return look(card, event);
    }
    if (card && click) click(card);
    quit();
  });
  if (!click) return;
  document.addEventListener("click", (event) => {
    const card = within(event, ".chart")?.closest<HTMLElement>(cards);
    // Taps have been handled above.
    if (card && !byFinger() && isStill(event)) click(card);
  }, true);
}

/** Puts a box that follows the pointer beside it, inside the window and above `floor`. */
export function placeBeside(
  box: HTMLElement,
  event: Pick<MouseEvent, "clientX" | "clientY">,
  gap: number,
  floor: number = innerHeight,
) {
  const size = box.getBoundingClientRect();
  const left = event.clientX + gap + size.width < innerWidth ? event.clientX + gap : event.clientX - gap - size.width;
  box.style.left = Math.max(4, left) + "px";
  box.style.top = Math.max(4, Math.min(event.clientY + 14, floor - size.height - 4)) + "px";
}

callbacks("stepscope", {
  /** Shows the figures' notes in the heads of their cards. */
  noteCharts(figures: ({ layout?: { meta?: { note: string } } } | null)[]) {
    const inputs = callbackContext().inputs_list[0] as { id: { type: string; key: string } }[];
    figures.forEach((figure, i) => {
      const { type, key } = inputs[i].id;
      const card = pageCards.find(type.replace(/-data$/, ""), key);
      const meta = figure?.layout?.meta;
      if (!card || !meta) return;
      ready(card);
      const note = card.querySelector<HTMLElement>(".note")!;
      note.textContent = note.title = meta.note;
    });
    return noUpdate();
  },
});
