// @ts-check
/** The hand on the canvas: mouse, wheel and keys, turned into calls of the panel. */
(() => {
  const root = (window.stepscope = window.stepscope || {});
  const timeline = (root.timeline = root.timeline || {});

  const DRAG_THRESHOLD = 4;
  const HOLD_MS = 170;
  const ZOOM_STEP = 1.6;
  const PAN_STEP = 0.18;
  const HELD_ZOOM_PER_S = 5.5;
  const HELD_PAN_PER_S = 1.1;

  const typing = () => {
    const active = document.activeElement;
    return active instanceof HTMLElement && (active.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(active.tagName));
  };

  /**
   * @param {any} panel the panel of timeline_panel.js
   * @param {HTMLCanvasElement} canvas
   * @returns {{tick: (now: number, elapsed: number) => boolean, close: () => void}}
   */
  function attach(panel, canvas) {
    const abort = new AbortController();
    const options = { signal: abort.signal };
    /** @type {Map<string, number>} keys held down, with since when */
    const held = new Map();
    /** @type {any} */
    let drag = null;

    const where = (/** @type {MouseEvent} */ event) => {
      const box = canvas.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };

    /** What a press at a point takes hold of. */
    const grip = (/** @type {{x: number, y: number}} */ at, /** @type {MouseEvent} */ event) => {
      const scene = panel.scene;
      const bar = timeline.rulers.scrollbarPlace(scene, panel.contentHeight);
      if (bar && at.x >= bar.x - 2 && at.y > scene.top) return "scrollbar";
      if (at.x < scene.left - 3) return "label";
      if (at.x <= scene.left + 3 && at.x >= scene.left - 3) return "divider";
      if (at.y < timeline.rulers.MINIMAP_HEIGHT) return "minimap";
      return event.shiftKey || at.y < scene.top ? "box" : "pan";
    };

    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !panel.source) return;
      canvas.focus({ preventScroll: true });
      const at = where(event);
      drag = { kind: grip(at, event), from: at, last: at, moved: false, time: panel.timeAt(at.x), view: [...panel.viewport.target] };
      if (drag.kind === "minimap") drag.inside = panel.insideMinimapView(at.x);
      canvas.setPointerCapture(event.pointerId);
    }, options);

    canvas.addEventListener("pointermove", (event) => {
      if (!panel.source) return;
      const at = where(event);
      if (drag && !drag.moved && Math.hypot(at.x - drag.from.x, at.y - drag.from.y) > DRAG_THRESHOLD) {
        drag.moved = true;
        if (drag.kind !== "label" && drag.kind !== "divider" && drag.kind !== "scrollbar") panel.viewport.remember(performance.now());
      }
      if (drag?.moved) dragTo(at);
      else panel.point(at);
      if (!drag) canvas.style.cursor = cursorOf(at, event);
    }, options);

    const cursorOf = (/** @type {{x: number, y: number}} */ at, /** @type {MouseEvent} */ event) => {
      const kind = grip(at, event);
      if (kind === "divider") return "col-resize";
      if (kind === "label") return panel.foldableAt(at) ? "pointer" : "default";
      if (kind === "minimap") return panel.insideMinimapView(at.x) ? "grab" : "crosshair";
      if (kind === "box") return "crosshair";
      return kind === "pan" && panel.hover ? "pointer" : "default";
    };

    const dragTo = (/** @type {{x: number, y: number}} */ at) => {
      const now = performance.now();
      const { viewport, scene } = panel;
      const perPixel = viewport.span / (scene.width - scene.left);
      if (drag.kind === "pan") {
        viewport.remember(now);
        viewport.go(viewport.start - (at.x - drag.last.x) * perPixel, viewport.end - (at.x - drag.last.x) * perPixel, now, true);
        panel.scrollBy(drag.last.y - at.y);
        canvas.style.cursor = "grabbing";
      } else if (drag.kind === "box") {
        panel.box = [drag.time, panel.timeAt(Math.max(at.x, scene.left))];
      } else if (drag.kind === "minimap") {
        viewport.remember(now);
        const to = panel.minimapTime(at.x);
        const from = panel.minimapTime(drag.from.x);
        if (drag.inside) viewport.go(drag.view[0] + to - from, drag.view[1] + to - from, now, true);
        else viewport.go(Math.min(from, to), Math.max(from, to), now, true);
      } else if (drag.kind === "divider") {
        panel.setLabelWidth(at.x);
      } else if (drag.kind === "scrollbar") {
        const bar = timeline.rulers.scrollbarPlace(scene, panel.contentHeight);
        if (bar) panel.scrollBy(((at.y - drag.last.y) / bar.travel) * (panel.contentHeight - (scene.height - scene.top)));
      }
      drag.last = at;
      panel.changed();
    };

    canvas.addEventListener("pointerup", (event) => {
      if (!drag) return;
      const { kind, moved, from } = drag;
      drag = null;
      const now = performance.now();
      if (kind === "box" && moved && panel.box) {
        const [a, b] = panel.box;
        panel.box = null;
        panel.viewport.go(Math.min(a, b), Math.max(a, b), now);
      } else if (!moved && kind === "label") panel.foldAt(from);
      else if (!moved && kind === "minimap") panel.viewport.centre(panel.minimapTime(from.x), now);
      else if (!moved && kind === "pan") panel.clickAt(from);
      canvas.style.cursor = cursorOf(where(event), event);
      panel.changed();
    }, options);

    canvas.addEventListener("pointercancel", () => {
      drag = null;
      panel.box = null;
    }, options);
    canvas.addEventListener("pointerleave", () => panel.point(null), options);
    canvas.addEventListener("dblclick", (event) => {
      const at = where(event);
      if (panel.source && at.x > panel.scene.left && at.y > panel.scene.top) panel.zoomToAt(at);
    }, options);

    canvas.addEventListener("wheel", (event) => {
      if (!panel.source) return;
      const at = where(event);
      const pixels = event.deltaMode === 1 ? 30 : event.deltaMode === 2 ? 400 : 1;
      const dx = event.deltaX * pixels;
      const dy = event.deltaY * pixels;
      const now = performance.now();
      const onRuler = at.y < panel.scene.top;
      if (event.ctrlKey || event.metaKey || onRuler) {
        event.preventDefault();
        panel.viewport.remember(now);
        panel.viewport.zoom(Math.exp(-Math.max(Math.min(dy, 200), -200) * (event.ctrlKey && Math.abs(dy) < 20 ? 0.02 : 0.004)), panel.timeAt(at.x), now, Math.abs(dy) < 60);
      } else if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) {
        event.preventDefault();
        panel.viewport.remember(now);
        panel.viewport.pan((event.shiftKey && !dx ? dy : dx) / (panel.scene.width - panel.scene.left), now, true);
      } else if (panel.scrollBy(dy)) {
        event.preventDefault();
      }
      panel.changed();
    }, { ...options, passive: false });

    const anchor = () => panel.timeAt(panel.cursor && panel.cursor.x >= panel.scene.left ? panel.cursor.x : (panel.scene.left + panel.scene.width) / 2);
    /** @type {Record<string, (now: number) => void>} */
    const moves = {
      w: (now) => panel.viewport.zoom(ZOOM_STEP, anchor(), now),
      s: (now) => panel.viewport.zoom(1 / ZOOM_STEP, anchor(), now),
      a: (now) => panel.viewport.pan(-PAN_STEP, now),
      d: (now) => panel.viewport.pan(PAN_STEP, now),
    };
    moves.arrowleft = moves.a;
    moves.arrowright = moves.d;
    moves["+"] = moves["="] = moves.w;
    moves["-"] = moves.s;
    /** @type {Record<string, () => void>} */
    const acts = {
      arrowup: () => panel.scrollBy(-60),
      arrowdown: () => panel.scrollBy(60),
      pageup: () => panel.scrollBy(-(panel.scene.height - panel.scene.top) * 0.9),
      pagedown: () => panel.scrollBy((panel.scene.height - panel.scene.top) * 0.9),
      f: () => panel.fit(),
      0: () => panel.showAll(),
      home: () => panel.showAll(),
      escape: () => panel.clear(),
      ".": () => panel.selection.step(1),
      ",": () => panel.selection.step(-1),
      m: () => panel.mark(),
      z: () => panel.undo(),
      backspace: () => panel.undo(),
      "?": () => panel.toggleHelp(),
      "/": () => panel.search.focus(),
    };

    const onKey = (/** @type {KeyboardEvent} */ event) => {
      if (!canvas.isConnected || !panel.source || event.metaKey || event.altKey) return;
      const key = event.key.toLowerCase();
      if (event.ctrlKey && key !== "z") return;
      const active = document.activeElement;
      if (typing() || (active && active !== document.body && active !== canvas && !panel.root.contains(active))) return;
      // Space and Enter belong to a focused button; letters never do.
      if (moves[key]) {
        if (!event.repeat) {
          const now = performance.now();
          panel.viewport.remember(now);
          moves[key](now);
          held.set(key, now);
        }
      } else if (acts[key]) acts[key]();
      else return;
      event.preventDefault();
      panel.changed();
    };
    document.addEventListener("keydown", onKey, options);
    document.addEventListener("keyup", (event) => held.delete(event.key.toLowerCase()), options);
    window.addEventListener("blur", () => held.clear(), options);

    /** Held keys move on; true while any does. @param {number} now @param {number} elapsed ms */
    const tick = (now, elapsed) => {
      let moving = false;
      for (const [key, since] of held) {
        moving = true;
        if (now - since < HOLD_MS) continue;
        const by = Math.min(elapsed, 50) / 1000;
        const { viewport } = panel;
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

  timeline.input = { attach };
})();
