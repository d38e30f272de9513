// The scalars panel at the speed of the hand: which cards are on the screen, zoom, hover, buttons of cards and groups.
(function () {
  "use strict";
  const scope = (window.stepscope = window.stepscope || {});
  const setProps = (id, props) => window.dash_clientside.set_props(id, props);

  // --- which cards are on the screen -------------------------------------------------------------------------

  const onScreen = new Map(); // card -> tag
  let told = "";
  let telling = 0;

  function tellVisible() {
    telling = 0;
    for (const card of onScreen.keys()) if (!card.isConnected) onScreen.delete(card);
    const tags = [...new Set(onScreen.values())].sort();
    const text = JSON.stringify(tags);
    if (text === told || !document.getElementById("scalars-groups")) return;
    told = text;
    setProps("scalars-visible", { data: tags });
  }

  const observer = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (entry.isIntersecting) onScreen.set(entry.target, entry.target.dataset.tag);
        else onScreen.delete(entry.target);
      }
      if (!telling) telling = setTimeout(tellVisible, 30);
    },
    { rootMargin: "200px 0px" },
  );
  const observed = new WeakSet();

  function observeCards() {
    const groups = document.getElementById("scalars-groups");
    if (!groups) {
      told = "";
      return;
    }
    for (const card of groups.querySelectorAll(".scalar-card")) {
      if (observed.has(card)) continue;
      observed.add(card);
      observer.observe(card);
    }
  }
  let observing = 0;
  new MutationObserver(() => {
    if (!observing) observing = requestAnimationFrame(() => ((observing = 0), observeCards()));
  }).observe(document.documentElement, { childList: true, subtree: true });

  // --- zoom --------------------------------------------------------------------------------------------------

  const zoom = {};

  function number(edge, axis) {
    // A date axis reports "2026-01-31 12:00:00.5"; the server counts milliseconds of the same clock.
    return axis.type === "date" && typeof edge === "string" ? Date.parse(edge.replace(" ", "T") + "Z") : Number(edge);
  }

  function onRelayout(card, plot, change) {
    const tag = card.dataset.tag;
    const { xaxis, yaxis } = plot._fullLayout;
    if (change["xaxis.autorange"]) {
      if (!zoom[tag]) return;
      delete zoom[tag];
    } else if ("xaxis.range[0]" in change || "yaxis.range[0]" in change) {
      // Only a drag reports the edges one by one; a redraw reports them as one list.
      const range = [...xaxis.range, ...yaxis.range].map((edge, index) => number(edge, index < 2 ? xaxis : yaxis));
      if (zoom[tag] && zoom[tag].every((edge, index) => edge === range[index])) return;
      zoom[tag] = range;
    } else return;
    tellZoom(card);
  }

  function tellZoom(card) {
    card.classList.toggle("zoomed", card.dataset.tag in zoom);
    setProps("scalars-zoom", { data: { ...zoom } });
  }

  function resetZoom(card) {
    delete zoom[card.dataset.tag];
    tellZoom(card);
  }

  // --- hover -------------------------------------------------------------------------------------------------

  const MOST_ROWS = 24;
  const ARRAYS = { i1: Int8Array, i2: Int16Array, i4: Int32Array, u1: Uint8Array, f4: Float32Array, f8: Float64Array };
  const decoded = new WeakMap();

  /** The numbers of a base64 typed array. */
  function numbers(spec) {
    let array = decoded.get(spec);
    if (!array) {
      const bytes = Uint8Array.from(atob(spec.bdata), (c) => c.charCodeAt(0));
      array = new ARRAYS[spec.dtype](bytes.buffer);
      decoded.set(spec, array);
    }
    return array;
  }

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
  let frame = 0;

  function hideHover() {
    if (box) box.hidden = true;
    if (line) line.remove();
  }

  function hover(card, event) {
    const plot = card.querySelector(".js-plotly-plot");
    const layout = plot && plot._fullLayout;
    if (!layout || !layout.xaxis || event.buttons) return hideHover();
    const area = plot.getBoundingClientRect();
    const { l, t, w, h } = layout._size;
    const px = event.clientX - area.left - l;
    const py = event.clientY - area.top - t;
    if (px < 0 || py < 0 || px > w || py > h) return hideHover();
    const rows = rowsAt(plot, layout.xaxis.p2c(px), layout.yaxis.p2d(py));
    if (!rows.length) return hideHover();
    if (!box) {
      box = document.createElement("div");
      box.id = "hover";
      document.body.append(box);
      line = document.createElement("div");
      line.className = "hover-line";
    }
    const x = rows.reduce((best, row) => (row.distance < best.distance ? row : best), rows[0]).x;
    box.innerHTML = table(rows);
    box.hidden = false;
    const size = box.getBoundingClientRect();
    const left = event.clientX + 18 + size.width < innerWidth ? event.clientX + 18 : event.clientX - 18 - size.width;
    box.style.left = Math.max(4, left) + "px";
    box.style.top = Math.max(4, Math.min(event.clientY + 14, innerHeight - size.height - 4)) + "px";
    const home = card.getBoundingClientRect();
    line.style.left = area.left - home.left - 1 + l + layout.xaxis.c2p(x) + "px";
    line.style.top = area.top - home.top - 1 + t + "px";
    line.style.height = h + "px";
    if (line.parentNode !== card) card.append(line);
  }

  document.addEventListener("pointermove", (event) => {
    const card = event.target.closest && event.target.closest(".scalar-card");
    cancelAnimationFrame(frame);
    if (!card) return hideHover();
    frame = requestAnimationFrame(() => hover(card, event));
    const plot = card.querySelector(".js-plotly-plot");
    if (plot && plot.on && !plot.stepscopeZoom) {
      plot.stepscopeZoom = true;
      plot.on("plotly_relayout", (change) => onRelayout(card, plot, change));
    }
  });
  document.addEventListener("pointerleave", hideHover);
  document.addEventListener("scroll", hideHover, true);

  // --- buttons -----------------------------------------------------------------------------------------------

  function toggleGroup(section) {
    const open = !section.classList.contains("open");
    const name = section.dataset.group;
    section.classList.toggle("open", open);
    section.querySelector(".group-toggle").setAttribute("aria-expanded", String(open));
    scope.view.update((params, set) => {
      const without = (list) => params.getAll(list).filter((entry) => entry !== name);
      set("scalars.open", open ? [...without("scalars.open"), name] : without("scalars.open"));
      set("scalars.closed", open ? without("scalars.closed") : [...without("scalars.closed"), name]);
    });
  }

  function toggleWide(card) {
    const wide = card.classList.toggle("wide");
    scope.view.toggle("scalars.wide", card.dataset.tag, wide);
    requestAnimationFrame(() => dispatchEvent(new Event("resize")));
  }

  function downloadMenu(card, button) {
    closeMenu();
    const plot = card.querySelector(".js-plotly-plot");
    const runs = plot._fullData.filter((trace) => trace.meta && trace.meta.role === "line").map((trace) => trace.meta.run);
    const menu = document.createElement("div");
    menu.className = "menu";
    for (const format of ["csv", "json"]) {
      const link = document.createElement("a");
      const query = new URLSearchParams([["tag", card.dataset.tag], ["format", format], ...runs.map((run) => ["run", run])]);
      link.href = "/api/scalars/download?" + query;
      link.textContent = `All points as ${format.toUpperCase()}`;
      link.setAttribute("download", "");
      menu.append(link);
    }
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
    const card = button.closest(".scalar-card");
    if (button.classList.contains("group-toggle")) toggleGroup(button.closest(".group"));
    else if (button.classList.contains("act-wide")) toggleWide(card);
    else if (button.classList.contains("act-reset")) resetZoom(card);
    else if (button.classList.contains("act-download")) downloadMenu(card, button);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") closeMenu();
  });

  const clientside = {
    /** Another axis or scale: what was zoomed in the old units means nothing in the new ones. */
    dropZoom() {
      for (const tag of Object.keys(zoom)) delete zoom[tag];
      document.querySelectorAll(".scalar-card.zoomed").forEach((card) => card.classList.remove("zoomed"));
      return {};
    },
    showSmoothing: (value) => (value === undefined ? "" : String(Number(value.toFixed(3)))),
    page() {
      const context = window.dash_clientside.callback_context;
      for (const trigger of context.triggered) {
        const group = JSON.parse(trigger.prop_id.slice(0, trigger.prop_id.lastIndexOf("."))).group;
        if (!trigger.value) continue;
        scope.view.update((params, set) => {
          const rest = params.getAll("scalars.page").filter((entry) => !entry.startsWith(group + ":"));
          set("scalars.page", trigger.value > 1 ? [...rest, `${group}:${trigger.value}`] : rest);
        });
      }
      return window.dash_clientside.no_update;
    },
  };
  window.dash_clientside = Object.assign({}, window.dash_clientside, {
    stepscope: Object.assign({}, (window.dash_clientside || {}).stepscope, clientside),
  });
})();
