// What the panels whose cards are charts share (dashboard/panels/charts.py): notes, and where the pointer is.
import * as dash from "../core/dash.js";
import { cards as pageCards } from "./grid.js";

/**
 * Calls `enter` once a frame while the pointer is inside the chart of a card, with its place in pixels of the plot
 * and `origin`, the plot's corner on the page; and `leave` where it is not, a button is down, or the page scrolls.
 * @param {string} cards selector of the cards
 * @param {(at: {card: HTMLElement, plot: any, layout: any, px: number, py: number, origin: {x: number, y: number}}, event: PointerEvent) => void} enter
 * @param {() => void} leave
 */
export function onPointer(cards, enter, leave) {
  let frame = 0;

  function look(card, event) {
    const plot = card.querySelector(".js-plotly-plot");
    const layout = plot && plot._fullLayout;
    if (!layout || !layout.xaxis || event.buttons) return leave();
    const area = plot.getBoundingClientRect();
    const { l, t, w, h } = layout._size;
    const origin = { x: area.left + l, y: area.top + t };
    const px = event.clientX - origin.x;
    const py = event.clientY - origin.y;
    if (px < 0 || py < 0 || px > w || py > h) return leave();
    enter({ card, plot, layout, px, py, origin }, event);
  }

  document.addEventListener("pointermove", (event) => {
    cancelAnimationFrame(frame);
    const card = event.target.closest && event.target.closest(cards);
    if (!card) return leave();
    frame = requestAnimationFrame(() => look(card, event));
  });
  document.addEventListener("pointerleave", leave);
  document.addEventListener("scroll", leave, true);
}

/** Puts a box that follows the pointer beside it, inside the window. */
export function placeBeside(box, event, gap) {
  const size = box.getBoundingClientRect();
  const left = event.clientX + gap + size.width < innerWidth ? event.clientX + gap : event.clientX - gap - size.width;
  box.style.left = Math.max(4, left) + "px";
  box.style.top = Math.max(4, Math.min(event.clientY + 14, innerHeight - size.height - 4)) + "px";
}


const clientside = {
  /** What the figures say about themselves goes to the heads of their cards. */
  noteCharts(figures) {
    const inputs = window.dash_clientside.callback_context.inputs_list[0];
    figures.forEach((figure, i) => {
      const { type, key } = inputs[i].id;
      const card = pageCards.find(type.replace(/-data$/, ""), key);
      if (!card || !figure || !figure.layout || !figure.layout.meta) return;
      const note = card.querySelector(".note");
      note.textContent = note.title = figure.layout.meta.note;
    });
    return window.dash_clientside.no_update;
  },
};
dash.callbacks("stepscope", clientside);
