// The scalars panel: zoom of its cards, what is under the pointer, downloads.
(function () {
  "use strict";
  const scope = (window.stepscope = window.stepscope || {});
  const { make, numbers } = scope.elements;

  // --- zoom --------------------------------------------------------------------------------------------------

  /** Visible part of each card that is zoomed: [x0, x1, y0, y1]. @type {Map<string, number[]>} */
  const zoom = new Map();

  function number(edge, axis) {
    // A date axis reports "2026-01-31 12:00:00.5"; the server counts milliseconds of the same clock.
    return axis.type === "date" && typeof edge === "string" ? Date.parse(edge.replace(" ", "T") + "Z") : Number(edge);
  }

  function onRelayout(card, plot, change) {
    const { key } = card.dataset;
    const { xaxis, yaxis } = plot._fullLayout;
    if (change["xaxis.autorange"]) {
      if (!zoom.delete(key)) return;
    } else if ("xaxis.range[0]" in change || "yaxis.range[0]" in change) {
      // Only a drag reports the edges one by one; a redraw reports them as one list.
      const range = [...xaxis.range, ...yaxis.range].map((edge, index) => number(edge, index < 2 ? xaxis : yaxis));
      if (zoom.get(key)?.every((edge, index) => edge === range[index])) return;
      zoom.set(key, range);
    } else return;
    tellZoom(card);
  }

  function tellZoom(card) {
    card.classList.toggle("zoomed", zoom.has(card.dataset.key));
    scope.cards.keep("scalars", Object.fromEntries(zoom));
  }

  function resetZoom(card) {
    zoom.delete(card.dataset.key);
    tellZoom(card);
  }

  // A card that is mounted anew, as other tags come or go or the tab is opened again, stays zoomed.
  document.addEventListener("card-mounted", ({ target }) => {
    if (target.matches(".scalars-card") && zoom.has(target.dataset.key)) tellZoom(target);
  });

  // A chart can be listened to once Plotly has drawn it, which is before a hand can zoom it.
  document.addEventListener("pointermove", (event) => {
    const card = event.target.closest && event.target.closest(".scalars-card");
    const plot = card && card.querySelector(".js-plotly-plot");
    if (!plot || !plot.on || plot.stepscopeZoom) return;
    plot.stepscopeZoom = true;
    plot.on("plotly_relayout", (change) => onRelayout(card, plot, change));
  });

  // --- hover -------------------------------------------------------------------------------------------------

  const MOST_ROWS = 24;

  /** Six significant digits, without noise. */
  function show(value) {
    if (Number.isNaN(value)) return "NaN";
    if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-4 || size >= 1e7)) return value.toExponential(4).replace("-", "−").replace("e+", "e");
    return String(Number(value.toPrecision(6))).replace("-", "−");
  }

  function duration(seconds) {
    const s = Math.abs(seconds);
    if (s < 60) return show(Number(seconds.toFixed(s < 10 ? 2 : 1))) + " s";
    const whole = Math.round(s);
    const [d, h, m] = [Math.floor(whole / 86400), Math.floor(whole / 3600) % 24, Math.floor(whole / 60) % 60];
    return d ? `${d} d ${h} h` : h ? `${h} h ${m} min` : `${m} min ${whole % 60} s`;
  }

  /** Time of day; with the date where that is not today. */
  function clock(when) {
    if (Number.isNaN(when.getTime())) return "";
    const time = when.toLocaleTimeString("en-GB");
    if (when.toDateString() === new Date().toDateString()) return time;
    return when.toLocaleDateString("en-GB", { day: "numeric", month: "short" }) + " " + time;
  }

  /** Index of the value nearest to x; arrays are sorted in all but broken logs, where the nearest found will do. */
  function nearest(array, x) {
    let low = 0;
    let high = array.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (array[middle] < x) low = middle + 1;
      else high = middle;
    }
    return low > 0 && Math.abs(array[low - 1] - x) <= Math.abs(array[low] - x) ? low - 1 : low;
  }

  /** One row for each run: its point nearest to x. */
  function rowsAt(plot, x, y) {
    const rows = [];
    for (const trace of plot._fullData) {
      const meta = trace.meta;
      if (!meta || meta.role !== "line" || !trace.x || !trace.x.length) continue;
      const index = nearest(trace.x, x);
      const value = numbers(meta.values)[index];
      const smoothed = trace.y[index];
      rows.push({
        run: meta.run,
        color: meta.color,
        x: trace.x[index],
        value,
        smoothed: meta.smoothed ? smoothed : null,
        drawn: smoothed,
        step: numbers(meta.steps)[index],
        seconds: numbers(meta.seconds)[index],
        wall: meta.first + numbers(meta.seconds)[index],
        distance: Number.isFinite(smoothed) ? Math.abs(smoothed - y) : Infinity,
      });
    }
    return rows;
  }

  const escape = (text) => text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);

  function table(rows) {
    const near = rows.reduce((best, row) => (row.distance < best.distance ? row : best), rows[0]);
    rows.sort((a, b) => (Number.isFinite(b.drawn) ? b.drawn : -Infinity) - (Number.isFinite(a.drawn) ? a.drawn : -Infinity));
    const at = rows.indexOf(near);
    const start = Math.max(0, Math.min(at - (MOST_ROWS >> 1), rows.length - MOST_ROWS));
    const shown = rows.slice(start, start + MOST_ROWS);
    const smoothed = shown.some((row) => row.smoothed !== null);
    const head =
      `<th></th><th>Run</th>${smoothed ? "<th>Smoothed</th>" : ""}<th>Value</th><th>Step</th><th>Relative</th><th>Time</th>`;
    const body = shown
      .map((row) => {
        const when = new Date(row.wall * 1000);
        const cells = [
          `<i style="--c:${row.color}"></i>`,
          `<bdi>${escape(row.run)}</bdi>`,
          ...(smoothed ? [row.smoothed === null ? "" : show(row.smoothed)] : []),
          show(row.value),
          row.step.toLocaleString("en-US"),
          duration(row.seconds),
          clock(when),
        ];
        return `<tr class="${row === near ? "nearest" : ""}">${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`;
      })
      .join("");
    const rest = rows.length - shown.length;
    const more = rest > 0 ? `<div class="more">and ${rest} more runs</div>` : "";
    return `<table><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table>${more}`;
  }

  let box = null;
  let line = null;

  function hideHover() {
    if (box) box.hidden = true;
    if (line) line.remove();
  }

  function hover({ card, plot, layout, px, py, origin }, event) {
    const rows = rowsAt(plot, layout.xaxis.p2c(px), layout.yaxis.p2d(py));
    if (!rows.length) return hideHover();
    if (!box) {
      document.body.append((box = make("div", { id: "hover" })));
      line = make("div", { className: "hover-line" });
    }
    const x = rows.reduce((best, row) => (row.distance < best.distance ? row : best), rows[0]).x;
    box.innerHTML = table(rows);
    box.hidden = false;
    scope.charts.placeBeside(box, event, 18);
    const home = card.getBoundingClientRect();
    line.style.left = origin.x - home.left - 1 + layout.xaxis.c2p(x) + "px";
    line.style.top = origin.y - home.top - 1 + "px";
    line.style.height = layout._size.h + "px";
    if (line.parentNode !== card) card.append(line);
  }

  scope.charts.onPointer(".scalars-card", hover, hideHover);

  // --- buttons -----------------------------------------------------------------------------------------------

  function downloadMenu(card, button) {
    closeMenu();
    const plot = card.querySelector(".js-plotly-plot");
    const runs = plot._fullData.filter((trace) => trace.meta && trace.meta.role === "line").map((trace) => trace.meta.run);
    const links = ["csv", "json"].map((format) => {
      const query = new URLSearchParams([["tag", card.dataset.key], ["format", format], ...runs.map((run) => ["run", run])]);
      return make("a", { href: "/api/scalars/download?" + query, download: "" }, `All points as ${format.toUpperCase()}`);
    });
    const menu = make("div", { className: "menu" }, ...links);
    document.body.append(menu);
    const place = button.getBoundingClientRect();
    menu.style.top = place.bottom + 4 + "px";
    menu.style.left = place.right - menu.offsetWidth + "px";
    menu.querySelector("a").focus();
  }

  function closeMenu() {
    document.querySelectorAll(".menu").forEach((menu) => menu.remove());
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest && event.target.closest("button");
    if (!button || !button.classList.contains("act-download")) closeMenu();
    if (!button) return;
    const card = button.closest(".scalars-card");
    if (button.classList.contains("act-reset")) resetZoom(card);
    else if (button.classList.contains("act-download")) downloadMenu(card, button);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") closeMenu();
  });

  const clientside = {
    /** Another axis or scale: what was zoomed in the old units means nothing in the new ones. */
    dropZoom() {
      zoom.clear();
      document.querySelectorAll(".scalars-card.zoomed").forEach((card) => card.classList.remove("zoomed"));
      return {};
    },
    showSmoothing: (value) => (value === undefined ? "" : String(Number(value.toFixed(3)))),
  };
  window.dash_clientside = Object.assign({}, window.dash_clientside, {
    stepscope: Object.assign({}, (window.dash_clientside || {}).stepscope, clientside),
  });
})();
