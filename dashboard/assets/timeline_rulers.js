// @ts-check
/** Draws what is above the lanes (minimap, time axis, steps) and what lies over them (hover, selection, marks). */
(() => {
  const root = (window.stepscope = window.stepscope || {});
  const timeline = (root.timeline = root.timeline || {});

  const MINIMAP_HEIGHT = 46;
  const AXIS_HEIGHT = 24;
  const STEPS_HEIGHT = 20;
  const TICK_WIDTH = 105;

  /** @param {any} summary */
  const heights = (summary) => {
    const steps = summary.steps.length > 0 ? STEPS_HEIGHT : 0;
    return { minimap: MINIMAP_HEIGHT, steps, axis: AXIS_HEIGHT, top: MINIMAP_HEIGHT + steps + AXIS_HEIGHT };
  };

  const miniX = (/** @type {Scene} */ scene, /** @type {number} */ time) =>
    scene.left + (time / Math.max(scene.source.summary.end, 1)) * (scene.width - scene.left);

  /** The whole trace in small: how busy it is, where the search matches, and what is visible. */
  function minimap(/** @type {Scene} */ scene) {
    const { context, theme, left, width, viewport, matches } = scene;
    const { coverage, end } = scene.source.summary;
    context.fillStyle = theme.raised;
    context.fillRect(0, 0, width, MINIMAP_HEIGHT);
    strips(scene, coverage);
    if (matches) {
      context.fillStyle = theme.match;
      const step = (width - left) / matches.minimap.length;
      matches.minimap.forEach((/** @type {number} */ hits, /** @type {number} */ i) => {
        if (hits) context.fillRect(left + i * step, 2, Math.max(step, 1.5), 5);
      });
    }
    const x0 = Math.max(miniX(scene, viewport.start), left);
    const x1 = Math.min(miniX(scene, viewport.end), width);
    context.save();
    context.globalAlpha = theme.dark ? 0.55 : 0.6;
    context.fillStyle = theme.body;
    context.fillRect(left, 0, x0 - left, MINIMAP_HEIGHT);
    context.fillRect(x1, 0, width - x1, MINIMAP_HEIGHT);
    context.restore();
    context.strokeStyle = theme.accent;
    context.lineWidth = 1.5;
    context.strokeRect(x0 + 0.75, 0.75, Math.max(x1 - x0 - 1.5, 2), MINIMAP_HEIGHT - 2);
    minimapLabel(scene, end);
    context.fillStyle = theme.border;
    context.fillRect(0, MINIMAP_HEIGHT - 1, width, 1);
    context.fillRect(left - 1, 0, 1, scene.top);
  }

  /** One thin strip a lane, the stronger the busier. */
  function strips(/** @type {Scene} */ scene, /** @type {any} */ coverage) {
    const { context, theme } = scene;
    if (!coverage.strips.length) return;
    const room = MINIMAP_HEIGHT - 14;
    const pitch = Math.min(room / coverage.strips.length, 9);
    const top = 9 + (room - pitch * coverage.strips.length) / 2;
    const x0 = miniX(scene, coverage.start);
    const width = miniX(scene, coverage.end) - x0;
    coverage.strips.forEach((/** @type {any} */ strip, /** @type {number} */ row) => {
      context.fillStyle = theme.kinds[strip.kind] || theme.kinds.other;
      const y = top + row * pitch;
      const step = width / strip.busy.length;
      strip.busy.forEach((/** @type {number} */ busy, /** @type {number} */ i) => {
        if (!busy) return;
        context.globalAlpha = 0.15 + (0.75 * busy) / 100;
        context.fillRect(x0 + i * step, y, step + 0.3, Math.max(pitch - 1, 1));
      });
    });
    context.globalAlpha = 1;
  }

  function minimapLabel(/** @type {Scene} */ scene, /** @type {number} */ end) {
    const { context, theme, left } = scene;
    const { duration, integer } = timeline.format;
    context.textBaseline = "middle";
    context.font = `600 12px ${theme.font}`;
    context.fillStyle = theme.text;
    context.fillText(duration(end), 10, MINIMAP_HEIGHT / 2 - 7);
    context.font = `400 11px ${theme.font}`;
    context.fillStyle = theme.dimmed;
    const slices = scene.source.summary.slices;
    context.fillText(timeline.text.fit(context, `${integer(slices)} slice${slices === 1 ? "" : "s"}`, left - 20), 10, MINIMAP_HEIGHT / 2 + 9);
  }

  function ruler(/** @type {Scene} */ scene) {
    const { context, theme, left, top, width, height, viewport } = scene;
    const size = heights(scene.source.summary);
    context.fillStyle = theme.body;
    context.fillRect(0, MINIMAP_HEIGHT, width, top - MINIMAP_HEIGHT);
    const { step, first } = timeline.format.ticks(viewport.start, viewport.end, (width - left) / TICK_WIDTH);
    const base = timeline.format.tickBase(viewport.start, viewport.end, step);
    context.save();
    context.beginPath();
    context.rect(left, MINIMAP_HEIGHT, width - left, height);
    context.clip();
    context.font = `400 11px ${theme.font}`;
    context.textBaseline = "middle";
    const axisY = top - AXIS_HEIGHT;
    for (let time = first; time <= viewport.end; time += step) {
      const x = Math.round(timeline.geometry.xOf(scene, time));
      context.fillStyle = theme.border;
      context.fillRect(x, top - 6, 1, 6);
      context.fillStyle = theme.grid;
      context.fillRect(x, top, 1, height - top);
      context.fillStyle = theme.dimmed;
      const label = timeline.format.tickLabel(Math.round(time / step) * step, step, base);
      if (x + 4 + context.measureText(label).width <= width) context.fillText(label, x + 4, axisY + 10);
    }
    if (size.steps) steps(scene, MINIMAP_HEIGHT, size.steps);
    context.restore();
    context.font = `400 11px ${theme.font}`;
    context.textBaseline = "middle";
    context.fillStyle = theme.dimmed;
    if (size.steps) context.fillText("Steps", 10, MINIMAP_HEIGHT + size.steps / 2 + 0.5);
    const label = base ? `Time from ${timeline.format.duration(base, 7)}` : "Time";
    context.fillText(timeline.text.fit(context, label, left - 20), 10, axisY + AXIS_HEIGHT / 2 + 0.5);
    context.fillStyle = theme.border;
    context.fillRect(0, top - 1, width, 1);
  }

  function steps(/** @type {Scene} */ scene, /** @type {number} */ y, /** @type {number} */ height) {
    const { context, theme, left, width, viewport } = scene;
    let lastX = -Infinity;
    for (const [number, , start, length] of scene.source.summary.steps) {
      if (start > viewport.end) break;
      if (start + length < viewport.start) continue;
      const x0 = timeline.geometry.xOf(scene, start);
      const x1 = timeline.geometry.xOf(scene, start + length);
      if (x1 - lastX < 1) continue;
      lastX = x1;
      context.fillStyle = theme.accent;
      context.globalAlpha = number % 2 ? 0.13 : 0.24;
      context.fillRect(x0 + 0.5, y + 3, Math.max(x1 - x0 - 1, 1), height - 6);
      context.globalAlpha = 1;
      context.fillStyle = theme.border;
      context.fillRect(Math.round(x0), y, 1, scene.height - y);
      const from = Math.max(x0, left) + 6;
      const room = Math.min(x1, width) - from - 6;
      const long = `Step ${number} · ${timeline.format.duration(length, 3)}`;
      context.fillStyle = theme.text;
      context.font = `500 11px ${theme.font}`;
      // The time needs more air behind it than a number, which stands alone.
      const full = timeline.text.fit(context, long, room - 6);
      const text = full === long ? long : timeline.text.fit(context, String(number), room);
      if (text && !text.endsWith("…")) context.fillText(text, from, y + height / 2 + 0.5);
    }
  }

  /**
   * Hover, selection, cursor, box and marks, on a canvas of its own so that moving the mouse redraws no slice.
   * @param {any} scene with the overlay's context
   * @param {{hover: any, cursor: {x: number, y: number} | null, box: [number, number] | null, mark: [number, number] | null, contentHeight: number}} state
   */
  function overlay(scene, state) {
    const { context, theme, left, top, width, height } = scene;
    context.clearRect(0, 0, width, height);
    context.save();
    context.beginPath();
    context.rect(left, MINIMAP_HEIGHT, width - left, height - MINIMAP_HEIGHT);
    context.clip();
    if (state.mark) range(scene, state.mark, theme.accent, 0.1);
    if (state.box) range(scene, state.box, theme.accent, 0.18);
    if (state.cursor && state.cursor.x >= left && state.cursor.y > MINIMAP_HEIGHT) {
      context.fillStyle = theme.dimmed;
      context.globalAlpha = 0.5;
      context.fillRect(Math.round(state.cursor.x), MINIMAP_HEIGHT, 1, height);
      context.globalAlpha = 1;
    }
    context.beginPath();
    context.rect(left, top, width - left, height - top);
    context.clip();
    if (state.hover) outline(scene, state.hover, theme.text, 1.25, 0.75);
    if (scene.selection) outline(scene, scene.selection, theme.accent, 2.25, 1);
    context.restore();
    scrollbar(scene, state.contentHeight);
  }

  function outline(
    /** @type {Scene} */ scene, /** @type {any} */ slice, /** @type {string} */ colour, /** @type {number} */ width,
    /** @type {number} */ alpha,
  ) {
    const { context } = scene;
    const at = timeline.geometry.slicePlace(scene, slice);
    if (!at) return;
    const x0 = Math.max(at.x0, scene.left - 10);
    const x1 = Math.min(at.x1, scene.width + 10);
    if (x1 < scene.left || x0 > scene.width) return;
    context.globalAlpha = alpha;
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.beginPath();
    context.roundRect(x0 - 0.5, at.y - 0.5, Math.max(x1 - x0, 2) + 0.5, at.height + 1, 3);
    context.stroke();
    context.globalAlpha = 1;
  }

  function range(/** @type {Scene} */ scene, /** @type {[number, number]} */ times, /** @type {string} */ colour, /** @type {number} */ alpha) {
    const { context, theme, height, width, left } = scene;
    const [a, b] = times[0] <= times[1] ? times : [times[1], times[0]];
    const x0 = timeline.geometry.xOf(scene, a);
    const x1 = timeline.geometry.xOf(scene, b);
    context.fillStyle = colour;
    context.globalAlpha = alpha;
    context.fillRect(x0, MINIMAP_HEIGHT, Math.max(x1 - x0, 1), height);
    context.globalAlpha = 1;
    context.fillRect(x0, MINIMAP_HEIGHT, 1, height);
    context.fillRect(x1, MINIMAP_HEIGHT, 1, height);
    const text = timeline.format.duration(b - a);
    context.font = `600 11px ${theme.font}`;
    const w = context.measureText(text).width + 14;
    const x = Math.min(Math.max((x0 + x1) / 2 - w / 2, left + 4), width - w - 4);
    const y = scene.top - AXIS_HEIGHT + 3;
    context.fillStyle = colour;
    context.beginPath();
    context.roundRect(x, y, w, 18, 9);
    context.fill();
    context.fillStyle = theme.body;
    context.textBaseline = "middle";
    context.fillText(text, x + 7, y + 9.5);
  }

  /** @param {any} scene @param {number} contentHeight */
  function scrollbarPlace(scene, contentHeight) {
    const room = scene.height - scene.top;
    if (contentHeight <= room) return null;
    const length = Math.max((room / contentHeight) * room, 28);
    const y = scene.top + (scene.scroll / (contentHeight - room)) * (room - length);
    return { x: scene.width - 10, y, width: 8, height: length, travel: room - length };
  }

  function scrollbar(/** @type {Scene} */ scene, /** @type {number} */ contentHeight) {
    const bar = scrollbarPlace(scene, contentHeight);
    if (!bar) return;
    const { context, theme } = scene;
    context.fillStyle = theme.dimmed;
    context.globalAlpha = 0.45;
    context.beginPath();
    context.roundRect(bar.x, bar.y + 2, bar.width - 2, bar.height - 4, 3);
    context.fill();
    context.globalAlpha = 1;
  }

  timeline.rulers = { heights, minimap, ruler, overlay, scrollbarPlace, MINIMAP_HEIGHT, AXIS_HEIGHT };
})();
