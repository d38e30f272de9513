// What the panels whose cards are charts share (dashboard/panels/charts.py): notes, and where the pointer is.
(function () {
  "use strict";
  const scope = (window.stepscope = window.stepscope || {});

  /**
   * Calls `enter` once a frame while the pointer is inside the chart of a card, with its place in pixels of the plot
   * and `origin`, the plot's corner on the page; and `leave` where it is not, a button is down, or the page scrolls.
   * @param {string} cards selector of the cards
   * @param {(at: {card: HTMLElement, plot: any, layout: any, px: number, py: number, origin: {x: number, y: number}}, event: PointerEvent) => void} enter
   * @param {() => void} leave
   */
  function onPointer(cards, enter, leave) {
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
  function placeBeside(box, event, gap) {
    const size = box.getBoundingClientRect();
    const left = event.clientX + gap + size.width < innerWidth ? event.clientX + gap : event.clientX - gap - size.width;
    box.style.left = Math.max(4, left) + "px";
    box.style.top = Math.max(4, Math.min(event.clientY + 14, innerHeight - size.height - 4)) + "px";
  }

  scope.charts = { onPointer, placeBeside };

  const clientside = {
    /** What the figures say about themselves goes to the heads of their cards. */
    noteCharts(figures) {
      const inputs = window.dash_clientside.callback_context.inputs_list[0];
      figures.forEach((figure, i) => {
        const { type, key } = inputs[i].id;
        const card = scope.cards.find(type.replace(/-data$/, ""), key);
        if (!card || !figure || !figure.layout || !figure.layout.meta) return;
        const note = card.querySelector(".note");
        note.textContent = note.title = figure.layout.meta.note;
      });
      return window.dash_clientside.no_update;
    },
  };
  window.dash_clientside = Object.assign({}, window.dash_clientside, {
    stepscope: Object.assign({}, (window.dash_clientside || {}).stepscope, clientside),
  });
})();
